import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JobType } from '../../protocol/check-types.ts';
import type { Job } from '../../protocol/job.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import type { LogEntry, Result } from '../../protocol/result.ts';
import { withoutArchives } from '../../secrets/forms/packed-in-text.ts';
import { maskPrintedHeaders } from '../../secrets/tree/sensitive-headers.ts';
import type { Attempted } from './attempted.ts';
import type { AgentJobType } from '../job-types/table.ts';
import { shortened } from '../../shortened.ts';

/** The scrubber function that results need. */
export type TreeScrubber = { json: <T>(tree: T) => T };

type Reported = Pick<Job, 'jobId' | 'leaseToken' | 'sequenceId' | 'checkId' | 'runLocation'> &
  Partial<Pick<Job, 'isKept' | 'dueAt'>> & { checkType: string };

/** The report of one attempt. */
export function resultOf(
  job: Reported,
  end: { attempt: number; attempted: Attempted; resultType: Result['resultType']; version: string },
): Result {
  const { outcome, grade: verdict, artifacts, log, startedAt, stoppedAt } = end.attempted;
  return {
    jobId: job.jobId,
    leaseToken: job.leaseToken,
    attempt: end.attempt,
    sequenceId: job.sequenceId,
    checkId: job.checkId,
    checkType: job.checkType,
    resultType: end.resultType,
    status: verdict.status,
    hasFailures: verdict.hasFailures,
    hasErrors: verdict.hasErrors,
    isDegraded: verdict.isDegraded,
    overMaxResponseTime: verdict.overMaxResponseTime,
    isCancelled: verdict.isCancelled,
    responseTime: outcome.responseTime,
    startedAt: new Date(startedAt).toISOString(),
    stoppedAt: new Date(stoppedAt).toISOString(),
    runLocation: job.runLocation,
    attempts: end.attempt - 1,
    reason: verdict.reason,
    assertions: outcome.assertions,
    timings: outcome.timings,
    details: outcome.details,
    artifacts,
    log,
    agentVersion: end.version,
    ...(job.isKept === true && job.dueAt !== undefined ? { dueAt: job.dueAt } : {}),
  };
}

/** A result of which only the status, the times and the code of the reason may leave: the run has too many secrets. */
export function withheldResult(result: Result, why: string): Result {
  const { reason, stoppedAt } = result;
  const msg = `the log, details, assertions and files of this run were withheld: ${why}; use fewer or shorter secrets`;
  return {
    ...result,
    reason: reason === null ? null : { ...reason, message: msg },
    assertions: [],
    details: {},
    log: [{ time: Date.parse(stoppedAt), level: 'warn', msg }],
  };
}

/** Scrubs everything in a result that the target, the check or an error may have put text into. */
export function scrubbed(result: Result, scrubber: TreeScrubber): Result {
  const { reason, assertions, details, log } = result;
  const clean = scrubber.json(
    withoutArchives({
      message: maskPrintedHeaders(reason?.message ?? ''),
      assertions,
      details,
      // Scripts print the headers that they set and get.
      log: log.map(({ msg }) => maskPrintedHeaders(msg)),
    }),
  );
  return {
    ...result,
    reason: reason === null ? null : { ...reason, message: clean.message },
    assertions: clean.assertions,
    details: clean.details,
    log: log.map((entry, index) => ({ ...entry, msg: clean.log[index] ?? '' })),
  };
}

/** Tests and log lines that are scrubbed in one turn of the event loop. */
const testsPerTurn = 10;
const linesPerTurn = 50;

/**
 * The same for a suite's result, which is a hundred times as large: spread over many turns of the event loop, so that
 * it does not distort other jobs' measurements.
 */
export async function scrubbedInTurns(result: Result, scrubber: TreeScrubber): Promise<Result> {
  const { tests, ...others } = result.details;
  const clean = scrubbed({ ...result, details: others, log: [] }, scrubber);
  for (let from = 0; from < result.log.length; from += linesPerTurn) {
    const log = result.log.slice(from, from + linesPerTurn);
    clean.log.push(...scrubbed({ ...result, assertions: [], details: {}, log }, scrubber).log);
    await nextTurn();
  }
  if (!Array.isArray(tests)) return clean;
  const cleanTests: unknown[] = [];
  for (let from = 0; from < tests.length; from += testsPerTurn) {
    cleanTests.push(...scrubber.json(withoutArchives(tests.slice(from, from + testsPerTurn) as unknown[])));
    await nextTurn();
  }
  return { ...clean, details: { ...clean.details, tests: cleanTests } };
}

/** How results of a type are scrubbed. */
export const scrub = { 'at once': scrubbed, 'in turns': scrubbedInTurns } as const;

/** Scrubs one line of a run's log that is sent before its result. */
export function scrubbedLine(line: string, scrubber: TreeScrubber): string {
  return scrubber.json(withoutArchives([maskPrintedHeaders(line)]))[0] ?? '';
}

/** Maximum length of a text in a result that is too large. */
const keptText = 2048;
const keptItems = 100;

/**
 * The result as JSON of at most `limit` bytes; its log names the parts that were cut. The status and reason are
 * always kept. `shorterDetails` is that of the job's type; without it, long texts and lists are cut.
 */
export function serialised(
  result: Result,
  limit: number,
  shorterDetails: AgentJobType<JobType>['shorterDetails'] = null,
): { json: string; trimmed: boolean } {
  const whole = JSON.stringify(result);
  if (fits(whole, limit)) return { json: whole, trimmed: false };
  const size = Buffer.byteLength(whole);
  const note: LogEntry = {
    time: Date.parse(result.stoppedAt),
    level: 'warn',
    msg: `the result had ${size} bytes, more than ${limit}; its long texts and lists were cut`,
  };
  const shortLog = [...cutLog(result.log), note];
  for (const details of shorterDetails?.(result.details) ?? []) {
    const json = JSON.stringify({ ...result, details, log: shortLog });
    if (fits(json, limit)) return { json, trimmed: true };
  }
  const cut: Result = {
    ...result,
    assertions: cutTree(result.assertions) as Result['assertions'], // same shape, shorter texts
    details: cutTree(result.details) as Result['details'], // same shape, shorter texts
    log: shortLog,
  };
  const shorter = JSON.stringify(cut);
  if (fits(shorter, limit)) return { json: shorter, trimmed: true };
  const bare: Result = {
    ...cut,
    reason: cut.reason ?? (cut.status === 'passed' ? null : reasonOf('RESULT_TOO_LARGE', note.msg)),
    assertions: [],
    details: {},
    log: [note],
  };
  return { json: JSON.stringify(bare), trimmed: true };
}

/** A UTF-16 unit takes at most three bytes, so most results need no counting. */
function fits(json: string, limit: number): boolean {
  return json.length * 3 <= limit || Buffer.byteLength(json) <= limit;
}

/** The first and the last lines of the log. */
function cutLog(log: readonly LogEntry[]): LogEntry[] {
  const half = keptItems / 2;
  const kept = log.length <= keptItems ? log : [...log.slice(0, half), ...log.slice(-half)];
  return cutTree(kept) as LogEntry[]; // same shape, shorter texts
}

function cutTree(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, keptText);
  if (Array.isArray(value)) return value.slice(0, keptItems).map(cutTree);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, keptItems)
      .map(([key, inner]) => [key, cutTree(inner)]),
  );
}
