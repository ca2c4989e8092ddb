import type { Queryable } from '../db/database.ts';
import type { HandedOut } from './handed-out-schedule.ts';

/** Rows of checks that were taken from their holders. */

export type FormerHolding = HandedOut & {
  checkId: string;
  agentId: string;
  locationId: string;
  owedFrom: Date;
  droppedAt: Date;
};

/** When these agents held these checks before, by check. */
export async function formerHoldings(
  tx: Queryable,
  pairs: readonly { checkId: string; agentId: string }[],
): Promise<Map<string, FormerHolding>> {
  if (pairs.length === 0) return new Map();
  const rows = await tx.query<FormerHolding>(
    `select k.check_id as "checkId", k.owed_from as "owedFrom", k.dropped_at as "droppedAt",
       k.agent_id as "agentId", k.location_id as "locationId",
       k.interval_seconds as "intervalSeconds", k.offset_seconds as "offsetSeconds"
     from kept_checks k join unnest($1::uuid[], $2::uuid[]) as pair (check_id, agent_id)
       on pair.check_id = k.check_id and pair.agent_id = k.agent_id
     -- What it owed of a check that was refused has been given back.
     where k.dropped_at is not null and not k.is_refused`,
    [pairs.map(({ checkId }) => checkId), pairs.map(({ agentId }) => agentId)],
  );
  return new Map(rows.map((row) => [row.checkId, row]));
}

/** Deletes rows of checks that were taken from their holders before `before`: no result of theirs is expected any more. */
export async function deleteDropped(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from kept_checks where dropped_at < $1 and not is_refused', [before]);
}
