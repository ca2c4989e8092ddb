import type { ServiceError } from '../../errors.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import type { Result } from '../../protocol/result.ts';
import { shortened } from '../../shortened.ts';

/** Characters of the reason's message in the smallest form. */
const keptMessage = 200;

/**
 * Shorter forms of a serialised result, for a way to the service that refuses the complete one: without details, in as few
 * bytes as possible, and at last without any text of the run, in case that a rule of a firewall matches one. Status, times
 * and ids stay, so that the run ends and is not repeated. `refusal`: for the log of the result. Empty if the payload is no
 * result.
 */
export function reducedForms(
  payload: Buffer,
  { message: why, status }: Pick<ServiceError, 'message' | 'status'>,
): Buffer[] {
  const result = parsed(payload);
  if (result === null) return [];
  const msg = `the result had ${payload.length} bytes and was refused (${why}); its log, details and assertions were left out`;
  const reason =
    result.reason ?? (result.status === 'passed' ? null : reasonOf('RESULT_TOO_LARGE', shortened(msg, 1000)));
  const time = Date.parse(result.stoppedAt);
  const shorter: Result = {
    ...result,
    reason,
    assertions: [],
    details: {},
    log: [{ time: Number.isNaN(time) ? 0 : time, level: 'warn', msg: shortened(msg, 1000) }],
  };
  const smallest: Result = {
    ...shorter,
    reason: reason === null ? null : { ...reason, message: shortened(reason.message, keptMessage) },
    artifacts: [],
    log: [],
  };
  // Not the refusal's message: the service may quote the result in it.
  const left = `the result was refused (status ${status ?? 'unknown'}), so its texts were left out; the agent keeps the complete one`;
  const withoutTexts: Result = {
    ...smallest,
    reason: reason === null ? null : { ...reason, message: left },
    log: [{ time: Number.isNaN(time) ? 0 : time, level: 'warn', msg: left }],
  };
  const serialised = (form: Result) => Buffer.from(JSON.stringify(form));
  const shorterForms = [shorter, smallest].map(serialised).filter(({ length }) => length < payload.length);
  return [...shorterForms, serialised(withoutTexts)];
}

function parsed(payload: Buffer): Result | null {
  try {
    const value = JSON.parse(payload.toString()) as Partial<Result> | null; // this agent wrote it
    return typeof value?.jobId === 'string' && typeof value.stoppedAt === 'string' ? (value as Result) : null;
  } catch {
    return null;
  }
}
