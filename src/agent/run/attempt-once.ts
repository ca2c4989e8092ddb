import { AgentError, InvalidJobError, JobAborted, toError } from '../../errors.ts';
import type { Executor, Outcome } from '../../executors/interface/executor.ts';
import type { Network } from '../../executors/interface/network.ts';
import { withoutScripts } from '../../executors/without-scripts.ts';
import type { JobType } from '../../protocol/check-types.ts';
import { attemptLimitMs, type Job } from '../../protocol/job.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import type { Artifact, LogEntry } from '../../protocol/result.ts';
import { maskCredentialsIn, maskCredentials } from './detect-secrets.ts';
import type { Attempted } from './attempted.ts';
import { createAttemptLog } from './attempt-log.ts';
import { openAttemptFiles, type AttemptFiles, type FileParts } from '../artifacts/attempt-files.ts';
import { judged, noSlotGrade } from './disbelief.ts';
import { cancelledGrade, erroredGrade, grade, type Grade } from './grade.ts';
import { jobTypeOf } from '../job-types/table.ts';
import type { Hold } from './holds.ts';
import type { DelayReading, OwnDelay } from '../load/own-delay.ts';
import { createLiveLog } from './live-log.ts';
import { withFailure, type NetworkEvidence } from './network-evidence.ts';
import { withOwnNetwork } from './own-fault.ts';
import type { OwnNetwork } from '../own-network/own-network.ts';
import type { JobScrubber } from '../scrubbing/own-secrets.ts';
import { scrubbedLine } from './result.ts';
import { within } from './within.ts';

/** What one attempt needs of the agent. */
export type AttemptParts = {
  /** The executor of a type; all are loaded before a job runs. */
  executorOf: (type: JobType) => Executor<JobType>;
  network: Network;
  /** What customer code and files of attempts need; absent if attempts leave no files. */
  forFiles?: FileParts;
  /** Collects network evidence of attempts; absent = none is collected. */
  evidence?: Pick<NetworkEvidence, 'watch' | 'traces'>;
  /** Measures the delay of this process; absent = all results are believed. */
  ownDelay?: OwnDelay;
  /** Tells failures of this host's own network from those of targets; absent = all are the targets'. */
  ownNetwork?: Pick<OwnNetwork, 'watch'>;
  /** Also mask text in script runs that looks like a credential. */
  detectSecrets?: boolean;
  /** Receives each line of the run's log before it is scrubbed. */
  onLog?: (entry: LogEntry) => void;
  fault: (error: Error, message: string) => void;
  /** Milliseconds since the epoch. */
  now: () => number;
};

type AttemptOptions = {
  attempt: number;
  hold: Hold;
  deadline: number;
  /** The agent's own delay while the job waited for its slot; null = it did not wait. */
  slotDelay: DelayReading | null;
  scrubber: JobScrubber;
  parts: AttemptParts;
};

/** One attempt: the executor under its deadline, the grade, the files. Rejects only with JobAborted. */
export async function attemptOnce(job: Job, options: AttemptOptions): Promise<Attempted> {
  const { parts, scrubber } = options;
  const files = parts.forFiles === undefined ? null : openAttemptFiles(parts.forFiles, scrubber);
  const hasSecret = (text: string): boolean => scrubber.text(text) !== text;
  const watch = (await parts.evidence?.watch(job)) ?? null;
  try {
    const own = parts.ownNetwork?.watch(job, watch?.network ?? parts.network) ?? null;
    const network = own?.network ?? watch?.network ?? parts.network;
    const { hold, deadline } = options;
    const executed = await withOwnNetwork(await measured(job, options, { files, network }), own, {
      hold,
      untilMs: deadline,
      now: parts.now,
    });
    if (parts.detectSecrets === true) maskCredentials(job, executed, scrubber);
    await scrubber.ready();
    const failure = (await watch?.conclude(executed.grade, hasSecret)) ?? null;
    const attempted = await withFailure(executed, failure, files?.context ?? null);
    if (files === null || files.isEmpty()) return attempted;
    return { ...attempted, artifacts: await keptFiles(job, options, files, attempted) };
  } finally {
    options.hold.stage = null;
    watch?.end();
    await files?.remove().catch((error: unknown) => {
      parts.fault(toError(error), 'cannot remove the folder of an attempt');
    });
  }
}

/**
 * Processes the artifacts while the slot is still held, so that the slots also limit the disk and processor time for
 * them.
 */
async function keptFiles(
  job: Job,
  { attempt, hold, parts }: AttemptOptions,
  files: AttemptFiles,
  { log, grade: attemptGrade }: Attempted,
): Promise<Artifact[]> {
  const controller = new AbortController();
  const { keepMs, reportsWhenCancelled, hasLiveLog } = jobTypeOf(job);
  const timer = setTimeout(() => controller.abort(new JobAborted('deadline')), keepMs);
  const onAbort = () => {
    const { aborted } = hold;
    // A cancelled run may still be aborted.
    if (aborted === null || (reportsWhenCancelled && aborted.code === 'cancelled')) hold.onAbort = onAbort;
    // Keep the result of a long run even if some of its files fail.
    else if (reportsWhenCancelled && aborted.code === 'shutdown')
      controller.abort(new JobAborted('deadline'));
    else controller.abort(aborted);
  };
  onAbort();
  if (hasLiveLog) hold.stage = 'artifacts';
  try {
    return await files.keep(
      { job, attempt },
      { signal: controller.signal, note: (level, msg) => void log.push({ time: parts.now(), level, msg }) },
    );
  } catch (error) {
    const { aborted } = hold;
    // A cancelled run that is reported ends here, with or without its files.
    if (aborted !== null && controller.signal.reason === aborted && attemptGrade.status !== 'cancelled')
      throw aborted;
    const { message } = toError(error);
    if (!(error instanceof JobAborted)) parts.fault(toError(error), 'artifacts of an attempt are lost');
    log.push({ time: parts.now(), level: 'warn', msg: `the artifacts of this attempt are lost: ${message}` });
    return [];
  } finally {
    clearTimeout(timer);
    hold.onAbort = null;
  }
}

