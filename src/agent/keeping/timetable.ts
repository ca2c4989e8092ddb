import { toError } from '../../errors.ts';
import type { RunningTools } from '../claiming/intake.ts';
import { claimWindowSeconds } from '../../protocol/schedule.ts';
import { createHolds } from '../run/holds.ts';
import type { Lanes } from '../run/lanes.ts';
import { createCalmRuns } from './calm-runs.ts';
import type { HeldChecks, MissedRuns } from './held-checks.ts';
import { createLateRuns } from './late-runs.ts';
import type { Ledger } from './ledger.ts';
import type { PackedCheck } from './packed.ts';

/** Runs the held checks when they are due. */
export type Timetable = {
  start: () => void;
  /** Runs what is due now. */
  runDue: () => void;
  /** The held checks have changed. */
  replan: () => void;
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

export function createTimetable(options: {
  held: HeldChecks;
  ledger: Ledger;
  lanes: Lanes;
  load: () => Promise<RunningTools>;
  available: () => Parameters<RunningTools['parseJob']>[1];
  /** Hands a serialised result to the outbox. `isCalm`: nobody waits for it. */
  deliver: (json: string, isCalm: boolean) => Promise<void>;
  version: string;
  /** See `sequenceIdOf`. */
  tag: string;
  /** Of the account, for checks whose jobs are without them. */
  variables: () => readonly unknown[];
  blocked: () => boolean;
  /** False once the service has been away for too long: nothing is run or reported until it is back. */
  mayRun: () => boolean;
  fault: (error: Error, message: string) => void;
  now: () => number;
}): Timetable {
  const { held, ledger, lanes, now, version, tag } = options;
  let timer: NodeJS.Timeout | undefined;
  let isStarted = false;
  let isEnding = false;
  let isLoading = false;
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
  const going = new Set<string>();
  /** Runs that have begun and have no slot yet, and late ones in progress. */
  let loading = 0;
  let late = 0;
  const keyOf = ({ checkId, locationId }: PackedCheck, dueAt: number) => `${checkId} ${locationId} ${dueAt}`;

  const report = (missed: MissedRuns): void => {
    // With the first run, because an agent without checks must not load the library of schemas.
    import('./made-jobs.ts')
      .then(({ missedReport }) =>
        options.deliver(JSON.stringify(missedReport(missed, { version, tag })), false),
      )
      .catch((error: unknown) => options.fault(toError(error), 'runs that were missed are not reported'));
  };

  const loaded = async () => ({ ...(await options.load()), ...(await import('./made-jobs.ts')) });

  const run = async (check: PackedCheck, dueAt: number): Promise<void> => {
    const { checkId } = check;
    // Those that belong to this form of the check: while its parts load, it may be replaced or taken away.
    const variables = options.variables();
    busy.set(checkId, (busy.get(checkId) ?? 0) + 1);
    going.add(keyOf(check, dueAt));
    loading += 1;
    try {
      const { parseJob, runJob, reportInvalid, parts, jobOf } = await loaded().finally(() => (loading -= 1));
      const deliver = (json: string, hasPassed = false) =>
        options.deliver(json, calmRuns.note(checkId, hasPassed));
      const own = { ...parts, leases, deliver };
      const parsed = parseJob(jobOf(check, { dueAt, now: now(), variables, tag }), options.available());
      if (parsed.job !== null) await runJob(parsed.job, own);
      else if (parsed.envelope !== null) await reportInvalid(parsed, own);
      else throw parsed.error;
    } catch (error) {
      options.fault(toError(error), 'running a held check failed');
    } finally {
      const left = (busy.get(checkId) ?? 1) - 1;
      if (left > 0) busy.set(checkId, left);
      else busy.delete(checkId);
      going.delete(keyOf(check, dueAt));
      settle();
    }
  };

  const unmade = (check: PackedCheck, dueAt: number): void => {
    held.gaveUp(check, dueAt);
    report({ check, from: dueAt, to: dueAt, count: 1, code: 'NOT_CLAIMED' });
  };

  /** While a run waited, its check may have been edited, given to this process in its own name, or taken away (null). */
  const presentForm = (check: PackedCheck): PackedCheck | null => {
    const current = held.find(check.checkId, formerMs);
    return current?.locationId === check.locationId ? current : null;
  };

  const lateRuns = createLateRuns({
    now,
    until: ({ intervalSeconds }, dueAt) => dueAt + claimWindowSeconds(intervalSeconds) * 1000,
    mayRun: options.mayRun,
    spare: () => {
      if (options.blocked()) return 0;
      // Half of the slots are for runs that are due now, but they must not keep all late ones waiting.
      const free = lanes.free('uptime') - loading;
      const reserved = Math.floor((lanes.slots.uptime ?? 0) / 2);
      return Math.max(late === 0 ? Math.min(1, free) : 0, free - reserved);
    },
    giveUp: (check, dueAt) => unmade(presentForm(check) ?? check, dueAt),
    run: (check, dueAt) => {
      const current = presentForm(check);
      if (current === null) return unmade(check, dueAt);
      late += 1;
      void run(current, dueAt).finally(() => (late -= 1));
    },
  });

  const runDue = (): void => {
    if (isEnding || !options.mayRun()) return;
    const at = now();
    const due = held.takeDue(at);
    for (const missed of due.missed) {
      ledger.open(missed.from);
      report(missed);
    }
    if (due.runs.length === 0) return;
    const isBlocked = options.blocked();
    for (const { check, dueAt } of due.runs) {
      // The service has given the check to this process, which makes the run already because an earlier one held it.
      if (going.has(keyOf(check, dueAt))) continue;
      const isLate = at - dueAt > lateMs;
      if (isLate && !isBlocked) {
        if (lateRuns.add(check, dueAt)) ledger.open(dueAt);
        continue;
      }
      ledger.open(dueAt);
      if (isBlocked || (busy.has(check.checkId) && lanes.free('uptime') === 0)) unmade(check, dueAt);
      else void run(check, dueAt);
    }
  };

  const replan = (): void => {
    clearTimeout(timer);
    if (!isStarted || isEnding) return;
    const earliest = held.earliest();
    if (earliest === null) return;
    // Loaded before the first is due: later, all that are due meanwhile would begin together. A run that lacks it reports it.
    if (!isLoading) void loaded().catch(() => undefined);
    isLoading = true;
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
  return {
    start: () => {
      isStarted = true;
      replan();
    },
    runDue,
    replan,
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
    stop: end,
  };
}
