import { planRuns } from '../../protocol/plan-runs.ts';
import { scheduledRunId } from '../../protocol/schedule.ts';
import { advanceChecks } from '../scheduling/schedule.ts';
import { isAnyAgenticDue, lockDueAgentic } from './statements.ts';
import {
  cancelAgenticRuns,
  endAgenticRuns,
  insertAgenticRuns,
  isAnyRunStale,
  lockStaleAgenticRuns,
  requeueAgenticRuns,
  type NewAgenticRun,
  type StaleRun,
} from './run-statements.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { serviceLocation } from '../heartbeats/outcomes.ts';
import { uuidv7 } from '../engine/ids.ts';
import { lookingFirst } from '../engine/looking-first.ts';
import { maintenanceAt } from '../maintenance/effects.ts';
import type { Missed } from '../scheduling/fold-missed.ts';
import { recordMissed } from '../scheduling/record-missed.ts';
import { endRuns, unperformed } from './outcomes.ts';

/** Queues due runs of agentic checks, expires runs that nobody starts, and cancels runs. */

const batch = 50;
/** On-demand runs wait longer than scheduled ones, because several of them run one after the other and take minutes. */
const sessionWaitMs = 30 * 60_000;
/** How often a run is started before it fails, if each replica dies during the run. */
const maxTries = 3;

type Deps = { db: Db; now: () => number; partitions: Partitions };

/** When an on-demand run of a session expires. */
export const sessionExpiry = (now: number): Date => new Date(now + sessionWaitMs);

/**
 * Creates a function that queues the runs that are due. While a check's previous run is waiting or active, the new run is recorded
 * as missed.
 */
export const makeDueRuns = (deps: Deps): (() => Promise<number>) =>
  lookingFirst(
    () => isAnyAgenticDue(deps.db, new Date(deps.now())),
    () => inBatches(deps, makeSome),
  );

/** Returns how many there were. */
async function inBatches(deps: Deps, work: (tx: Db, deps: Deps) => Promise<number>): Promise<number> {
  const { db, partitions } = deps;
  for (let sum = 0; ;) {
    const done = await partitions.withDays(() => db.tx((tx) => work(tx, deps)));
    sum += done;
    if (done < batch) return sum;
  }
}

async function makeSome(tx: Db, { now, partitions }: Deps): Promise<number> {
  const at = now();
  const due = await lockDueAgentic(tx, { now: new Date(at), limit: batch });
  if (due.length === 0) return 0;
  const effects = new Map<string, Awaited<ReturnType<typeof maintenanceAt>>>();
  const runs: NewAgenticRun[] = [];
  const missed: Missed[] = [];
  const next: { id: string; nextDueAt: Date; rotation: number }[] = [];
  const missedOf = (check: { id: string; accountId: string }) => ({
    accountId: check.accountId,
    checkId: check.id,
    checkType: 'AGENTIC',
    runLocation: serviceLocation,
  });
  for (const check of due) {
    const { id, accountId, tags, isOn } = check;
    const input = {
      ...check,
      nextDueAt: check.nextDueAt.getTime(),
      rotation: 0,
      runParallel: false,
      locationCount: 1,
    };
    const plan = planRuns(input, at);
    next.push({ id, nextDueAt: new Date(plan.nextDueAt), rotation: 0 });
    const maintenance = effects.get(accountId) ?? (await maintenanceAt(tx, { accountId, at: new Date(at) }));
    effects.set(accountId, maintenance);
    if (!isOn || maintenance.pauses(tags)) continue;
    if (plan.missed !== null) {
      const { from, to, count } = plan.missed;
      missed.push({ ...missedOf(check), from, to, count, code: 'NOT_SCHEDULED' });
    }
    if (plan.run === null) continue;
    runs.push({
      id: uuidv7(at),
      runId: scheduledRunId(id, plan.run.dueAt),
      sequenceId: uuidv7(at),
      accountId,
      checkId: id,
      sessionId: null,
      testSession: false,
      dueAt: new Date(plan.run.dueAt),
      expiresAt: new Date(plan.run.expiresAt),
    });
  }
  const made = await insertAgenticRuns(tx, runs);
  for (const { id, accountId, checkId, dueAt } of runs) {
    if (made.has(id)) continue;
    const time = dueAt.getTime();
    missed.push({
      ...missedOf({ id: checkId, accountId }),
      from: time,
      to: time,
      count: 1,
      code: 'STILL_RUNNING',
    });
  }
  await advanceChecks(tx, next);
  await recordMissed(tx, { missed, now: at, partitions });
  return due.length;
}

/** Cleans up runs that have waited too long, and runs whose replica is gone. */
export const clearUpRuns = (deps: Deps): (() => Promise<number>) =>
  lookingFirst(
    () => isAnyRunStale(deps.db, new Date(deps.now())),
    () => inBatches(deps, clearUpSome),
  );

async function clearUpSome(tx: Db, { now, partitions }: Deps): Promise<number> {
  const at = now();
  const stale = await lockStaleAgenticRuns(tx, { now: new Date(at), limit: batch });
  if (stale.length === 0) return 0;
  const isAgain = (run: StaleRun) => run.state === 'running' && !run.cancelRequested && run.tries < maxTries;
  const again = stale.filter(isAgain);
  await requeueAgenticRuns(tx, { ids: again.map(({ id }) => id), expiresAt: sessionExpiry(at) });
  const over = stale.filter((run) => !isAgain(run));
  const waited = over.filter(({ state, sessionId }) => state === 'queued' && sessionId === null);
  const end = { token: null, partitions, now: at };
  await endRuns(
    tx,
    end,
    over.filter((run) => !waited.includes(run)).map((run) => endOfStale(run, at)),
  );
  // A missed scheduled run extends the previous record of missed runs; it gets no result of its own.
  await endAgenticRuns(tx, { ids: waited.map(({ id }) => id), token: null });
  const missed = waited.map(({ accountId, checkId, dueAt }) => ({
    accountId,
    checkId,
    checkType: 'AGENTIC',
    runLocation: serviceLocation,
    from: dueAt.getTime(),
    to: dueAt.getTime(),
    count: 1,
    code: 'NOT_CLAIMED' as const,
  }));
  await recordMissed(tx, { missed, now: at, partitions });
  return stale.length;
}

function endOfStale(run: StaleRun, now: number) {
  if (run.cancelRequested) {
    return unperformed(run, {
      status: 'cancelled',
      code: 'CANCELLED',
      message: 'cancelled; the replica that ran it is gone',
      now,
    });
  }
  if (run.state === 'queued') {
    const message = `the service was busy with other agentic checks for ${sessionWaitMs / 60_000} minutes`;
    return unperformed(run, { status: 'missed', code: 'NOT_CLAIMED', message, now });
  }
  const message = `the service stopped ${maxTries} times during this run`;
  return unperformed(run, { status: 'errored', code: 'LEASE_EXPIRED', message, now });
}

/** Cancels runs by the ids that sessions know. Waiting runs finish at once, active runs within seconds. */
export async function cancelRuns(deps: Deps, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { db, now, partitions } = deps;
  await partitions.withDays(() =>
    db.tx(async (tx) => {
      const waiting = await cancelAgenticRuns(tx, ids);
      if (waiting.length === 0) return;
      const at = now();
      const message = 'cancelled while waiting';
      const ends = waiting.map((run) =>
        unperformed(run, { status: 'cancelled', code: 'CANCELLED', message, now: at }),
      );
      await endRuns(tx, { token: null, partitions, now: at }, ends);
    }),
  );
}