/** Runs the executor while the agent's own delay is measured; that delay must not become the target's fault. */
async function measured(
  job: Job,
  options: AttemptOptions,
  environment: { files: AttemptFiles | null; network: Network },
): Promise<Attempted> {
  const withChildren = jobTypeOf(job).startsProcesses(job);
  const stopwatch = options.parts.ownDelay?.begin(withChildren);
  try {
    const attempted = await execution(job, options, environment);
    const isPlainPass = attempted.grade.status === 'passed' && attempted.outcome.base.ok;
    if (stopwatch === undefined || isPlainPass) return attempted;
    return judged({ rules: job, attempted, delay: stopwatch.read(), withChildren });
  } finally {
    stopwatch?.end();
  }
}

/** Runs the executor under its deadline, then grades the outcome. */
async function execution(
  job: Job,
  { hold, deadline, slotDelay, parts, scrubber }: AttemptOptions,
  { files, network }: { files: AttemptFiles | null; network: Network },
): Promise<Attempted> {
  const { now } = parts;
  const own = jobTypeOf(job);
  const startedAt = now();
  const limitMs = Math.min(attemptLimitMs(job), deadline - startedAt);
  if (limitMs <= 0) {
    const noSlot = noSlotGrade(slotDelay, own.startsProcesses(job));
    return withoutOutcome(noSlot, { startedAt, stoppedAt: startedAt });
  }
  // Users who wait for a suite want to see its progress.
  if (own.hasLiveLog) {
    hold.lines = createLiveLog((line) => {
      if (parts.detectSecrets === true) maskCredentialsIn(line, scrubber);
      return scrubbedLine(line, scrubber);
    });
  }
  const log = createAttemptLog(own.logBounds, parts.onLog);
  const began = performance.now();
  try {
    const execute = parts.executorOf(job.checkType);
    const { value: outcome, stopped } = await within({ limitMs, settleMs: own.settleMs }, hold, (signal) =>
      execute(job, {
        ...(files?.context ?? withoutScripts),
        signal,
        log: (level, msg) => {
          log.add({ time: now(), level, msg });
          hold.lines?.add(msg);
        },
        onStage: (stage) => (hold.stage = stage.slice(0, 64)),
        network,
        now,
      }),
    );
    const wasCancelled = own.reportsWhenCancelled && stopped?.code === 'cancelled';
    const attemptGrade = wasCancelled ? cancelledGrade() : grade(job, outcome);
    return { outcome, grade: attemptGrade, artifacts: [], log: log.entries(), startedAt, stoppedAt: now() };
  } catch (error) {
    const times = { startedAt, stoppedAt: now(), log: log.entries() };
    const isAbort = error instanceof JobAborted;
    if (isAbort && error.code === 'deadline') {
      const elapsed = performance.now() - began;
      const where = hold.stage === null ? '' : `; the current stage was ${hold.stage}`;
      const outcome = timedOutOutcome(elapsed, `no result within ${Math.round(limitMs)} ms${where}`);
      return { outcome, grade: grade(job, outcome), artifacts: [], ...times };
    }
    if (!isAbort && hold.aborted !== null) parts.fault(toError(error), 'executor did not follow its signal');
    const aborted = isAbort ? error : hold.aborted;
    if (aborted?.code === 'cancelled' && own.reportsWhenCancelled)
      return withoutOutcome(cancelledGrade(), times);
    if (aborted !== null) throw aborted;
    if (error instanceof AgentError || error instanceof InvalidJobError) {
      if (error.code === 'INTERNAL') parts.fault(error, 'attempt ended by an agent fault');
      return withoutOutcome(erroredGrade(reasonOf(error.code, error.message)), times);
    }
    const thrown = toError(error);
    parts.fault(thrown, 'executor threw');
    return withoutOutcome(erroredGrade(reasonOf('INTERNAL', `the agent failed: ${thrown.message}`)), times);
  }
}

function timedOutOutcome(responseTime: number, message: string): Outcome {
  const base = { ok: false as const, reason: reasonOf('TIMEOUT', message) };
  return { base, responseTime, timings: null, assertions: [], details: {} };
}

/** An attempt in which the executor did not run: it has a grade but no measurements. */
export function withoutOutcome(
  attemptGrade: Grade,
  times: { startedAt: number; stoppedAt: number; log?: LogEntry[] },
): Attempted {
  const outcome: Outcome = {
    base: { ok: true },
    responseTime: 0,
    timings: null,
    assertions: [],
    details: {},
  };
  return { outcome, grade: attemptGrade, artifacts: [], log: [], ...times };
}
