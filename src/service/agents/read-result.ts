import { Compile } from 'typebox/compile';
import { defaultRetention } from '../../config/retention.ts';
import { Result } from '../../protocol/result.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import { type ResponseOf } from '../../protocol/routes.ts';
import { dayMs } from '../../durations.ts';
import { toJsonb } from '../db/jsonb.ts';
import { uuidPattern } from '../engine/ids.ts';
import type { ResultToStore } from '../results/store-result.ts';
import { isExplainable } from './request-body.ts';

/** Parses results of agents: whether a payload is a result, and whether it can be stored. */

export type Answer = ResponseOf<'results'>['items'][number];

/** A valid result; whether it counts is decided later. */
export type Readable = {
  index: number;
  result: Result;
  startedAt: number;
  stoppedAt: number;
  body: string;
  content: ResultToStore['content'];
};

const validator = Compile(Result);
/** Nesting limit of a result, because neither the database's parser nor ours can handle unlimited depth. */
const maxDepth = 33;
const longestRunMs = dayMs;

/** A result that can be stored, or the reason why not. */
export function readResult(
  item: unknown,
  index: number,
  {
    now: clock,
    resultDays = defaultRetention.resultDays,
  }: { now: () => number; /** Days that results are kept. */ resultDays?: number | undefined },
): Readable | Answer {
  const reject = (reason: string): Answer => ({ ...namesOf(item), outcome: 'rejected', reason });
  if (!validator.Check(item)) {
    if (!isExplainable(item)) return reject('malformed: too many values to look for the field');
    const [error] = validator.Errors(item);
    const where = error?.instancePath.slice(1).replaceAll('/', '.') ?? '';
    return reject(`malformed: ${where} ${error?.message ?? 'is not a result'}`.slice(0, 500));
  }
  const result = item as Result; // the schema allows any reason code, for newer agents
  if (!uuidPattern.test(result.jobId)) return reject('malformed: jobId must be a UUID');
  if (!uuidPattern.test(result.leaseToken)) return reject('malformed: leaseToken must be a UUID');
  if (result.attempt > 100) return reject('malformed: attempt must be at most 100');
  const startedAt = Date.parse(result.startedAt);
  const stoppedAt = Date.parse(result.stoppedAt);
  if (Number.isNaN(startedAt)) return reject('malformed: startedAt must be a time');
  if (Number.isNaN(stoppedAt)) return reject('malformed: stoppedAt must be a time');
  if (isDeeper(result, maxDepth)) return reject(`malformed: nested deeper than ${maxDepth} levels`);
  const { assertions, timings, details, artifacts, log } = result;
  const content = { assertions, timings, details, artifacts, log };
  const body = toJsonb(content);
  if (Buffer.byteLength(body) > protocolLimits.resultBytes) {
    return reject(`larger than ${protocolLimits.resultBytes} bytes`);
  }
  // An agent's clock may be wrong: no result starts in the future, nor before the oldest partition.
  const now = clock();
  const earliest = now - (resultDays - 1) * dayMs;
  const clamped = Math.round(Math.min(Math.max(startedAt, earliest), now));
  const duration = Math.round(Math.min(Math.max(0, stoppedAt - startedAt), longestRunMs));
  return { index, result, startedAt: clamped, stoppedAt: clamped + duration, body, content };
}

/** Identifies a result in an answer, as far as it can be read. */
function namesOf(item: unknown): { jobId: string; attempt: number } {
  const fields: { jobId?: unknown; attempt?: unknown } =
    typeof item === 'object' && item !== null ? item : {};
  return {
    jobId: typeof fields.jobId === 'string' ? fields.jobId.slice(0, 64) : '',
    attempt: Number.isSafeInteger(fields.attempt) ? Number(fields.attempt) : 0,
  };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
}
