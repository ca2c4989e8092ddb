import type { Queryable } from '../db/database.ts';

export type FormerHolding = { checkId: string; owedFrom: Date; droppedAt: Date };

/** When these agents held these checks before, by check. */
export async function formerHoldings(
  tx: Queryable,
  pairs: readonly { checkId: string; agentId: string }[],
): Promise<Map<string, FormerHolding>> {
  if (pairs.length === 0) return new Map();
  const rows = await tx.query<FormerHolding>(
    `select k.check_id as "checkId", k.owed_from as "owedFrom", k.dropped_at as "droppedAt"
     from kept_checks k join unnest($1::uuid[], $2::uuid[]) as pair (check_id, agent_id)
       on pair.check_id = k.check_id and pair.agent_id = k.agent_id
     where k.dropped_at is not null`,
    [pairs.map(({ checkId }) => checkId), pairs.map(({ agentId }) => agentId)],
  );
  return new Map(rows.map((row) => [row.checkId, row]));
}
