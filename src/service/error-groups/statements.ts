import { countRows } from '../db/count-rows.ts';
import { timeOfUuidv7 } from '../engine/ids.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on error groups. */

export type ErrorGroupRow = {
  id: string;
  accountId: string;
  checkId: string;
  errorHash: string;
  rawErrorMessage: string | null;
  cleanedErrorMessage: string;
  firstSeen: Date;
  lastSeen: Date;
  lastResultId: string;
  archivedUntilNextEvent: boolean;
  archiveForEver: boolean;
};

const columns = `id, account_id as "accountId", check_id as "checkId", error_hash as "errorHash",
  raw_error_message as "rawErrorMessage", cleaned_error_message as "cleanedErrorMessage", first_seen as "firstSeen",
  last_seen as "lastSeen", last_result_id as "lastResultId", archived_until_next_event as "archivedUntilNextEvent",
  archive_for_ever as "archiveForEver"`;

/** The input for an error message: `body` is read only if the reason has no message. */
export type FailedResult = { id: string; reason: unknown; body: unknown };

/** Omits results that no longer exist. */
export async function findFailedResults(
  tx: Queryable,
  { accountIds, ids }: { accountIds: readonly string[]; ids: readonly string[] },
): Promise<FailedResult[]> {
  if (ids.length === 0) return [];
  return tx.query<FailedResult>(
    `select r.id, r.reason,
       case when coalesce(r.reason->>'message', '') = '' then r.body - 'log' - 'artifacts' - 'timings' end as body
     from unnest($1::uuid[], $2::timestamptz[]) as item (id, at)
     join check_results r on r.id = item.id and r.account_id = any($3::uuid[])
       and r.started_at >= item.at and r.started_at < item.at + interval '1 millisecond'`,
    [[...ids], ids.map((id) => new Date(timeOfUuidv7(id) ?? 0)), [...accountIds]],
  );
}

/** Errors of one kind that were seen; `at` is the time of the latest. */
export type SeenError = {
  /** Id for a new group. */
  id: string;
  accountId: string;
  checkId: string;
  hash: string;
  raw: string | null;
  cleaned: string;
  first: Date;
  last: Date;
  lastResultId: string;
};

/** Inserts new groups and updates existing ones. A new error un-archives its group unless it is archived forever. */
export async function upsertErrorGroups(
  tx: Queryable,
  seen: readonly SeenError[],
): Promise<{ id: string; accountId: string; checkId: string; isNew: boolean }[]> {
  // All transactions use the same order, to avoid deadlocks.
  const ordered = [...seen].sort((a, b) => (a.checkId + a.hash < b.checkId + b.hash ? -1 : 1));
  return tx.query(
    // The join omits checks that have been deleted in the meantime.
    `insert into error_groups as g (id, account_id, check_id, error_hash, raw_error_message, cleaned_error_message,
       first_seen, last_seen, last_result_id)
     select item.id, c.account_id, c.id, item.hash, item.raw, item.cleaned, item.first, item.last, item.result
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::uuid[])
       as item (id, check_id, hash, raw, cleaned, first, last, result)
     join checks c on c.id = item.check_id
     on conflict (check_id, error_hash) do update set
       first_seen = least(g.first_seen, excluded.first_seen),
       last_seen = greatest(g.last_seen, excluded.last_seen),
       raw_error_message = case when excluded.last_seen >= g.last_seen then excluded.raw_error_message else g.raw_error_message end,
       last_result_id = case when excluded.last_seen >= g.last_seen then excluded.last_result_id else g.last_result_id end,
       archived_until_next_event = g.archived_until_next_event and excluded.last_seen <= g.archived_at
     returning id, account_id as "accountId", check_id as "checkId", (xmax = 0) as "isNew"`,
    [
      ordered.map(({ id }) => id),
      ordered.map(({ checkId }) => checkId),
      ordered.map(({ hash }) => hash),
      ordered.map(({ raw }) => raw),
      ordered.map(({ cleaned }) => cleaned),
      ordered.map(({ first }) => first),
      ordered.map(({ last }) => last),
      ordered.map(({ lastResultId }) => lastResultId),
    ],
  );
}

/** Keeps the `max` most recently seen groups of each check. */
export async function trimErrorGroups(
  tx: Queryable,
  { checkIds, max }: { checkIds: readonly string[]; max: number },
): Promise<void> {
  await tx.query(
    `delete from error_groups where id in (
       select old.id from unnest($1::uuid[]) as item (id)
       cross join lateral (
         select g.id from error_groups g where g.check_id = item.id order by last_seen desc, id desc offset $2) as old)`,
    [[...checkIds], max],
  );
}

type Named = { accountId: string; id: string };

export async function findErrorGroup(
  db: Queryable,
  { accountId, id }: Named,
): Promise<ErrorGroupRow | undefined> {
  const rows = await db.query<ErrorGroupRow>(
    `select ${columns} from error_groups where account_id = $1 and id = $2`,
    [accountId, id],
  );
  return rows[0];
}

/** Returns how many error groups a check has. */
export async function countErrorGroups(
  db: Queryable,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<number> {
  return countRows(db, 'from error_groups where account_id = $1 and check_id = $2', [accountId, checkId]);
}

/** Reads a page of a check's groups, most recently seen first. */
export async function listErrorGroups(
  db: Queryable,
  options: { accountId: string; checkId: string; limit: number; offset: number },
): Promise<ErrorGroupRow[]> {
  return db.query<ErrorGroupRow>(
    `select ${columns} from error_groups where account_id = $1 and check_id = $2
     order by last_seen desc, id desc limit $3 offset $4`,
    [options.accountId, options.checkId, options.limit, options.offset],
  );
}

/** Null = unchanged. */
export async function archiveErrorGroup(
  db: Queryable,
  options: Named & { archivedUntilNextEvent: boolean | null; archiveForEver: boolean | null; now: Date },
): Promise<ErrorGroupRow | undefined> {
  const rows = await db.query<ErrorGroupRow>(
    `update error_groups set archived_until_next_event = coalesce($3, archived_until_next_event),
       archive_for_ever = coalesce($4, archive_for_ever), archived_at = $5
     where account_id = $1 and id = $2 returning ${columns}`,
    [options.accountId, options.id, options.archivedUntilNextEvent, options.archiveForEver, options.now],
  );
  return rows[0];
}

/** Reads the groups of checks for these hashes. */
export async function findGroupsByHash(
  db: Queryable,
  { accountId, errors }: { accountId: string; errors: readonly { checkId: string; hash: string }[] },
): Promise<{ id: string; checkId: string; errorHash: string }[]> {
  if (errors.length === 0) return [];
  return db.query(
    `select g.id, g.check_id as "checkId", g.error_hash as "errorHash"
     from (select distinct * from unnest($2::uuid[], $3::text[]) as item (check_id, hash)) as item
     join error_groups g on g.check_id = item.check_id and g.error_hash = item.hash and g.account_id = $1`,
    [accountId, errors.map(({ checkId }) => checkId), errors.map(({ hash }) => hash)],
  );
}

/** Returns how many were deleted. */
export async function deleteOldErrorGroups(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `delete from error_groups where id in (
       select id from error_groups where last_seen < $1 order by last_seen limit $2 for update skip locked) returning id`,
    [before, limit],
  );
  return rows.length;
}
