import { subscriptionsColumn, type OwnSubscription } from '../../alert-channels/subscription-statements.ts';
import type { Queryable } from '../../db/database.ts';
import { listedDefinition, partialDefinition } from '../../db/listed-definition.ts';

/** Statements on check groups. */

/** A row of `check_groups`. `definition` holds what has no column, secret values encrypted in place. */
export type CheckGroupRow = {
  id: number;
  name: string;
  activated: boolean;
  muted: boolean;
  tags: string[];
  locations: string[];
  privateLocations: string[];
  /** Null = each check's own setting. */
  runParallel: boolean | null;
  runtimeId: string | null;
  definition: Record<string, unknown>;
  /** Stored in a separate table. */
  subscriptions: OwnSubscription[];
  /** In lists: part of the definition was omitted. */
  isPartial?: boolean;
  createdAt: Date;
  updatedAt: Date | null;
};

/** The values that a create or a change writes. */
export type CheckGroupWrite = Omit<CheckGroupRow, 'id' | 'createdAt' | 'updatedAt' | 'subscriptions'> & {
  accountId: string;
  hasScripts: boolean;
  now: Date;
};

const columns = `id, name, activated, muted, tags, locations, private_locations as "privateLocations",
  run_parallel as "runParallel", runtime_id as "runtimeId", definition, created_at as "createdAt",
  updated_at as "updatedAt", ${subscriptionsColumn('check_groups')}`;

const listedColumns = columns.replace(
  ' definition,',
  ` ${listedDefinition}, ${partialDefinition} as "isPartial",`,
);

const values = (group: CheckGroupWrite) => [
  group.accountId,
  group.name,
  group.activated,
  group.muted,
  group.tags,
  group.locations,
  group.privateLocations,
  group.runParallel,
  group.runtimeId,
  group.hasScripts,
  JSON.stringify(group.definition),
  group.now,
];

/** Returns the new id. */
export async function insertCheckGroup(db: Queryable, group: CheckGroupWrite): Promise<number> {
  const rows = await db.query<{ id: number }>(
    `insert into check_groups (account_id, name, activated, muted, tags, locations, private_locations, run_parallel,
       runtime_id, has_scripts, definition, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::jsonb, $12) returning id`,
    values(group),
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the group was not inserted');
  return row.id;
}

export async function updateCheckGroup(db: Queryable, id: number, group: CheckGroupWrite): Promise<void> {
  await db.query(
    `update check_groups set name = $2, activated = $3, muted = $4, tags = $5, locations = $6, private_locations = $7,
       run_parallel = $8, runtime_id = $9, has_scripts = $10, definition = $11::jsonb, updated_at = $12
     where id = $13 and account_id = $1`,
    [...values(group), id],
  );
}

type Named = { accountId: string; id: number };

export async function findCheckGroup(
  db: Queryable,
  { accountId, id }: Named,
): Promise<CheckGroupRow | undefined> {
  const rows = await db.query<CheckGroupRow>(
    `select ${columns} from check_groups where id = $1 and account_id = $2`,
    [id, accountId],
  );
  return rows[0];
}

/**
 * Like findCheckGroup, but locked until the transaction ends: `update` excludes every other use, `share` only
 * deletion.
 */
export async function lockCheckGroup(
  tx: Queryable,
  { accountId, id }: Named,
  strength: 'update' | 'share',
): Promise<CheckGroupRow | undefined> {
  const rows = await tx.query<CheckGroupRow>(
    `select ${columns} from check_groups where id = $1 and account_id = $2 for ${strength}`,
    [id, accountId],
  );
  return rows[0];
}

/** A page of groups, oldest first. */
export async function listCheckGroups(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<CheckGroupRow[]> {
  return db.query<CheckGroupRow>(
    `select ${listedColumns} from check_groups where account_id = $1 order by created_at, id limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

export async function deleteCheckGroup(tx: Queryable, { accountId, id }: Named): Promise<void> {
  await tx.query('delete from check_groups where id = $1 and account_id = $2', [id, accountId]);
}

/** Names of up to `limit` groups that run at a private location. */
export async function groupsAtPrivateLocation(
  db: Queryable,
  { accountId, slugName, limit }: { accountId: string; slugName: string; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select name from check_groups where account_id = $1 and $2 = any(private_locations)
     order by created_at, id limit $3`,
    [accountId, slugName, limit],
  );
  return rows.map(({ name }) => name);
}

/** Replaces a renamed location's slug in the groups that use it. */
export async function renamePrivateLocationInGroups(
  db: Queryable,
  { accountId, from, to }: { accountId: string; from: string; to: string },
): Promise<void> {
  await db.query(
    `update check_groups set private_locations = array_replace(private_locations, $2, $3)
     where account_id = $1 and $2 = any(private_locations)`,
    [accountId, from, to],
  );
}
