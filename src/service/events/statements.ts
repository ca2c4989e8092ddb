import type { Queryable } from '../db/database.ts';

/** Statements on live events. Triggers of the database publish them; see the migrations 0033 and 0040. */

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

/** Those of these API keys and web sessions that exist, without keys that have expired. */
export async function validAccess(
  db: Queryable,
  { apiKeyIds, sessionIds, now }: { apiKeyIds: readonly string[]; sessionIds: readonly string[]; now: Date },
): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `select id from api_keys where id = any($1::uuid[]) and (expires_at is null or expires_at > $3)
     union all select id from web_sessions where id = any($2::uuid[])`,
    [[...apiKeyIds], [...sessionIds], now],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The id of a new transaction. A snapshot's xmax would not do: it may be lower than ids of running transactions. */
export async function newestTransaction(db: Queryable): Promise<string> {
  const rows = await db.query<{ id: string }>('select pg_current_xact_id()::text as id');
  return rows[0]?.id ?? '0';
}

/** Whether a transaction from before this one is still running. */
export async function hasOlderTransactions(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.query<{ older: boolean }>(
    'select pg_snapshot_xmin(pg_current_snapshot()) < $1::text::xid8 as older',
    [id],
  );
  return rows[0]?.older === true;
}
