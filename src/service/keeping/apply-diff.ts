import { firstOwed, nextDue, type Schedule } from '../../protocol/schedule.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { maxCompared } from '../scheduling/gaps.ts';
import { factsOf, type CheckFacts } from './check-facts.ts';
import type { Diff } from './diff.ts';
import { formerHoldings, type FormerHolding } from './former-holdings.ts';
import { formerScheduleOf, keepFormerSchedules } from './former-schedules.ts';
import { handedOutSchedule, isEdited, isRescheduled } from './handed-out-schedule.ts';
import {
  dropChecks,
  keepChecks,
  leaveChanges,
  takeFromScheduler,
  type Holding,
  type KeepingAgent,
} from './statements.ts';
import { giveBack, hasRead, owedBy } from './take-back.ts';

/** Writes the differences. Returns the agents that have something to read. */
export async function applyDiff(
  tx: Db,
  options: {
    accountId: string;
    rev: number;
    epoch: number;
    diff: Diff;
    agents: readonly KeepingAgent[];
    at: number;
    partitions: Partitions;
  },
): Promise<string[]> {
  const { accountId, rev, epoch, diff, agents, at, partitions } = options;
  const now = new Date(at);
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  // A lease that has run out may be renewed once the service is reachable again. Until then nobody knows what its agent runs.
  const isAlive = ({ agentId }: Holding) =>
    diff.members.has(agentId) && (byId.get(agentId)?.keepsUntil.getTime() ?? 0) > at;
  const facts = await factsOf(tx, [
    ...diff.given.map(({ checkId }) => checkId),
    ...diff.dropped.map(({ checkId }) => checkId),
    ...diff.same.map(({ checkId }) => checkId),
  ]);
  const owedOf = (holding: Holding, check: CheckFacts) => {
    const agent = byId.get(holding.agentId);
    if (!isAlive(holding)) return owedBy(holding, agent, check);
    if (hasRead(holding, agent)) return null;
    // It was given the check, has not read that, and runs nothing of it. If it is the form that is new, it runs the check and brings
    // the results. More moments than are compared at once are left to it.
    const owed = holding.owedFrom.getTime();
    return at - owed < maxCompared * check.intervalSeconds * 1000 ? owed : null;
  };

  // An agent that is not known to be alive still runs the old form, as far as it runs anything. If it comes back, it learns of
  // the change then; if not, what it owes until then is passed on with the check.
  const same = diff.same.filter(isAlive);
  const later = diff.same.filter((holding) => !isAlive(holding));
  await leaveChanges(tx, { accountId, checkIds: later.map(({ checkId }) => checkId) });
  await dropChecks(tx, {
    rev,
    now,
    checkIds: [...diff.dropped, ...diff.given.flatMap(({ from }) => from ?? [])].map(
      ({ checkId }) => checkId,
    ),
  });
  const returned = await formerHoldings(
    tx,
    diff.given.map(({ checkId, agentId }) => ({ checkId, agentId })),
  );
  const moments = await takeFromScheduler(
    tx,
    [...diff.given, ...same].map(({ checkId }) => checkId),
  );
  const momentOf = (checkId: string) => moments.get(checkId) ?? facts.get(checkId)?.nextDueAt ?? null;
  const formerOf = (holding: Holding) => {
    const check = facts.get(holding.checkId);
    const moment = momentOf(holding.checkId);
    if (check === undefined || !isEdited(holding, moment)) return [];
    return [formerScheduleOf(holding, byId.get(holding.agentId), { check, moment, at })];
  };
  await keepFormerSchedules(tx, {
    accountId,
    rows: [
      ...[...same, ...diff.given.flatMap(({ from }) => from ?? []), ...diff.dropped].flatMap(formerOf),
      ...[...returned.values()].flatMap((former) => {
        const { checkId, agentId, locationId } = former;
        const check = facts.get(checkId);
        if (check === undefined || !isRescheduled(former, check)) return [];
        const schedule = handedOutSchedule(former, check);
        const owedFrom = stillOwed(former, byId.get(agentId), schedule);
        return [{ ...schedule, checkId, agentId, locationId, owedFrom, owedTo: former.droppedAt.getTime() }];
      }),
    ],
  });
  await keepChecks(tx, {
    accountId,
    rev,
    epoch,
    rows: [
      ...diff.given.flatMap(({ checkId, agentId, locationId, from }) => {
        const check = facts.get(checkId);
        if (check === undefined) return [];
        const owed = from === null || isEdited(from, momentOf(checkId)) ? null : owedOf(from, check);
        const next = owed ?? moments.get(checkId)?.getTime() ?? nextDue(check, at);
        // It has held the check before, and has not reported all runs of that time. Its row is about to be replaced.
        const former = returned.get(checkId);
        const isSame = former !== undefined && !isRescheduled(former, check);
        const owedFrom = isSame ? Math.min(next, stillOwed(former, byId.get(agentId), check)) : next;
        const { intervalSeconds, offsetSeconds } = check;
        const schedule = { intervalSeconds, offsetSeconds };
        return [{ ...schedule, checkId, agentId, locationId, owedFrom: new Date(owedFrom) }];
      }),
      // An edited check that stays where it is. If its schedule was edited, a moment was set, which the holder must know.
      ...same.map((holding) => {
        const { checkId, agentId, locationId, owedFrom } = holding;
        const check = facts.get(checkId);
        const { intervalSeconds, offsetSeconds } = check ?? holding;
        const owed = check === undefined ? owedFrom : new Date(owedBy(holding, byId.get(agentId), check));
        const schedule = { intervalSeconds, offsetSeconds };
        return { ...schedule, checkId, agentId, locationId, owedFrom: moments.get(checkId) ?? owed };
      }),
    ],
  });
  await giveBack(tx, {
    accountId,
    now: at,
    partitions,
    checks: diff.dropped.flatMap((holding) => {
      const check = facts.get(holding.checkId);
      if (check === undefined) return [];
      const { locationId, agentId } = holding;
      const slug = byId.get(agentId)?.slug ?? '';
      // The scheduler has its moment already.
      const owed = isEdited(holding, check.nextDueAt) ? null : owedOf(holding, check);
      return [{ check, locationId, slug, owed }];
    }),
  });
  return [
    ...new Set([
      ...diff.given.flatMap(({ agentId, from }) => (from === null ? [agentId] : [agentId, from.agentId])),
      ...same.map(({ agentId }) => agentId),
      ...diff.dropped.map(({ agentId }) => agentId),
    ]),
  ];
}

/** The first moment that an agent owes of the time when it held the check before; Infinity = it has reported them all. */
function stillOwed(former: FormerHolding, agent: KeepingAgent | undefined, schedule: Schedule): number {
  const reportedTo = agent?.reportedTo ?? null;
  if (reportedTo !== null && former.droppedAt <= reportedTo) return Infinity;
  const first = firstOwed(former.owedFrom.getTime(), reportedTo?.getTime() ?? null, schedule);
  return first <= former.droppedAt.getTime() ? first : Infinity;
}
