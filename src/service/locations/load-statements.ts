import type { Queryable } from '../db/database.ts';

/** Statements on the agents of a location and their load. */

export type AgentRow = {
  id: string;
  version: string;
  host: { [field: string]: unknown };
  checkTypes: string[];
  runtimes: string[];
  lanes: { [lane: string]: number };
  createdAt: Date;
  lastSeen: Date;
  running: number;
};

/** Agents of a location with their running jobs; the latest heard of first, at most `limit`. */
export async function listAgents(
  db: Queryable,
  { locationId, limit }: { locationId: string; limit: number },
): Promise<AgentRow[]> {
  return db.query<AgentRow>(
    `select a.id, a.version, a.host, a.check_types as "checkTypes", a.runtimes, a.lanes, a.created_at as "createdAt",
       a.last_seen_at as "lastSeen",
       (select count(*)::integer from jobs j where j.location_id = a.location_id and j.agent_id = a.id and j.state = 'leased') as running
     from agents a where a.location_id = $1 order by a.last_seen_at desc, a.id limit $2`,
    [locationId, limit],
  );
}

export type QueueRow = { lane: string; queued: number; running: number; oldestSeconds: number };

/** Waiting and running jobs of a location by lane. */
export async function listQueues(
  db: Queryable,
  { locationId, now }: { locationId: string; now: Date },
): Promise<QueueRow[]> {
  const waits = `state = 'queued' and not_before <= $2 and expires_at > $2`;
  return db.query<QueueRow>(
    `select lane, (count(*) filter (where ${waits}))::integer as queued,
       (count(*) filter (where state = 'leased'))::integer as running,
       coalesce(extract(epoch from $2::timestamptz - min(not_before) filter (where ${waits})), 0)::float8 as "oldestSeconds"
     from jobs where location_id = $1 group by lane`,
    [locationId, now],
  );
}

/** Jobs that agents of a location took since `since`, by queue: uptime, or main (browser and suite). */
export async function countTaken(
  db: Queryable,
  { locationId, since }: { locationId: string; since: Date },
): Promise<Map<string, number>> {
  const rows = await db.query<{ queue: string; count: number }>(
    `select queue, sum(count)::integer as count from queue_waits where location_id = $1 and recorded_at > $2 group by queue`,
    [locationId, since],
  );
  return new Map(rows.map(({ queue, count }) => [queue, count]));
}

/** Runs at a location that were missed since `since`. */
export async function countMissed(
  db: Queryable,
  { accountId, slugName, since }: { accountId: string; slugName: string; since: Date },
): Promise<number> {
  const rows = await db.query<{ count: number }>(
    `select coalesce(sum(coalesce((r.body->'details'->>'count')::integer, 1)), 0)::float8 as count
     from checks c join check_results r on r.check_id = c.id and r.status = 'missed' and r.started_at >= $3
     where c.account_id = $1 and r.run_location = $2 and not r.test_session`,
    [accountId, slugName, since],
  );
  return rows[0]?.count ?? 0;
}
