import type { Queryable } from './database.ts';
import { toJsonb } from './store-result.ts';

/** Statements on agentic checks: the service runs them itself. */

export type DueAgentic = {
  id: string;
  accountId: string;
  tags: string[];
  intervalSeconds: number;
  offsetSeconds: number;
  nextDueAt: Date;
};

/** Longest due first; locked, without those that another replica has locked. */
export async function lockDueAgentic(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<DueAgentic[]> {
  return tx.query<DueAgentic>(
    `select id, account_id as "accountId", tags, interval_seconds as "intervalSeconds", offset_seconds as "offsetSeconds",
       next_due_at as "nextDueAt"
     from checks where activated and next_due_at <= $1 and check_type = 'AGENTIC'
     order by next_due_at limit $2 for no key update skip locked`,
    [now, limit],
  );
}

/** One step of a script, as a tool is called. */
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

/** Notes that a run is done; false when it is already, or the check is gone. Null for the script: the one before stays. */
export async function endAgenticRun(
  tx: Queryable,
  options: { checkId: string; runId: string; promptHash: string; actions: readonly AgenticAction[] | null },
): Promise<boolean> {
  const rows = await tx.query(
    `insert into agentic_states as s (check_id, prompt_hash, actions, last_run_id)
     select id, case when $4::jsonb is not null then $3 end, $4::jsonb, $2 from checks where id = $1
     on conflict (check_id) do update set last_run_id = excluded.last_run_id,
       prompt_hash = coalesce(excluded.prompt_hash, s.prompt_hash), actions = coalesce(excluded.actions, s.actions)
     where s.last_run_id is distinct from excluded.last_run_id
     returning check_id`,
    [
      options.checkId,
      options.runId,
      options.promptHash,
      options.actions === null ? null : toJsonb(options.actions),
    ],
  );
  return rows.length > 0;
}
