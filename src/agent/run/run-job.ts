import { JobAborted, toError, type InvalidJobError } from '../../errors.ts';
import { laneOf } from '../../protocol/check-types.ts';
import type { Job, JobEnvelope } from '../../protocol/job.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import type { Result } from '../../protocol/result.ts';
import { attemptOnce, withoutOutcome, type AttemptParts } from './attempt-once.ts';
import type { Attempted } from './attempted.ts';
import { nextAttempt } from './attempts.ts';
import { cancelledGrade, erroredGrade, type Grade } from './grade.ts';
import { jobTypeOf } from '../job-types/table.ts';
import type { Lanes } from './lanes.ts';
import type { Hold } from './holds.ts';
import { countAttempt, countResult, countRun, countWait, type AgentMetrics } from '../metrics/counters.ts';
import type { LeaseSource } from './leases.ts';
import type { OwnDelay } from '../load/own-delay.ts';
import { hasRecovered } from './recovery.ts';
import { withTraceroute } from './network-evidence.ts';
import type { JobScrubber } from '../scrubbing/own-secrets.ts';
import { resultOf, scrub, serialised, withheldResult } from './result.ts';
import { traceLimitMs } from './traces.ts';

/** What running a job needs of the agent. */
export type RunParts = AttemptParts & {
  version: string;
  lanes: Lanes;
  leases: LeaseSource;
  metrics: AgentMetrics;
  /** Masks the job's secrets and the agent's own in any tree of values. */
  scrubberOf: (job: Job) => JobScrubber;
  /** Hands a serialised result to the outbox; resolves when it is safe. `hasPassed`: it is final, and the run has passed. */
  deliver: (json: string, hasPassed?: boolean) => Promise<void>;
  resultBytes: () => number;
  /** Our clock minus the service's in milliseconds; 0 if the difference is too small to matter. */
  clockSkewMs: () => number;
};

/** An attempt is repeated only if at least this much time is left for its recovery and the repetition. */
const leastRepeatMs = 10_000;

