import type { Queryable } from '../db/database.ts';
import { checksWithGroups, runByService } from '../checks/storage/effective-checks.ts';
import { toJsonb } from '../db/jsonb.ts';

/** Statements on agentic checks: which are due, and the scripts that their runs have found. */

export type DueAgentic = {
  id: string;
  accountId: string;
  /** Tags of the check and its group. */
  tags: string[];
  /** False = its group is deactivated, so this run is skipped. */
  isOn: boolean;
  intervalSeconds: number;
  offsetSeconds: number;
  nextDueAt: Date;
};

/** Locks and reads due checks, longest overdue first; skips those that another replica has locked. */
export async function lockDueAgentic(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<DueAgentic[]> {
  return tx.query<DueAgentic>(
    `select c.id, c.account_id as "accountId", c.tags || coalesce(g.tags, '{}') as tags,
       g.activated is not false as "isOn", c.interval_seconds as "intervalSeconds", c.offset_seconds as "offsetSeconds",
       c.next_due_at as "nextDueAt"
     from ${checksWithGroups} where ${isDue}
     order by c.next_due_at limit $2 for no key update of c skip locked`,
    [now, limit],
  );
}

/** SQL: the check `c` is due at `$1`. */
const isDue = `c.activated and c.next_due_at <= $1 and c.check_type in ${runByService}`;

/** Whether any agentic check is due, also if another replica has locked it. */
export async function isAnyAgenticDue(db: Queryable, now: Date): Promise<boolean> {
  const rows = await db.query(`select 1 from checks c where ${isDue} limit 1`, [now]);
  return rows.length > 0;
}

/** One step of a script, in the form of a tool call. */
export type AgenticAction = { tool: string; input: { [name: string]: string } };

export async function findAgenticScript(
  db: Queryable,
  { checkId, promptHash }: { checkId: string; promptHash: string },
): Promise<AgenticAction[] | null> {
  const rows = await db.query<{ actions: AgenticAction[] | null }>(
    'select actions from agentic_states where check_id = $1 and prompt_hash = $2',
    [checkId, promptHash],
  );
  return rows[0]?.actions ?? null;
}

/** Replaces the check's script. */
export async function saveAgenticScript(
  tx: Queryable,
  script: { checkId: string; promptHash: string; actions: readonly AgenticAction[] },
): Promise<void> {
  await tx.query(
    `insert into agentic_states (check_id, prompt_hash, actions) select id, $2, $3::jsonb from checks where id = $1
     on conflict (check_id) do update set prompt_hash = excluded.prompt_hash, actions = excluded.actions`,
    [script.checkId, script.promptHash, toJsonb(script.actions)],
  );
}
