import type { Queryable } from '../db/database.ts';

/** Statements on triggers: URLs that run a check or a group. */

/** A trigger of either a check or a group; the other id is null. */
export type TriggerOf = { checkId: string; groupId: null } | { checkId: null; groupId: number };

export type TriggerRow = {
  id: number;
  accountId: string;
  checkId: string | null;
  groupId: number | null;
  /** Encrypted. */
  token: string;
  tokenHash: Buffer;
  createdAt: Date;
  calledAt: Date | null;
  updatedAt: Date | null;
};

const columns = `id, account_id as "accountId", check_id as "checkId", group_id::float8 as "groupId", token,
  token_hash as "tokenHash", created_at as "createdAt", called_at as "calledAt", updated_at as "updatedAt"`;

/** Inserts a trigger; false when there is one already. */
export async function insertTrigger(
  tx: Queryable,
  trigger: TriggerOf & { accountId: string; token: string; tokenHash: Buffer; now: Date },
): Promise<boolean> {
  const rows = await tx.query(
    `insert into triggers (account_id, check_id, group_id, token, token_hash, created_at)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning id`,
    [trigger.accountId, trigger.checkId, trigger.groupId, trigger.token, trigger.tokenHash, trigger.now],
  );
  return rows.length > 0;
}

const isOf = '(check_id = $1 or group_id = $2)';

/** `accountId` null = any account; the caller then compares the token. */
export async function findTrigger(
  db: Queryable,
  { checkId, groupId, accountId }: TriggerOf & { accountId: string | null },
): Promise<TriggerRow | undefined> {
  const rows = await db.query<TriggerRow>(
    `select ${columns} from triggers where ${isOf} and ($3::uuid is null or account_id = $3)`,
    [checkId, groupId, accountId],
  );
  return rows[0];
}

/** A page of the account's triggers of checks or of groups, oldest first. `of`: only that of this check or group. */
export async function listTriggers(
  db: Queryable,
  options: {
    accountId: string;
    kind: 'checks' | 'check-groups';
    of: TriggerOf | null;
    limit: number;
    offset: number;
  },
): Promise<TriggerRow[]> {
  const { accountId, kind, of, limit, offset } = options;
  return db.query<TriggerRow>(
    `select ${columns} from triggers
     where account_id = $1 and ${kind === 'checks' ? 'check_id' : 'group_id'} is not null
       and ($2::uuid is null or check_id = $2) and ($3::bigint is null or group_id = $3)
     order by id limit $4 offset $5`,
    [accountId, of?.checkId ?? null, of?.groupId ?? null, limit, offset],
  );
}

/** What the account's triggers run, oldest first. */
export async function listedTriggers(db: Queryable, accountId: string): Promise<TriggerOf[]> {
  return db.query<TriggerOf>(
    `select check_id as "checkId", group_id::float8 as "groupId" from triggers where account_id = $1 order by id`,
    [accountId],
  );
}

/** Returns true when there was a trigger. */
export async function deleteTrigger(
  db: Queryable,
  { checkId, groupId, accountId }: TriggerOf & { accountId: string },
): Promise<boolean> {
  const rows = await db.query(`delete from triggers where ${isOf} and account_id = $3 returning id`, [
    checkId,
    groupId,
    accountId,
  ]);
  return rows.length > 0;
}

/**
 * Counts a call and returns the number of calls in the current minute, which begins with a call. Refused calls are not
 * stored.
 */
export async function countCall(
  db: Queryable,
  { id, now, max }: { id: number; now: Date; max: number },
): Promise<number> {
  const rows = await db.query<{ calls: number }>(
    `update triggers t set minute_from = case when counted.is_new then $2 else t.minute_from end,
       minute_calls = counted.calls,
       called_at = case when counted.calls <= $3 then $2 else t.called_at end,
       updated_at = case when counted.calls <= $3 then $2 else t.updated_at end
     from (
       select locked.id, locked.is_new, case when locked.is_new then 1 else locked.minute_calls + 1 end as calls
       from (
         select id, minute_calls,
           (minute_from is null or minute_from <= $2::timestamptz - interval '1 minute' or minute_from > $2) as is_new
         from triggers where id = $1 for update
       ) as locked
     ) as counted
     where t.id = counted.id returning t.minute_calls as calls`,
    [id, now, max],
  );
  return rows[0]?.calls ?? 0;
}
