import { fieldsOf, itemsOf, parsedJson } from '../../json-values.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import type { Result } from '../../protocol/result.ts';
import { scheduledJobId, scheduledRunId } from '../../protocol/schedule.ts';
import { erroredGrade, missedGrade, type Grade } from '../run/grade.ts';
import { resultOf } from '../run/result.ts';
import { sequenceIdOf } from './ledger.ts';
import type { MissedCode, MissedRuns } from './held-checks.ts';
import type { PackedCheck } from './packed.ts';

/** Jobs and reports that the agent makes itself, because it holds the checks. */

/** They are loaded with the first run. */
export type MadeJobs = { jobOf: typeof jobOf; lostReport: typeof lostReport };

const leaseMs = 30_000;

/** The job of one run, in the form in which the service would send it. */
export function jobOf(
  { checkId, locationId, holder, job: text, sharesVariables }: PackedCheck,
  { dueAt, now, variables, tag }: { dueAt: number; now: number; variables: readonly unknown[]; tag: string },
): Record<string, unknown> {
  const iso = (time: number) => new Date(time).toISOString();
  const job = fieldsOf(parsedJson(text));
  const remainingMs = Number(job['remainingMs']);
  return {
    ...job,
    ...(sharesVariables === true
      ? { environmentVariables: withShared(itemsOf(job['environmentVariables']), variables) }
      : {}),
    jobId: scheduledJobId(checkId, locationId, dueAt),
    runId: scheduledRunId(checkId, dueAt),
    sequenceId: sequenceIdOf(tag),
    checkId,
    dueAt: iso(dueAt),
    attempt: 1,
    firstAttemptAt: null,
    leaseToken: holder,
    leaseExpiresAt: iso(now + leaseMs),
    deadline: iso(now + (Number.isFinite(remainingMs) ? remainingMs : 0)),
    isKept: true,
  };
}

/** Those of the account, in which those of the check and its group take precedence. They are validated with the job. */
function withShared(own: readonly unknown[], shared: readonly unknown[]): unknown[] {
  const byKey = new Map<unknown, unknown>();
  for (const variable of [...shared, ...own]) byKey.set(fieldsOf(variable)['key'], variable);
  return [...byKey.values()];
}

const messages = {
  NO_AGENT: 'the agent was not running, could not run checks, or lost the result',
  NOT_CLAIMED: 'the agent was busy or could make no runs, and did not begin the run in time',
} as const satisfies { [code in MissedCode]: string };

/** A report of runs that did not take place. It takes the way of results, so that it is not lost and keeps its order. */
export function missedReport(
  { check, from, to, count, code }: MissedRuns,
  process: { version: string; tag: string },
): Result {
  const iso = (time: number) => new Date(time).toISOString();
  const grade = missedGrade(reasonOf(code, messages[code]));
  return reportOf(
    check,
    { ...process, dueAt: from, startedAt: from, stoppedAt: to, grade },
    {
      from: iso(from),
      to: iso(to),
      count,
    },
  );
}

/** The result of a run that is not made again, because agents died while they made it. */
export function lostReport(
  check: PackedCheck,
  { now, ...run }: { dueAt: number; now: number; version: string; tag: string },
): Result {
  const message = 'the agent died twice while it was running it';
  const grade = erroredGrade(reasonOf('AGENT_LOST', message));
  return reportOf(check, { ...run, startedAt: now, stoppedAt: now, grade }, {});
}

/** A result without an attempt. */
function reportOf(
  check: PackedCheck,
  report: {
    dueAt: number;
    startedAt: number;
    stoppedAt: number;
    grade: Grade;
    version: string;
    tag: string;
  },
  details: Record<string, unknown>,
): Result {
  const { dueAt, startedAt, stoppedAt, grade, version, tag } = report;
  const job = fieldsOf(parsedJson(check.job));
  return resultOf(
    {
      jobId: scheduledJobId(check.checkId, check.locationId, dueAt),
      leaseToken: check.holder,
      sequenceId: sequenceIdOf(tag),
      checkId: check.checkId,
      checkType: String(job['checkType']),
      runLocation: String(job['runLocation']),
      isKept: true,
      dueAt: new Date(dueAt).toISOString(),
    },
    {
      attempt: 1,
      resultType: 'FINAL',
      version,
      attempted: {
        outcome: { base: { ok: true }, responseTime: 0, timings: null, assertions: [], details },
        grade,
        artifacts: [],
        log: [],
        startedAt,
        stoppedAt,
      },
    },
  );
}
