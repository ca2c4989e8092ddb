import { planRuns } from '../../protocol/plan-runs.ts';
import { firstOwed, lastDue, nextDue, scheduledJobId, type Schedule } from '../../protocol/schedule.ts';
import type { Db, Queryable } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { jobsChannel } from '../scheduling/jobs.ts';
import { factsOf, type CheckFacts } from './check-facts.ts';
import { evenly, recordGaps, runsMade, type Stretch } from '../scheduling/gaps.ts';
import { handedOutSchedule, isRescheduled, type HandedOut } from './handed-out-schedule.ts';
import { queueLastRuns } from './last-runs.ts';
import { giveToScheduler, type Holding, type KeepingAgent } from './statements.ts';

/** What remains of checks whose agent has left, or that no agent may hold any more. */

/** Whether the agent knows that it holds the check, in its present form. */
export const hasRead = (
  { cursor }: Pick<Holding, 'cursor'>,
  agent: Pick<KeepingAgent, 'cursor'> | undefined,
): boolean => (agent?.cursor ?? '') >= cursor;

/** The first moment of this schedule that an agent which has left still owed. It had reported the earlier ones. */
export function owedBy(
  holding: Pick<Holding, 'owedFrom' | 'cursor'>,
  agent: Pick<KeepingAgent, 'reportedTo' | 'cursor'> | undefined,
  schedule: Schedule,
): number {
  const owed = holding.owedFrom.getTime();
  const reportedTo = agent?.reportedTo?.getTime() ?? null;
  // What it reported before it knew of the check says nothing about the check.
  return hasRead(holding, agent) ? firstOwed(owed, reportedTo, schedule) : owed;
}

/**
 * Gives checks back to the scheduler. `owed`: the first moment that nobody has run; null = an agent that is alive runs
 * the moments until now. Moments that the scheduler would not run any more are recorded as missed.
 */
export async function giveBack(
  tx: Db,
  options: {
    accountId: string;
    checks: readonly { check: CheckFacts; locationId: string; slug: string; owed: number | null }[];
    now: number;
    partitions: Partitions;
  },
): Promise<void> {
  const { accountId, now, partitions } = options;
  const due: { id: string; nextDueAt: Date }[] = [];
  const stretches: Stretch[] = [];
  const runs: { checkId: string; locationId: string; at: number; nextDueAt: number }[] = [];
  for (const { check, locationId, slug, owed } of options.checks) {
    if (owed === null || owed > now) {
      due.push({ id: check.id, nextDueAt: new Date(owed ?? nextDue(check, now)) });
      continue;
    }
    const alone = { rotation: 0, runParallel: true, locationCount: 1 };
    const plan = planRuns({ ...check, ...alone, nextDueAt: owed }, now);
    const { nextDueAt } = plan;
    if (plan.run === null) due.push({ id: check.id, nextDueAt: new Date(nextDueAt) });
    else runs.push({ checkId: check.id, locationId, at: plan.run.dueAt, nextDueAt });
    if (plan.missed !== null && check.isActive) {
      const stretch = { ...stretchOf(accountId, check, { locationId, slug }), ...plan.missed };
      stretches.push(...evenly(stretch, check));
    }
  }
  // An agent that has died may have made its last run, and not have said yet that everything up to it is reported.
  const made = await runsMade(tx, runs);
  for (const { checkId, locationId, at, nextDueAt } of runs) {
    const isMade = made.has(scheduledJobId(checkId, locationId, at));
    due.push({ id: checkId, nextDueAt: new Date(isMade ? nextDueAt : at) });
  }
  await recordGaps(tx, { stretches, now, partitions });
  await giveToScheduler(tx, due);
}

/** The checks that were taken from agents while they lived, and whose moments they may not have reported; see `takenFrom`. */
const takenBefore = `kept_checks k
  join unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as a (id, reported_to, keeps_until)
    -- What one lost when its lease was over has been passed on with what it owed.
    on k.agent_id = a.id and k.dropped_at > a.reported_to and k.dropped_at < a.keeps_until and not k.is_refused`;
const takenFrom = (agents: readonly KeepingAgent[]) => [
  agents.map(({ id }) => id),
  agents.map(({ reportedTo }) => reportedTo),
  agents.map(({ keepsUntil }) => keepsUntil),
];

/**
 * What agents that have left still owed is compared with results, and a process that continues one delivers its results at the same
 * time. From now on they wait for the end of this transaction; it has waited for those that were being stored. As in transactions with
 * results, call it before checks or jobs are locked.
 */
