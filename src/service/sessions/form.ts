import Type from 'typebox';
import { checkTypes } from '../../protocol/check-types.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { resultsOfRuns, type SessionResultRow, type SessionRunRow } from './statements.ts';
import { type SessionRetries } from '../scheduling/session-runs.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import { linesOfJobs, runLogLimits } from '../results/log-statements.ts';
import { sentUuidPattern } from '../engine/ids.ts';
import { isOver, lastLines } from './rules.ts';
import type { SessionInShort } from './lists.ts';
import type { StartedSession } from './sessions.ts';
import { badRequest } from '../http/errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { PublicRetryStrategy } from '../checks/fields/fields.ts';
import { settleRetryStrategy } from '../checks/rules/rules.ts';
import { createProblems } from '../http/problems.ts';
import { offsetOf } from '../http/fields/pagination.ts';
import type { ApiDeps } from '../http/api.ts';

/** Schemas and presentation that check sessions and test sessions share (facts, 5.5 and 5.6). */

const Uuid = Type.String({ pattern: sentUuidPattern, description: 'a UUID' });

/** Chooses checks by tags. */
export const matchTags = (options: Record<string, unknown> = {}) =>
  Type.Array(
    Type.Array(
      Type.String({ minLength: 1, maxLength: 257, pattern: '^(?!!$)', description: 'a tag, or ! and a tag' }),
      { minItems: 1, maxItems: 50 },
    ),
    {
      maxItems: 50,
      description:
        'Checks that have all tags of any of these lists, of their own or of their group; `!tag` = must not have it. ' +
        'Empty = any.',
      ...options,
    },
  );

const targetFields = {
  matchTags: Type.Optional(matchTags()),
  checkId: Type.Optional(
    Type.Array(Uuid, { maxItems: 1000, description: 'Only these checks. Empty = any.' }),
  ),
  groupId: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Only the checks of this check group, in its order.',
    }),
  ),
};

export const Target = Type.Object(targetFields, {
  description:
    'Checks that are meant; all filters must hold. Without any: all that are activated and have a location.',
});
export const TestTarget = Type.Object({
  ...targetFields,
  allowDeactivated: Type.Boolean({ default: false, description: 'Also checks that are switched off.' }),
});

export const refreshCache = Type.Boolean({
  default: false,
  description: 'Suites install their dependencies anew instead of taking them from the cache.',
});

/** Retries that a trigger requests. `otherwise` describes a body without it. */
export const sessionRetryStrategy = (otherwise: string) =>
  Type.Optional(
    Nullable(PublicRetryStrategy, {
      description: `How failed attempts are retried; suites retry their tests themselves. ${otherwise}`,
    }),
  );

/** As stored; null if the body does not set it. Throws 400. */
export function retriesOf({
  retryStrategy,
}: {
  retryStrategy?: PublicRetryStrategy | null;
}): SessionRetries | null {
  if (retryStrategy === undefined) return null;
  const problems = createProblems();
  // Restrictions as for a group, because it applies to checks of any type.
  const strategy = settleRetryStrategy(retryStrategy, null, problems);
  const attributes = problems.attributes();
  if (attributes !== null) throw badRequest(attributes);
  return { strategy };
}

/** The end of the year 9999, the last year that the database and ISO 8601 write in the same way. */
const latestSeconds = 253_402_300_799;
const UnixSeconds = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: latestSeconds, description }));

/** Filters a list by the start of sessions. */
export const spanFields = {
  from: UnixSeconds('Unix seconds: sessions that began at or after it.'),
  to: UnixSeconds('Unix seconds: sessions that began at or before it.'),
};
type Span = { from?: number; to?: number };

/** Throws 400. */
export function spanOf({ from, to }: Span): { from: Date | null; to: Date | null } {
  if (from !== undefined && to !== undefined && from > to)
    throw badRequest({ from: ['must not be after to'] });
  const instant = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000));
  return { from: instant(from), to: instant(to) };
}

/** A page by number. Throws 400. */
export const pageOfSpan = (query: Span & { limit: number; page: number }) => ({
  ...spanOf(query),
  after: null,
  limit: query.limit,
  offset: offsetOf(query),
});

export const CancelBody = strict(
  Type.Object({
    sequenceId: Type.Optional(
      Type.Array(Uuid, {
        minItems: 1,
        maxItems: 1000,
        description: 'Only these runs; without it all that go on.',
      }),
    ),
  }),
);

export const CompletionQuery = strict(
  Type.Object({
    maxWaitSeconds: Type.Integer({ minimum: 1, maximum: 30, default: 30 }),
  }),
);

const SessionResult = Type.Object({
  checkResultId: Type.String({ format: 'uuid' }),
  checkResultLink: Type.String(),
  sequenceId: Type.String({ format: 'uuid' }),
  checkId: Type.String({ format: 'uuid' }),
  checkType: StringEnum(checkTypes),
  name: Type.String(),
  runLocation: Type.String(),
  resultType: StringEnum(['FINAL', 'ATTEMPT']),
  hasErrors: Type.Boolean(),
  hasFailures: Type.Boolean(),
  isDegraded: Type.Boolean(),
  aborted: Type.Boolean({ description: 'The run was cut off, or did not take place.' }),
  isCancelled: Type.Boolean(),
  responseTime: Type.Number({ description: 'Milliseconds.' }),
  startedAt: Type.String({ format: 'date-time' }),
  stoppedAt: Type.String({ format: 'date-time' }),
});