/** Runs one job from start to end: attempts until one is final, each of them reported, or a hand-back. */
export async function runJob(job: Job, parts: RunParts): Promise<void> {
  const { leases, metrics, now } = parts;
  const claimedAt = now();
  const lane = laneOf[job.checkType];
  const jobType = jobTypeOf(job);
  const scrubber = parts.scrubberOf(job);
  const hold = leases.hold(job);
  // A service that sends the remaining time needs no clock that agrees with ours.
  const deadline =
    job.remainingMs === undefined
      ? Date.parse(job.deadline) + parts.clockSkewMs()
      : claimedAt + job.remainingMs;
  let attempt = job.attempt;
  let notBefore: number | null = null;
  let firstAttemptAt =
    job.firstAttemptAt === null ? null : Date.parse(job.firstAttemptAt) + parts.clockSkewMs();
  const isContinued = firstAttemptAt !== null;
  /** Start of the first attempt on this agent. */
  let localStartAt: number | null = null;

  const countWaits = (startMs: number): void => {
    countWait(metrics, 'slot_wait_seconds', lane, startMs - claimedAt);
    if (isContinued) return;
    const dueAt = Date.parse(job.dueAt) + parts.clockSkewMs();
    countWait(metrics, 'claim_delay_seconds', lane, claimedAt - dueAt);
    countWait(metrics, 'start_delay_seconds', lane, startMs - dueAt);
  };

  const report = async (attempted: Attempted, resultType: Result['resultType']): Promise<void> => {
    await scrubber.ready();
    const { withheld } = scrubber;
    const warnings = scrubber.warnings.map((msg) => ({
      time: attempted.startedAt,
      level: 'warn' as const,
      msg,
    }));
    const withWarnings =
      warnings.length === 0 ? attempted : { ...attempted, log: [...warnings, ...attempted.log] };
    const result = resultOf(job, { attempt, attempted: withWarnings, resultType, version: parts.version });
    const clean =
      withheld === null ? await scrub[jobType.scrubbing](result, scrubber) : withheldResult(result, withheld);
    const { json, trimmed } = serialised(clean, parts.resultBytes(), jobType.shorterDetails);
    metrics.scrubbedResultBytes += Buffer.byteLength(json);
    if (trimmed) metrics.resultsTrimmed += 1;
    countResult(metrics, result);
    return parts.deliver(json, resultType === 'FINAL' && result.status === 'passed');
  };

  try {
    for (;;) {
      const attempted = await believedAttempt();
      firstAttemptAt ??= attempted.startedAt;
      countAttempt(metrics, job.checkType, {
        seconds: (attempted.stoppedAt - attempted.startedAt) / 1000,
        bounds: jobType.attemptBounds,
      });
      jobType.countDetails?.(metrics, attempted.outcome.details);

      const { status, reason } = attempted.grade;
      const next = nextAttempt(job.retryStrategy, {
        attempt,
        status,
        reason,
        firstAttemptAt,
        now: now(),
        deadline,
      });
      if (next === null) {
        countRun(
          metrics,
          job.checkType,
          (attempted.stoppedAt - (localStartAt ?? attempted.startedAt)) / 1000,
        );
        return await report(await traced(attempted), 'FINAL');
      }

      // The trace must not delay a retry beyond the strategy, nor run during the next attempt.
      const hasTime = next.delayMs >= traceLimitMs || isTraced(attempted);
      await report(hasTime ? await traced(attempted) : attempted, 'ATTEMPT');
      attempt = next.attempt;
      notBefore = attempted.stoppedAt + next.delayMs;
      if (next.elsewhere) {
        return await handBack('retry-elsewhere', { otherLocation: true });
      }
      await waiting(hold, notBefore - now());
    }
  } catch (error) {
    if (!(error instanceof JobAborted)) {
      const fault = toError(error);
      parts.fault(fault, 'running a job failed');
      return await conclude(erroredGrade(reasonOf('INTERNAL', `the agent failed: ${fault.message}`)));
    }
    if (error.code === 'lease-lost') return;
    if (error.code === 'shutdown') return await handBack('draining', {});
    await conclude(cancelledGrade());
  } finally {
    hold.end();
  }

  /** One attempt. If the agent's own delay spoiled it, it is repeated once after the agent has recovered. */
  async function believedAttempt(): Promise<Attempted> {
    const attempted = await attemptInSlot();
    if (attempted.disbelieved === undefined) return attempted;
    const { ownDelay } = parts;
    if (ownDelay !== undefined && jobType.mayRepeat(job) && now() + leastRepeatMs < deadline) {
      const repeated = await repetition(ownDelay);
      if (repeated !== null) {
        // The deadline cut it short: a target that needs longer is not to blame.
        const isWhole = now() < deadline || repeated.grade.status === 'passed';
        if (repeated.disbelieved === undefined && isWhole) return madeTwice(repeated, attempted);
        metrics.attemptsDisbelieved += 1;
        return madeTwice(attempted, repeated);
      }
    }
    metrics.attemptsDisbelieved += 1;
    return attempted;
  }

  /** Null if the agent does not recover, or if it drains before it can repeat a run that nobody else repeats. */
  async function repetition(ownDelay: OwnDelay): Promise<Attempted | null> {
    try {
      if (!(await hasRecovered(ownDelay, (milliseconds) => waiting(hold, milliseconds)))) return null;
      const repeated = await attemptInSlot();
      metrics.attemptsRepeated += 1;
      return repeated;
    } catch (error) {
      // Runs of held checks are not handed back. When others hold the check, this run may be too old, and it would be missed.
      if (job.isKept === true && error instanceof JobAborted && error.code === 'shutdown') return null;
      throw error;
    }
  }

  function attemptInSlot(): Promise<Attempted> {
    // Measured only if the job has to wait, so that it costs nothing on an agent with free slots.
    const waited =
      parts.lanes.free(lane) > 0 ? undefined : parts.ownDelay?.begin(jobType.startsProcesses(job));
    return inSlot(job, hold, parts.lanes, () => {
      if (localStartAt === null) countWaits((localStartAt = now()));
      // Customer code may end this agent at once. The service must know what the agent was running then.
      if (jobType.startsProcesses(job)) leases.announce?.(hold);
      const slotDelay = now() < deadline ? null : (waited?.read() ?? null);
      waited?.end();
      return attemptOnce(job, { attempt, hold, deadline, slotDelay, scrubber, parts });
    }).finally(() => waited?.end());
  }

  /** Adds a traceroute if the network failed. The slot is free during that time, and the lease is renewed. */
  function traced(attempted: Attempted): Promise<Attempted> | Attempted {
    const { evidence } = parts;
    if (evidence === undefined) return attempted;
    return withTraceroute(attempted, { hold, traces: evidence.traces, untilMs: deadline, now });
  }

  function isTraced({ traceTo }: Attempted): boolean {
    if (traceTo === undefined) return false;
    return 'unavailable' in traceTo || parts.evidence?.traces.has(traceTo) === true;
  }

  /** Ends a job that has a grade but no outcome. */
  async function conclude(grade: Grade): Promise<void> {
    const at = now();
    await report(withoutOutcome(grade, { startedAt: at, stoppedAt: at }), 'FINAL');
  }

  async function handBack(reason: string, options: { otherLocation?: boolean }): Promise<void> {
    await leases.release(job, {
      reason,
      nextAttempt: attempt,
      ...(notBefore === null ? {} : { notBefore: new Date(notBefore - parts.clockSkewMs()).toISOString() }),
      ...(firstAttemptAt === null
        ? {}
        : { firstAttemptAt: new Date(firstAttemptAt - parts.clockSkewMs()).toISOString() }),
      ...options,
    });
  }
}

