import { toError } from '../../errors.ts';
import type { RunningTools } from '../claiming/intake.ts';
import { claimWindowSeconds, scheduledJobId } from '../../protocol/schedule.ts';
import { createHolds } from '../run/holds.ts';
import type { Loading } from '../claiming/loading.ts';
import type { Lanes } from '../run/lanes.ts';
import { createCalmRuns } from './calm-runs.ts';
import { createGoingRuns, type KeptRun } from './going-runs.ts';
import type { HeldChecks, MissedCode } from './held-checks.ts';
import { createLateRuns } from './late-runs.ts';
import { momentsOf, type Ledger } from './ledger.ts';
import type { MadeJobs } from './made-jobs.ts';
import { createMissedReports } from './missed-reports.ts';
import type { PackedCheck } from './packed.ts';

/** Runs the held checks when they are due. */
export type Timetable = {
  start: () => void;
  /** Runs what is due now. */
  runDue: () => void;
  /** The held checks have changed. */
  replan: () => void;
  /** The outbox has dropped a result. Its run is reported as missed when there is room again. */
  lost: (payload: Buffer) => void;
  /** Takes runs that dead processes of the data folder were making. */
  restore: (runs: readonly KeptRun[]) => void;
  /** Runs in progress, for the process that continues this one. */
  keptRuns: () => KeptRun[];
  /** The first moment that waits to be reported as missed; null = none waits. */
  unreported: () => number | null;
  size: () => number;
  drain: () => void;
  cancel: () => number;
  whenIdle: () => Promise<void>;
  stop: () => void;
};

/** The longest sleep, so that a clock that was corrected is noticed. */
const longestSleepMs = 1_000;
/** A run that begins later than this after its moment waits for those that are not. */
const lateMs = 1_000;
/** A late run of a check that was taken away less than this before is made all the same: nobody else may owe it. */
const formerMs = 1_500;

/** What running held checks needs from the agent. */
export type RunOptions = {
  version: string;
  lanes: Lanes;
  loading: Pick<Loading<RunningTools & MadeJobs>, 'get' | 'isBroken'>;
  available: () => Parameters<RunningTools['parseJob']>[1];
  /** Hands a serialised result to the outbox. `isCalm`: nobody waits for it. */
  deliver: (json: string, isCalm: boolean) => Promise<void>;
  /** True while the agent must not begin runs. */
  blocked: () => boolean;
  /** True while there is hardly any room for results. */
  isFull: () => boolean;
  fault: (error: Error, message: string) => void;
  now: () => number;
};

