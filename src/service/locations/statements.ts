import { countRows } from '../db/count-rows.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on locations and their keys for the public API. */

export type LocationKind = 'private' | 'data-center';

export type LocationRow = {
  id: string;
  name: string;
  slugName: string;
  icon: string;
  /** Encrypted. */
  proxyUrl: Buffer | null;
  /** Null = every network that is not special. */
  allowedNetworks: string[] | null;
  stopsInOutages: boolean;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `id, name, slug_name as "slugName", icon, proxy_url as "proxyUrl",
  allowed_networks as "allowedNetworks", stops_in_outages as "stopsInOutages", created_at as "createdAt",
  updated_at as "updatedAt"`;

/** Returns false if a location of the account has that slug. */
export async function insertPrivateLocation(
  db: Queryable,
  location: Omit<LocationRow, 'createdAt' | 'updatedAt'> & { accountId: string; now: Date },
): Promise<boolean> {
  const rows = await db.query(
    `insert into locations (id, account_id, kind, name, slug_name, icon, proxy_url, created_at, allowed_networks,
       stops_in_outages)
     values ($1, $2, 'private', $3, $4, $5, $6, $7, $8::text[], $9)
     on conflict (account_id, slug_name) do nothing returning id`,
    [
      location.id,
      location.accountId,
      location.name,
      location.slugName,
      location.icon,
      location.proxyUrl,
      location.now,
      location.allowedNetworks,
      location.stopsInOutages,
    ],
  );
  return rows.length > 0;
}

/**
 * Finds rows for data-centre codes, or creates them when a check or a key first uses the code. `ids[i]` belongs to
 * `codes[i]`.
 */
export async function ensureDataCenters(
  db: Queryable,
  { accountId, ids, codes, now }: { accountId: string; ids: string[]; codes: string[]; now: Date },
): Promise<void> {
  await db.query(
    `insert into locations (id, account_id, kind, name, slug_name, created_at)
     select item.id, $1, 'data-center', item.code, item.code, $4
     from unnest($2::uuid[], $3::text[]) as item (id, code)
     on conflict (account_id, slug_name) do nothing`,
    [accountId, ids, codes, now],
  );
}

/** Returns false if another location of the account has that slug. */
export async function updatePrivateLocation(
  db: Queryable,
  location: Omit<LocationRow, 'createdAt' | 'updatedAt'> & { accountId: string; now: Date },
): Promise<boolean> {
  const rows = await db.query(
    `update locations set name = $3, slug_name = $4, icon = $5, proxy_url = $6, updated_at = $7,
       allowed_networks = $8::text[], stops_in_outages = $9
     where id = $1 and account_id = $2 and kind = 'private' and not exists (
       select 1 from locations other where other.account_id = $2 and other.slug_name = $4 and other.id <> $1)
     returning id`,
    [
      location.id,
      location.accountId,
      location.name,
      location.slugName,
      location.icon,
      location.proxyUrl,
      location.now,
      location.allowedNetworks,
      location.stopsInOutages,
    ],
  );
  return rows.length > 0;
}

/** Counts an account's private locations. */
export async function countPrivateLocations(db: Queryable, accountId: string): Promise<number> {
  return countRows(db, "from locations where account_id = $1 and kind = 'private'", [accountId]);
}

/** A page of an account's locations of one kind, oldest first. */
export async function listLocations(
  db: Queryable,
  {
    accountId,
    kind,
    limit,
    offset,
  }: { accountId: string; kind: LocationKind; limit: number; offset: number },
): Promise<LocationRow[]> {
  return db.query<LocationRow>(
    `select ${columns} from locations where account_id = $1 and kind = $2
     order by created_at, id limit $3 offset $4`,
    [accountId, kind, limit, offset],
  );
}

export async function findPrivateLocation(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<LocationRow | undefined> {
  const rows = await db.query<LocationRow>(
    `select ${columns} from locations where id = $1 and account_id = $2 and kind = 'private'`,
    [id, accountId],
  );
  return rows[0];
}

/**
 * Like findPrivateLocation, but locked until the transaction ends, so that keys are counted and slugs changed by one
 * transaction at a time.
 */
export async function lockPrivateLocation(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<LocationRow | undefined> {
  const rows = await db.query<LocationRow>(
    `select ${columns} from locations where id = $1 and account_id = $2 and kind = 'private' for update`,
    [id, accountId],
  );
  return rows[0];
}

/** A data-centre location, locked until the transaction ends. */
export async function lockDataCenter(
  db: Queryable,
  { accountId, code }: { accountId: string; code: string },
): Promise<LocationRow | undefined> {
  const rows = await db.query<LocationRow>(
    `select ${columns} from locations where slug_name = $1 and account_id = $2 and kind = 'data-center' for update`,
    [code, accountId],
  );
  return rows[0];
}

export async function deleteLocation(db: Queryable, id: string): Promise<void> {
  await db.query('delete from locations where id = $1', [id]);
}

/** Those of `slugs` that are private locations of the account, locked against deletion until the transaction ends. */
export async function shareLockPrivateSlugs(
  db: Queryable,
  { accountId, slugs }: { accountId: string; slugs: readonly string[] },
): Promise<string[]> {
  const rows = await db.query<{ slugName: string }>(
    `select slug_name as "slugName" from locations
     where account_id = $1 and kind = 'private' and slug_name = any($2::text[]) order by slug_name for share`,
    [accountId, [...slugs]],
  );
  return rows.map(({ slugName }) => slugName);
}

export type LocationKeyRow = { id: string; locationId: string; maskedKey: string; createdAt: Date };

/** Keys of all these locations. */
export async function keysOfLocations(
  db: Queryable,
  locationIds: readonly string[],
): Promise<LocationKeyRow[]> {
  return db.query<LocationKeyRow>(
    `select id, location_id as "locationId", masked_key as "maskedKey", created_at as "createdAt"
     from location_keys where location_id = any($1::uuid[]) order by created_at, id`,
    [[...locationIds]],
  );
}

export async function insertLocationKey(
  db: Queryable,
  key: { id: string; locationId: string; keyHash: Buffer; maskedKey: string; now: Date },
): Promise<void> {
  await db.query(
    `insert into location_keys (id, location_id, key_hash, masked_key, created_at) values ($1, $2, $3, $4, $5)`,
    [key.id, key.locationId, key.keyHash, key.maskedKey, key.now],
  );
}

/** Returns false if there was no such key. */
export async function deleteLocationKey(
  db: Queryable,
  { locationId, keyId }: { locationId: string; keyId: string },
): Promise<boolean> {
  const rows = await db.query('delete from location_keys where id = $1 and location_id = $2 returning id', [
    keyId,
    locationId,
  ]);
  return rows.length > 0;
}

export type LocationAgentsRow = {
  locationId: string;
  version: string;
  /** Agents of this version that were heard of since `connectedSince`. */
  connected: number;
  lastSeen: Date;
};

/** Agents of all these locations, by version. */
export async function agentsOfLocations(
  db: Queryable,
  { locationIds, connectedSince }: { locationIds: readonly string[]; connectedSince: Date },
): Promise<LocationAgentsRow[]> {
  return db.query<LocationAgentsRow>(
    `select location_id as "locationId", version,
       (count(*) filter (where last_seen_at >= $2))::integer as connected, max(last_seen_at) as "lastSeen"
     from agents where location_id = any($1::uuid[]) group by location_id, version order by location_id, version`,
    [[...locationIds], connectedSince],
  );
}
