import { sqlTypesWhere } from '../types/table.ts';
import { countRows } from '../../db/count-rows.ts';
import { subscriptionsColumn, type OwnSubscription } from '../../alert-channels/subscription-statements.ts';
import type { Queryable } from '../../db/database.ts';
import { slugsOfCheck } from './effective-checks.ts';
import { listedCode, listedDefinition, partialCode, partialDefinition } from '../../db/listed-definition.ts';

/** Statements on checks for the public API. */

/** A row of `checks`. `definition` holds what has no column, secret values encrypted in place. */
export type CheckRow = {
  id: string;
  checkType: string;
  name: string;
  activated: boolean;
  muted: boolean;
  tags: string[];
  groupId: number | null;
  locations: string[];
  privateLocations: string[];
  runParallel: boolean;
  frequency: number;
  frequencyOffset: number | null;
  definition: Record<string, unknown>;
  /** Script and dependencies of a browser or multi-step check; null for others, and in lists if large. */
  code: Record<string, unknown> | null;
  /** In lists: part of definition or code was omitted. */
  isPartial?: boolean;
  /** Token of a heartbeat's ping URL. */
  pingToken: string | null;
  /** Stored in a separate table. */
  subscriptions: OwnSubscription[];
  createdAt: Date;
  updatedAt: Date | null;
};

/** The values that a create or a change writes. */
export type CheckWrite = Omit<CheckRow, 'createdAt' | 'updatedAt' | 'pingToken' | 'subscriptions'> & {
  accountId: string;
  intervalSeconds: number;
  offsetSeconds: number;
  /** Null = the check is never due. */
  nextDueAt: Date | null;
  now: Date;
};

// group_id is a bigint, which the drivers would return as text.
const columns = `id, check_type as "checkType", name, activated, muted, tags, group_id::float8 as "groupId", locations,
  private_locations as "privateLocations", run_parallel as "runParallel", frequency,
  frequency_offset as "frequencyOffset", definition, code,
  case when check_type in ${sqlTypesWhere(({ runBy }) => runBy === 'nobody')} then (select ping_token from heartbeats h where h.check_id = checks.id) end as "pingToken",
  ${subscriptionsColumn('checks')},
  created_at as "createdAt", updated_at as "updatedAt"`;

const listedColumns = columns.replace(
  ' definition, code,',
  ` ${listedDefinition}, ${listedCode}, (${partialDefinition} or ${partialCode}) as "isPartial",`,
);

const values = (check: CheckWrite) => [
  check.id,
  check.accountId,
  check.name,
  check.activated,
  check.muted,
  check.tags,
  check.groupId,
  check.locations,
  check.privateLocations,
  check.runParallel,
  check.frequency,
  check.frequencyOffset,
  check.intervalSeconds,
  check.offsetSeconds,
  check.nextDueAt,
  JSON.stringify(check.definition),
  check.now,
  check.code === null ? null : JSON.stringify(check.code),
];

export async function insertCheck(db: Queryable, check: CheckWrite): Promise<void> {
  await db.query(
    `insert into checks (id, account_id, name, activated, muted, tags, group_id, locations, private_locations,
       run_parallel, frequency, frequency_offset, interval_seconds, offset_seconds, next_due_at, definition, created_at,
       code, check_type)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16::jsonb, $17, $18::jsonb, $19)`,
    [...values(check), check.checkType],
  );
}

/**
 * The next run moves only if the timing changes or the check is reactivated. Other edits must not delay it, and leave the
 * moments of a held check to its holder, which owes those that it has not run yet.
 */
export async function updateCheck(db: Queryable, check: CheckWrite): Promise<void> {
  await db.query(
    `update checks set name = $3, activated = $4, muted = $5, tags = $6, group_id = $7, locations = $8,
       private_locations = $9, run_parallel = $10, frequency = $11, frequency_offset = $12, interval_seconds = $13,
       offset_seconds = $14, definition = $16::jsonb, updated_at = $17, code = $18::jsonb,
       next_due_at = case
         when interval_seconds <> $13 or offset_seconds <> $14 or (not activated and $4)
           or next_due_at is null
             and not exists (select 1 from kept_checks k where k.check_id = checks.id and k.dropped_at is null)
         then $15 else next_due_at end
     where id = $1 and account_id = $2`,
    values(check),
  );
}