/** `now`: the service's clock. */
export function createTimetable(
  options: RunOptions & {
    held: HeldChecks;
    ledger: Ledger;
    /** See `sequenceIdOf`. */
    tag: string;
    /** Of the account, for checks whose jobs are without them. */
    variables: () => readonly unknown[];
    /** False once the service has been away for too long: nothing is run or reported until it is back. */
    mayRun: () => boolean;
  },
): Timetable {
  const { held, ledger, lanes, now, version, tag, loading } = options;
  let timer: NodeJS.Timeout | undefined;
  let isStarted = false;
  let isEnding = false;
  let idle: (() => void)[] = [];
  const settle = (): void => {
    if (busy.size > 0) return;
    for (const resolve of idle) resolve();
    idle = [];
  };
  const holds = createHolds();
  const calmRuns = createCalmRuns();
  /** Nothing is renewed for a single run, and nothing is handed back: a run that is not reported is its successor's. */
  const leases = { hold: holds.hold, release: () => Promise.resolve() };
  /** Runs in progress by check. */
  const busy = new Map<string, number>();
  /** The same runs. */
  const going = createGoingRuns({
    now,
    attemptSince: ({ checkId, locationId, dueAt }) => {
      const hold = holds.find(scheduledJobId(checkId, locationId, dueAt));
      return hold?.phase === 'running' ? hold.runningSince : null;
    },
  });
  /** Runs that have begun and have no slot yet, and late ones in progress. */
  let beginning = 0;
  let late = 0;

  const reports = createMissedReports({
    isFull: options.isFull,
    // With the first run, because an agent without checks must not load the library of schemas.
    load: async () => {
      const { missedReport } = await import('./made-jobs.ts');
      return (missed) => {
        ledger.open(missed.from, now());
        const check = presentForm(missed.check) ?? missed.check;
        void options.deliver(JSON.stringify(missedReport({ ...missed, check }, { version, tag })), false);
      };
    },
    fault: options.fault,
  });

  const run = async (check: PackedCheck, dueAt: number): Promise<void> => {
    const { checkId } = check;
    // Those that belong to this form of the check: while its parts load, it may be replaced or taken away.
    const variables = options.variables();
    busy.set(checkId, (busy.get(checkId) ?? 0) + 1);
    going.begin(check, dueAt);
    beginning += 1;
    try {
      const { parseJob, runJob, reportInvalid, parts, jobOf, lostReport } = await loading
        .get()
        .finally(() => (beginning -= 1));
      const deliver = (json: string, hasPassed = false) =>
        options.deliver(json, calmRuns.note(checkId, hasPassed));
      if (going.isSpent(check, dueAt)) {
        return await deliver(JSON.stringify(lostReport(check, { dueAt, now: now(), version, tag })));
      }
      const own = { ...parts, leases, deliver };
      const parsed = parseJob(jobOf(check, { dueAt, now: now(), variables, tag }), options.available());
      if (parsed.job !== null) await runJob(parsed.job, own);
      else if (parsed.envelope !== null) await reportInvalid(parsed, own);
      else throw parsed.error;
    } catch (error) {
      options.fault(toError(error), 'running a held check failed');
      // It has no result, and nobody else knows of it.
      giveUp(presentForm(check) ?? check, dueAt);
    } finally {
      const left = (busy.get(checkId) ?? 1) - 1;
      if (left > 0) busy.set(checkId, left);
      else busy.delete(checkId);
      going.end(check, dueAt);
      settle();
    }
  };

  /** Runs that are not open in the ledger. */
  const unmade = (
    check: PackedCheck,
    from: number,
    { to = from, count = 1, code = 'NOT_CLAIMED' }: { to?: number; count?: number; code?: MissedCode } = {},
  ): void => {
    held.gaveUp(check, from, { to, code });
    reports.add({ check, from, to, count, code });
  };

  /** While a run waited, its check may have been edited, given to this process in its own name, or taken away (null). */
  const presentForm = (check: PackedCheck): PackedCheck | null => {
    const current = held.find(check.checkId, formerMs);
    return current?.locationId === check.locationId ? current : null;
  };

  const giveUp = (check: PackedCheck, dueAt: number): void => {
    ledger.settle(dueAt);
    unmade(check, dueAt);
  };

  const cannotBegin = () => options.blocked() || loading.isBroken();

  const lateRuns = createLateRuns({
    now,
    until: ({ intervalSeconds }, dueAt) => dueAt + claimWindowSeconds(intervalSeconds) * 1000,
    mayRun: options.mayRun,
    spare: () => {
      if (cannotBegin()) return 0;
      // Half of the slots are for runs that are due now, but they must not keep all late ones waiting.
      const free = lanes.free('uptime') - beginning;
      const reserved = Math.floor((lanes.slots.uptime ?? 0) / 2);
      return Math.max(late === 0 ? Math.min(1, free) : 0, free - reserved);
    },
    giveUp: (check, dueAt) => giveUp(presentForm(check) ?? check, dueAt),
    run: (check, dueAt) => {
      const current = presentForm(check);
      if (current === null) return giveUp(check, dueAt);
      late += 1;
      void run(current, dueAt).finally(() => (late -= 1));
    },
  });

  const runDue = (): void => {
    if (isEnding || !options.mayRun()) return;
    const at = now();
    const due = held.takeDue(at);
    for (const missed of due.missed) reports.add(missed);
    if (due.runs.length === 0) return;
    const isBlocked = cannotBegin();
    for (const { check, dueAt } of due.runs) {
      // The service has given the check to this process, which makes the run already because an earlier one held it.
      if (going.has(check, dueAt)) continue;
      const isLate = at - dueAt > lateMs;
      if (isLate && !isBlocked) {
        if (lateRuns.add(check, dueAt)) ledger.open(dueAt, at);
      } else if (isBlocked || (busy.has(check.checkId) && lanes.free('uptime') === 0)) {
        unmade(check, dueAt);
      } else {
        ledger.open(dueAt, at);
        void run(check, dueAt);
      }
    }
  };

  const replan = (): void => {
    clearTimeout(timer);
    if (!isStarted || isEnding) return;
    const earliest = held.earliest();
    if (earliest === null) return;
    // Loaded before the first is due: later, all that are due meanwhile would begin together.
    void loading.get().catch(() => undefined);
    const sleep = options.mayRun() ? Math.max(0, earliest - now()) : longestSleepMs;
    timer = setTimeout(
      () => {
        runDue();
        replan();
      },
      Math.min(longestSleepMs, sleep),
    );
  };

  const end = (): void => {
    isEnding = true;
    clearTimeout(timer);
    // They stay open, so another agent makes them.
    lateRuns.clear();
  };
  const stop = (): void => {
    end();
    reports.stop();
  };
  return {
    start: () => {
      isStarted = true;
      replan();
    },
    runDue,
    replan,
    lost: (payload) => {
      const lost = momentsOf(payload, tag);
      if (lost === null) return;
      ledger.settle(lost.from);
      const check = held.find(lost.checkId, formerMs);
      // The outbox fills while the service is away, and then no check moves to another agent.
      if (check === undefined) return;
      const count = Math.round((lost.to - lost.from) / (check.intervalSeconds * 1000)) + 1;
      unmade(check, lost.from, { to: lost.to, count, code: 'NO_AGENT' });
    },
    restore: going.restore,
    keptRuns: () => going.kept(isEnding),
    unreported: reports.earliest,
    size: holds.size,
    drain: () => {
      end();
      holds.drain();
    },
    cancel: () => {
      end();
      return holds.abortAll('shutdown');
    },
    whenIdle: () => (busy.size === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
    stop,
  };
}