const RunInProgress = Type.Object({
  sequenceId: Type.String({ format: 'uuid', description: 'What a cancel may name the run by.' }),
  checkId: Type.String({ format: 'uuid' }),
  checkType: StringEnum(checkTypes),
  name: Type.String(),
  runLocation: Type.String(),
  state: StringEnum(['QUEUED', 'RUNNING']),
  stage: Nullable(Type.String({ description: 'What the agent is at.' })),
  claimedAt: Nullable(Type.String({ format: 'date-time' })),
  cancelRequested: Type.Boolean(),
  log: Type.Array(Type.String(), { description: 'The last lines of its log; suites alone tell any.' }),
});

/** Fields of a session that is read: its runs so far. */
export const runFields = {
  results: Type.Array(SessionResult),
  inProgress: Type.Array(RunInProgress),
};

/** Fields of every session. */
export const sessionFields = {
  name: Type.String(),
  startedAt: Type.String({ format: 'date-time' }),
  stoppedAt: Nullable(Type.String({ format: 'date-time' })),
  timeElapsed: Type.Integer({ description: 'Milliseconds.' }),
  runLocations: Type.Array(Type.String()),
  runSource: Type.String(),
};

/** When the last run finished; null while one is active. */
function stoppedAtOf({ session, runs }: SessionInShort): Date | null {
  if (!isOver(runs)) return null;
  return new Date(
    Math.max(session.startedAt.getTime(), ...runs.map(({ endedAt }) => endedAt?.getTime() ?? 0)),
  );
}

export function presentSession(started: SessionInShort, now: number) {
  const { session, runs } = started;
  const stoppedAt = stoppedAtOf(started);
  return {
    name: session.name,
    startedAt: session.startedAt.toISOString(),
    stoppedAt: stoppedAt?.toISOString() ?? null,
    timeElapsed: Math.max(0, (stoppedAt?.getTime() ?? now) - session.startedAt.getTime()),
    runLocations: [...new Set(runs.map(({ runLocation }) => runLocation))],
    runSource: session.runSource,
  };
}

/** Characters of logs in one response. */
const answerChars = 1024 * 1024;
/** The agents of these runs disappeared. */
const lostRun: ReadonlySet<unknown> = new Set(['LEASE_EXPIRED', 'AGENT_LOST']);

/** The results so far, and the active runs with the last lines of their logs. */
export async function presentRuns(
  { db, now }: Pick<ApiDeps, 'db' | 'now'>,
  started: StartedSession,
  { accountId, base }: { accountId: string; base: string },
) {
  const { session, runs } = started;
  const to = stoppedAtOf(started) ?? new Date(now());
  const rows = await resultsOfRuns(db, { accountId, runs, from: session.startedAt, to });
  const bySequence = new Map(runs.map((run) => [run.sequenceId, run]));
  const going = runs.filter(({ status }) => status === null);
  const logs = await linesOfJobs(db, {
    jobIds: going
      .filter(({ checkType }) => serviceCheckType(checkType)?.hasLiveLog === true)
      .map(({ jobId }) => jobId),
    each: runLogLimits.chars,
    all: answerChars,
  });
  const max = {
    lines: runLogLimits.lines,
    chars: Math.min(runLogLimits.chars, Math.floor(answerChars / Math.max(1, logs.size))),
  };
  return {
    results: rows.flatMap((row) => {
      const run = bySequence.get(row.sequenceId);
      return run === undefined ? [] : [presentSessionResult(row, run, base)];
    }),
    inProgress: going.map((run) => presentRun(run, lastLines(logs.get(run.jobId) ?? [], max))),
  };
}

function presentSessionResult(row: SessionResultRow, run: SessionRunRow, base: string) {
  return {
    checkResultId: row.id,
    checkResultLink: `${base}/v1/check-results/${row.checkId}/${row.id}`,
    sequenceId: row.sequenceId,
    checkId: row.checkId,
    checkType: run.checkType,
    name: run.checkName,
    runLocation: row.runLocation,
    resultType: row.resultType,
    hasErrors: row.hasErrors,
    hasFailures: row.hasFailures,
    isDegraded: row.isDegraded,
    aborted: row.isCancelled || row.status === 'missed' || lostRun.has(row.reason?.code),
    isCancelled: row.isCancelled,
    responseTime: row.responseTime,
    startedAt: row.startedAt.toISOString(),
    stoppedAt: row.stoppedAt.toISOString(),
  };
}

function presentRun(run: SessionRunRow, log: readonly string[]) {
  const isRunning = run.state === 'leased';
  return {
    sequenceId: run.sequenceId,
    checkId: run.checkId,
    checkType: run.checkType,
    name: run.checkName,
    runLocation: run.runLocation,
    state: isRunning ? 'RUNNING' : 'QUEUED',
    stage: isRunning ? run.stage : null,
    claimedAt: isRunning ? (run.leasedAt?.toISOString() ?? null) : null,
    cancelRequested: run.cancelRequested,
    log,
  };
}