/** Answers for a job that cannot be run: an errored result, so that the run does not vanish. */
export async function reportInvalid(
  invalid: { envelope: JobEnvelope; raw: Record<string, unknown>; error: InvalidJobError },
  parts: RunParts,
): Promise<void> {
  const { envelope, raw, error } = invalid;
  const text = (name: string) => (typeof raw[name] === 'string' ? raw[name].slice(0, 64) : '');
  const at = parts.now();
  const attempted = withoutOutcome(erroredGrade(reasonOf(error.code, error.message)), {
    startedAt: at,
    stoppedAt: at,
  });
  const hold = parts.leases.hold(envelope);
  try {
    const result = resultOf(
      {
        ...envelope,
        sequenceId: text('sequenceId'),
        checkId: text('checkId'),
        runLocation: text('runLocation'),
        ...(raw['isKept'] === true ? { isKept: true, dueAt: text('dueAt') } : {}),
      },
      { attempt: envelope.attempt, attempted, resultType: 'FINAL', version: parts.version },
    );
    countResult(parts.metrics, result);
    await parts.deliver(serialised(result, parts.resultBytes()).json);
  } finally {
    hold.end();
  }
}

/** The attempt that is reported. Its log says when the target was asked the other time. */
function madeTwice(attempted: Attempted, other: Attempted): Attempted {
  const [from, to] = [other.startedAt, other.stoppedAt].map((time) => new Date(time).toISOString());
  const msg = `the attempt was made twice because of the agent's own delay; the other attempt began at ${from} and ended at ${to}`;
  return { ...attempted, log: [{ time: attempted.startedAt, level: 'warn', msg }, ...attempted.log] };
}

/** Runs `task` when the lane has a slot; rejects at once if the job is aborted first. */
function inSlot<T>(job: Job, hold: Hold, lanes: Lanes, task: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (hold.leaving) hold.abort('shutdown');
    if (hold.aborted !== null) return reject(hold.aborted);
    hold.phase = 'queued';
    hold.onAbort = () => reject(hold.aborted);
    const run = async () => {
      if (hold.aborted !== null) return;
      hold.phase = 'running';
      hold.runningSince = performance.now();
      await task().then(resolve, reject);
    };
    // Use the type's own lane, not the job's: another lane may be missing or reserved.
    lanes.run(laneOf[job.checkType], run).catch(reject);
  });
}

/** Waits outside the queue while the lease is renewed. */
function waiting(hold: Hold, milliseconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (hold.leaving) hold.abort('shutdown');
    if (hold.aborted !== null) return reject(hold.aborted);
    hold.phase = 'waiting';
    const timer = setTimeout(
      () => {
        hold.onAbort = null;
        resolve();
      },
      Math.max(0, milliseconds),
    );
    hold.onAbort = () => {
      clearTimeout(timer);
      reject(hold.aborted);
    };
  });
}
