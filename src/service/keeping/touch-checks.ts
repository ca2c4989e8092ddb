import type { Db, Queryable } from '../db/database.ts';
import { sharingMinor } from './shared-variables.ts';
import type { Changes } from './statements.ts';
import { certificateTypes } from './types.ts';

/** Agents are told to read checks again, or read all of theirs again. What they have reported meanwhile, they do not owe. */

/**
 * What the agent `a` owes of the held check `k`. If it has read the check, this is the first moment after those that it
 * has reported; see `firstOwed` and `nextDue` for the arithmetic.
 */
const owed = `case when a.reported_to is null or a.kept_cursor is null or a.reported_to < k.owed_from
    or (lpad(k.rev::text, 16, '0') || '/' || k.check_id::text) collate "C" > a.kept_cursor collate "C" then k.owed_from
  else greatest(k.owed_from, (
    select to_timestamp((floor((reported - phase) / period) * period + phase + period)::float8 / 1000)
    -- By the schedule that was handed out, if the present one was not yet.
    from (select round(extract(epoch from a.reported_to)::numeric * 1000) as reported,
        round(coalesce(k.offset_seconds, c.offset_seconds)::numeric * 1000) as phase,
        coalesce(k.interval_seconds, c.interval_seconds)::numeric * 1000 as period
      from checks c where c.id = k.check_id) as moments)) end`;

/** Whether `k.agent_id` names an agent that gets the variables of the account within its checks. */
const hasVariablesInChecks = `k.agent_id in (select id from agents
  where keeps_minor < ${sharingMinor} or shares_until is distinct from keeps_until)`;

/**
 * Tells the holders of the checks that these changes concern to read them again. Until they have, the service cannot know
 * from their positions that they know the checks, so what they have reported is noted now.
 */
export async function touchChecks(
  tx: Queryable,
  {
    accountId,
    rev,
    changes: { everything, variables, certificates, locations },
  }: { accountId: string; rev: number; changes: Changes },
): Promise<void> {
  if (!everything && !variables && !certificates && locations.length === 0) return;
  await tx.query(
    `update kept_checks k set rev = $2, owed_from = coalesce((select ${owed} from agents a where a.id = k.agent_id), k.owed_from)
     where k.account_id = $1 and k.dropped_at is null
       and ($3 or k.location_id = any($4::uuid[]) or ($5 and ${hasVariablesInChecks})
         or ($6 and k.check_id in (select id from checks where account_id = $1 and check_type in ${certificateTypes})))`,
    [accountId, rev, everything, locations, variables, certificates],
  );
}

/** Call it before an agent that had a position asks for all of its checks: the position is about to be forgotten. */
export async function noteReported(db: Db, agentId: string): Promise<void> {
  const which = `a.id = k.agent_id and a.id = $1 and a.kept_cursor is not null and k.dropped_at is null
    and k.owed_from <= a.reported_to`;
  await db.tx(async (tx) => {
    // In the order in which transactions with results lock them.
    const rows = await tx.query(
      `select 1 from kept_checks k join agents a on ${which} order by k.check_id for no key update of k`,
      [agentId],
    );
    if (rows.length === 0) return;
    await tx.query(
      `update kept_checks k set owed_from = coalesce(${owed}, k.owed_from) from agents a where ${which}`,
      [agentId],
    );
  });
}
