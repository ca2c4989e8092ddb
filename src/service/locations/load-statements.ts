import type { AgentCondition } from '../../protocol/routes.ts';
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
  condition: AgentCondition | null;
  conditionAt: Date | null;
  running: number;
};

/** Agents of a location with their running jobs; the latest heard of first, at most `limit`. */
export async function listAgents(
  db: Queryable,
  { locationId, limit }: { locationId: string; limit: number },
): Promise<AgentRow[]> {
  return db.query<AgentRow>(
    `select a.id, a.version, a.host, a.check_types as "checkTypes", a.runtimes, a.lanes, a.created_at as "createdAt",
       a.last_seen_at as "lastSeen", a.condition, a.condition_at as "conditionAt",
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

const missedCount = "sum(coalesce((r.body->'details'->>'count')::integer, 1))";
const missedRuns = `from checks c join check_results r on r.check_id = c.id and r.status = 'missed'
       and r.started_at >= $3 and r.started_at < $4
     where c.account_id = $1 and r.run_location = $2 and not r.test_session`;

type Missed = { accountId: string; slugName: string; from: Date; to: Date };

/** Missed runs at a location in parts of a stretch of time; parts without any are left out. */
export async function missedOverTime(
  db: Queryable,
  { accountId, slugName, from, to, seconds }: Missed & { seconds: number },
): Promise<{ part: number; count: number }[]> {
  return db.query<{ part: number; count: number }>(
    `select floor(extract(epoch from r.started_at - $3) / $5)::integer as part, ${missedCount}::float8 as count
     ${missedRuns} group by 1 order by 1`,
    [accountId, slugName, from, to, seconds],
  );
}

/** The checks with the most missed runs at a location in a stretch of time. */
export async function missedByCheck(
  db: Queryable,
  { accountId, slugName, from, to, limit }: Missed & { limit: number },
): Promise<{ checkId: string; name: string; count: number; lastAt: Date }[]> {
  return db.query(
    `select c.id as "checkId", c.name, ${missedCount}::float8 as count, max(r.started_at) as "lastAt"
     ${missedRuns} group by c.id order by 3 desc, c.id limit $5`,
    [accountId, slugName, from, to, limit],
  );
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