export async function findCheck(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<CheckRow | undefined> {
  const rows = await db.query<CheckRow>(`select ${columns} from checks where id = $1 and account_id = $2`, [
    id,
    accountId,
  ]);
  return rows[0];
}

/** Like findCheck, but locks the check until the transaction ends. */
export async function lockCheck(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<CheckRow | undefined> {
  const rows = await db.query<CheckRow>(
    `select ${columns} from checks where id = $1 and account_id = $2 for update`,
    [id, accountId],
  );
  return rows[0];
}

export type CheckFilter = {
  accountId: string;
  checkType: string | null;
  activated: boolean | null;
  tag: string | null;
  location: string | null;
  search: string | null;
};

const listed = `from checks
     where account_id = $1
       and ($2::text is null or check_type = $2)
       and ($3::boolean is null or activated = $3)
       and ($4::text is null or $4 = any(tags))
       and ($5::text is null or $5 = any(${slugsOfCheck}))
       and ($6::text is null or strpos(lower(name), lower($6)) > 0)`;

const parametersOf = (filter: CheckFilter): unknown[] => [
  filter.accountId,
  filter.checkType,
  filter.activated,
  filter.tag,
  filter.location,
  filter.search,
];

/** Counts the checks that match a filter. */
export async function countChecks(db: Queryable, filter: CheckFilter): Promise<number> {
  return countRows(db, listed, parametersOf(filter));
}

/** A page of checks, oldest first. */
export async function listChecks(
  db: Queryable,
  filter: CheckFilter & { limit: number; offset: number },
): Promise<CheckRow[]> {
  return db.query<CheckRow>(
    `select ${listedColumns} ${listed}
     order by created_at, id limit $7 offset $8`,
    [...parametersOf(filter), filter.limit, filter.offset],
  );
}

/** Counts the checks of a group. */
export async function countChecksOfGroup(
  db: Queryable,
  { accountId, groupId }: { accountId: string; groupId: number },
): Promise<number> {
  return countRows(db, 'from checks where account_id = $1 and group_id = $2', [accountId, groupId]);
}

/** A page of a group's checks, in the group's order. */
export async function listChecksOfGroup(
  db: Queryable,
  {
    accountId,
    groupId,
    limit,
    offset,
  }: { accountId: string; groupId: number; limit: number; offset: number },
): Promise<CheckRow[]> {
  return db.query<CheckRow>(
    `select ${listedColumns} from checks where account_id = $1 and group_id = $2
     order by (definition->>'groupOrder')::float8 nulls last, created_at, id limit $3 offset $4`,
    [accountId, groupId, limit, offset],
  );
}

/** Names of up to `limit` checks of a group. */
export async function namesOfGroupChecks(
  db: Queryable,
  { accountId, groupId, limit }: { accountId: string; groupId: number; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    'select name from checks where account_id = $1 and group_id = $2 order by created_at, id limit $3',
    [accountId, groupId, limit],
  );
  return rows.map(({ name }) => name);
}

/** Returns false if there was no such check. */
export async function deleteCheck(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<boolean> {
  const rows = await db.query('delete from checks where id = $1 and account_id = $2 returning id', [
    id,
    accountId,
  ]);
  return rows.length > 0;
}

/** Names of up to `limit` checks that run at a private location. */
export async function checksAtPrivateLocation(
  db: Queryable,
  { accountId, slugName, limit }: { accountId: string; slugName: string; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select name from checks where account_id = $1 and $2 = any(private_locations)
     order by created_at, id limit $3`,
    [accountId, slugName, limit],
  );
  return rows.map(({ name }) => name);
}

/** Replaces a renamed location's slug in the checks that use it. */
export async function renamePrivateLocationInChecks(
  db: Queryable,
  { accountId, from, to }: { accountId: string; from: string; to: string },
): Promise<void> {
  await db.query(
    `update checks set private_locations = array_replace(private_locations, $2, $3)
     where account_id = $1 and $2 = any(private_locations)`,
    [accountId, from, to],
  );
}
