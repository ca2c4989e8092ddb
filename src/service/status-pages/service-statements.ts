import type { Queryable } from '../db/database.ts';

/** Statements on status-page services. */

export type StatusPageServiceRow = {
  id: string;
  accountId: string;
  name: string;
  /** The checks whose statuses it shows, in the given order. */
  checkIds: string[];
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `id, account_id as "accountId", name, created_at as "createdAt", updated_at as "updatedAt",
  array(select check_id::text from status_page_service_checks where service_id = status_page_services.id order by position) as "checkIds"`;

export async function insertService(
  tx: Queryable,
  service: { id: string; accountId: string; name: string; now: Date },
): Promise<void> {
  await tx.query(
    'insert into status_page_services (id, account_id, name, created_at) values ($1, $2, $3, $4)',
    [service.id, service.accountId, service.name, service.now],
  );
}

type Named = { accountId: string; id: string };

/** Returns false if there is no such service. */
export async function updateService(
  tx: Queryable,
  { accountId, id, name, now }: Named & { name: string; now: Date },
): Promise<boolean> {
  const rows = await tx.query(
    'update status_page_services set name = $3, updated_at = $4 where id = $1 and account_id = $2 returning id',
    [id, accountId, name, now],
  );
  return rows.length > 0;
}

export async function findService(
  db: Queryable,
  { accountId, id }: Named,
): Promise<StatusPageServiceRow | undefined> {
  const rows = await db.query<StatusPageServiceRow>(
    `select ${columns} from status_page_services where id = $1 and account_id = $2`,
    [id, accountId],
  );
  return rows[0];
}

/** A page of services, oldest first; `after` is the last service of the previous page. */
export async function listServices(
  db: Queryable,
  { accountId, after, limit }: { accountId: string; after: string | null; limit: number },
): Promise<StatusPageServiceRow[]> {
  return db.query<StatusPageServiceRow>(
    `select ${columns} from status_page_services
     where account_id = $1 and ($2::uuid is null or id > $2) order by id limit $3`,
    [accountId, after, limit],
  );
}

/** Those of `ids` that are checks of the account, locked against deletion until `tx` ends. */
export async function shareLockChecks(
  tx: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly string[] },
): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    'select id from checks where account_id = $1 and id = any($2::uuid[]) order by id for key share',
    [accountId, [...ids]],
  );
  return rows.map(({ id }) => id);
}

/** Replaces the checks of a service. They must belong to its account. */
export async function setServiceChecks(
  tx: Queryable,
  { id, checkIds }: { id: string; checkIds: readonly string[] },
): Promise<void> {
  await tx.query('delete from status_page_service_checks where service_id = $1', [id]);
  await tx.query(
    `insert into status_page_service_checks (service_id, check_id, position)
     select $1, c.id, c.position from unnest($2::uuid[]) with ordinality as c (id, position)`,
    [id, [...checkIds]],
  );
}

/** Counts an account's services. Locks the count, so that concurrent callers wait. */
export async function lockServiceCount(tx: Queryable, accountId: string): Promise<number> {
  await tx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const rows = await tx.query<{ count: number }>(
    'select count(*)::integer as count from status_page_services where account_id = $1',
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/** Those of `ids` that are services of the account, locked against deletion until `tx` ends. */
export async function shareLockServices(
  tx: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly string[] },
): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    `select id from status_page_services where account_id = $1 and id = any($2::uuid[])
     order by id for key share`,
    [accountId, [...ids]],
  );
  return rows.map(({ id }) => id);
}

/** Deletes a service; checks stop opening incidents for it. Returns false if there is no such service. */
export async function deleteService(tx: Queryable, { accountId, id }: Named): Promise<boolean> {
  const rows = await tx.query(
    'delete from status_page_services where id = $1 and account_id = $2 returning id',
    [id, accountId],
  );
  if (rows.length === 0) return false;
  await tx.query(
    `update checks set definition = jsonb_set(definition, '{triggerIncident}', 'null')
     where account_id = $1 and definition->'triggerIncident'->>'serviceId' = $2`,
    [accountId, id],
  );
  return true;
}
