import type { Queryable } from '../db/database.ts';

/** Statements on live events. Triggers of the database publish them; see the migration 0033. */

/** Channel of the triggers. The payload is a PublishedEvent as JSON. */
export const eventsChannel = 'events';

/** Seconds for which the triggers publish after a replica's last call. */
const readerSeconds = 60;

/** Makes the triggers publish for a while. The database's own clock counts, because the triggers compare with it. */
export async function keepReading(db: Queryable, replicaId: string): Promise<void> {
  await db.query(
    `insert into event_readers (replica_id, until) values ($1, now() + make_interval(secs => ${readerSeconds}))
     on conflict (replica_id) do update set until = excluded.until`,
    [replicaId],
  );
}

/** Ends it for this replica, and for those that have disappeared. */
export async function stopReading(db: Queryable, replicaId: string): Promise<void> {
  await db.query('delete from event_readers where replica_id = $1 or until < now()', [replicaId]);
}

export type AgentCount = { accountId: string; slugName: string; agentCount: number };

/** Connected agents of each location of these accounts. */
export async function countAgents(
  db: Queryable,
  { accountIds, connectedSince }: { accountIds: readonly string[]; connectedSince: Date },
): Promise<AgentCount[]> {
  return db.query<AgentCount>(
    `select l.account_id as "accountId", l.slug_name as "slugName", count(a.id)::integer as "agentCount"
     from locations l left join agents a on a.location_id = l.id and a.last_seen_at >= $2
     where l.account_id = any($1::uuid[]) group by l.id`,
    [[...accountIds], connectedSince],
  );
}

/** Those of these API keys that still exist. */
export async function existingKeys(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>('select id from api_keys where id = any($1::uuid[])', [
    [...ids],
  ]);
  return new Set(rows.map(({ id }) => id));
}
