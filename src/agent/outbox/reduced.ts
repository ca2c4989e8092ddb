import { reasonOf } from '../../protocol/reasons.ts';
import type { Result } from '../../protocol/result.ts';
import { shortened } from '../../shortened.ts';

/** Characters of the reason's message in the smallest form. */
const keptMessage = 200;

/**
 * Shorter forms of a serialised result, the smallest last, for a way to the service that refuses the complete one. Status,
 * times and ids stay, so that the run ends and is not repeated. `why`: for the log of the result. Empty if the payload is no
 * result.
 */
export function reducedForms(payload: Buffer, why: string): Buffer[] {
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
  return [shorter, smallest]
    .map((form) => Buffer.from(JSON.stringify(form)))
    .filter(({ length }) => length < payload.length);
}

function parsed(payload: Buffer): Result | null {
  try {
    const value = JSON.parse(payload.toString()) as Partial<Result> | null; // this agent wrote it
    return typeof value?.jobId === 'string' && typeof value.stoppedAt === 'string' ? (value as Result) : null;
  } catch {
    return null;
  }
}