export async function lockOwedBefore(tx: Queryable, agents: readonly KeepingAgent[]): Promise<void> {
  if (agents.length === 0) return;
  await tx.query(
    `select 1 from ${takenBefore} order by k.check_id, k.agent_id for no key update of k`,
    takenFrom(agents),
  );
}

/**
 * What an agent that has left still owed of checks that had been taken from it while it lived: the moments from its last
 * report to the time when it lost them. The last run is made late, by another agent, and earlier ones are recorded as missed.
 */
export async function recordOwedBefore(
  tx: Db,
  options: { accountId: string; agent: KeepingAgent; now: number; partitions: Partitions },
): Promise<void> {
  const { accountId, agent, now, partitions } = options;
  if (agent.reportedTo === null) return;
  const rows = await tx.query<HandedOut & { checkId: string; owedFrom: Date; droppedAt: Date }>(
    `select k.check_id as "checkId", k.owed_from as "owedFrom", k.dropped_at as "droppedAt",
       k.interval_seconds as "intervalSeconds", k.offset_seconds as "offsetSeconds"
     from ${takenBefore} order by k.check_id`,
    takenFrom([agent]),
  );
  if (rows.length === 0) return;
  const facts = await factsOf(
    tx,
    rows.map(({ checkId }) => checkId),
  );
  const owed = rows.flatMap(({ checkId, owedFrom, droppedAt, ...handedOut }) => {
    const present = facts.get(checkId);
    if (present?.isActive !== true) return [];
    const check = { ...present, ...handedOutSchedule(handedOut, present) };
    const from = firstOwed(owedFrom.getTime(), agent.reportedTo?.getTime() ?? null, check);
    const to = lastDue(check, droppedAt.getTime());
    return from <= to ? [{ check, from, to, isFormer: isRescheduled(handedOut, present) }] : [];
  });
  // The check is not run by its former schedule any more.
  const current = owed.filter(({ isFormer }) => !isFormer);
  const late = await queueLastRuns(tx, { accountId, owed: current, location: agent, now });
  const stretches = owed.flatMap(({ check, from, to }) => {
    const last = late.has(check.id) ? lastDue(check, to - 1) : to;
    return evenly({ ...stretchOf(accountId, check, agent), from, to: last }, check);
  });
  await recordGaps(tx, { stretches, now, partitions });
}

/** What the records of a check's missed runs at a location say besides the moments. */
export function stretchOf(
  accountId: string,
  check: CheckFacts,
  { locationId, slug }: { locationId: string; slug: string },
): Omit<Stretch, 'from' | 'to'> {
  return {
    accountId,
    checkId: check.id,
    checkType: check.checkType,
    locationId,
    runLocation: slug,
    stepMs: check.intervalSeconds * 1000,
    code: 'NO_AGENT',
  };
}

/** Runs between two attempts whose agent has left: another agent makes the next attempt, from the queue. */
export async function requeueKeptJobs(
  tx: Db,
  { agentIds, now }: { agentIds: readonly string[]; now: Date },
): Promise<void> {
  if (agentIds.length > 0) await requeue(tx, 'agent_id = any($2::uuid[])', [now, [...agentIds]]);
}

/** The deadline of a run, with all its attempts, is earlier. */
const longestRunMs = 30 * 60_000;
const forgottenAtOnce = 500;

/**
 * The same for runs whose first attempt was reported long ago, and which nobody continues: a process delivered what a dead one had
 * left. `since`: from when on the service has been there without interruption. Before, agents could not report how such runs ended.
 */
export async function requeueForgottenJobs(
  db: Db,
  { now, since }: { now: number; since: number },
): Promise<void> {
  if (now - since < longestRunMs) return;
  const oldest = `id in (select id from jobs where state = 'kept' and not_before < $2 order by not_before limit ${forgottenAtOnce})`;
  await requeue(db, oldest, [new Date(now), new Date(now - longestRunMs)]);
}

/** `$1`: now. */
async function requeue(db: Db, which: string, values: readonly [now: Date, other: unknown]): Promise<void> {
  const rows = await db.query<{ locationId: string }>(
    `update jobs set state = 'queued', past_tokens = past_tokens || lease_token, lease_token = null, agent_id = null,
       not_before = $1, expires_at = $1::timestamptz + make_interval(secs => claim_window_seconds)
     where id in (select id from jobs where state = 'kept' and ${which} order by id for update)
     returning location_id as "locationId"`,
    [...values],
  );
  for (const id of new Set(rows.map(({ locationId }) => locationId))) await db.notify(jobsChannel, id);
}
