import { nextDue } from '../../protocol/schedule.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import type { Diff } from './diff.ts';
import { dropChecks, keepChecks, takeFromScheduler, type Holding, type KeepingAgent } from './statements.ts';
import { factsOf, giveBack, owedBy, type CheckFacts } from './take-back.ts';

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
  const isAlive = ({ agentId }: Holding) => diff.members.has(agentId);
  const facts = await factsOf(tx, [
    ...diff.given.map(({ checkId }) => checkId),
    ...diff.dropped.map(({ checkId }) => checkId),
    ...diff.same.map(({ checkId }) => checkId),
  ]);
  const owedOf = (holding: Holding, check: CheckFacts) =>
    isAlive(holding) ? null : owedBy(holding, byId.get(holding.agentId), check);

  await dropChecks(tx, {
    rev,
    now,
    checkIds: [...diff.dropped, ...diff.given.flatMap(({ from }) => from ?? [])].map(
      ({ checkId }) => checkId,
    ),
  });
  const moments = await takeFromScheduler(
    tx,
    [...diff.given, ...diff.same].map(({ checkId }) => checkId),
  );
  await keepChecks(tx, {
    accountId,
    rev,
    epoch,
    rows: [
      ...diff.given.flatMap(({ checkId, agentId, locationId, from }) => {
        const check = facts.get(checkId);
        if (check === undefined) return [];
        const owed = from === null ? null : owedOf(from, check);
        const owedFrom = owed ?? moments.get(checkId)?.getTime() ?? nextDue(check, at);
        return [{ checkId, agentId, locationId, owedFrom: new Date(owedFrom) }];
      }),
      // An edited check that stays where it is. Its edit has set a moment, which the holder must know.
      ...diff.same.map(({ checkId, agentId, locationId, owedFrom }) => ({
        checkId,
        agentId,
        locationId,
        owedFrom: moments.get(checkId) ?? owedFrom,
      })),
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
      return [{ check, locationId, slug, owed: owedOf(holding, check) }];
    }),
  });
  return [
    ...new Set([
      ...diff.given.flatMap(({ agentId, from }) => (from === null ? [agentId] : [agentId, from.agentId])),
      ...diff.same.map(({ agentId }) => agentId),
      ...diff.dropped.map(({ agentId }) => agentId),
    ]),
  ];
}
