import type { AgentCondition } from '../../protocol/routes.ts';
import type { Queryable } from '../db/database.ts';
import { toJsonb } from '../db/jsonb.ts';

/** Statements on agents, their keys and their reports about themselves. */

/** An agent counts as connected for this long after its last request: a long poll of 25 s and some delay. */
export const connectedMs = 35_000;

export type AgentLocation = {
  locationId: string;
  accountId: string;
  name: string;
  slugName: string;
};

/** The location that a key belongs to, by the key's SHA-256. */
export async function findLocationOfKey(db: Queryable, keyHash: Buffer): Promise<AgentLocation | undefined> {
  const rows = await db.query<AgentLocation>(
    `select l.id as "locationId", l.account_id as "accountId", l.name, l.slug_name as "slugName"
     from location_keys k join locations l on l.id = k.location_id where k.key_hash = $1`,
    [keyHash],
  );
  return rows[0];
}

export type AgentHello = {
  id: string;
  locationId: string;
  instanceId: string;
  version: string;
  host: object;
  checkTypes: readonly string[];
  runtimes: readonly string[];
  lanes: object;
  /** It can hold checks. */
  keeps: boolean;
  now: Date;
};

/** `allowedNetworks`: the location's list, which the agent now has; null = every network that is not special. */
export type SavedAgent = { id: string; allowedNetworks: string[] | null };

/** Stores an agent. An agent that says hello again keeps its id. */
export async function saveAgent(db: Queryable, agent: AgentHello): Promise<SavedAgent> {
  const rows = await db.query<SavedAgent>(
    `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, created_at,
       last_seen_at, allowed_networks, keeps, can_keep)
     values ($1, $2, $3, $4, $5::jsonb, $6, $7, $8::jsonb, $9, $9,
       (select allowed_networks from locations where id = $2), $10, $10)
     on conflict (location_id, instance_id) do update set version = excluded.version, host = excluded.host,
       check_types = excluded.check_types, runtimes = excluded.runtimes, lanes = excluded.lanes,
       last_seen_at = excluded.last_seen_at, allowed_networks = excluded.allowed_networks, keeps = excluded.keeps,
       can_keep = excluded.can_keep
     returning id, allowed_networks as "allowedNetworks"`,
    [
      agent.id,
      agent.locationId,
      agent.instanceId,
      agent.version,
      toJsonb(agent.host),
      agent.checkTypes,
      agent.runtimes,
      toJsonb(agent.lanes),
      agent.now,
      agent.keeps,
    ],
  );
  return rows[0] ?? { id: agent.id, allowedNetworks: null };
}

export type TouchedAgent = { checkTypes: string[]; runtimes: string[]; isOutdated: boolean };

/**
 * Returns what an agent can run, and records that it was heard of. Undefined if the location has no such agent.
 * `condition`: what it reports about itself; null keeps what it reported before.
 * `isOutdated`: the location's networks have changed since its hello, or a replica has greeted it that let agents hold no checks.
 */
export async function touchAgent(
  db: Queryable,
  {
    id,
    locationId,
    condition,
    now,
  }: { id: string; locationId: string; condition: AgentCondition | null; now: Date },
): Promise<TouchedAgent | undefined> {
  const rows = await db.query<TouchedAgent>(
    `update agents a set last_seen_at = $3, condition = coalesce($4::jsonb, condition),
       condition_at = case when $4::jsonb is null then condition_at else $3 end
     from locations l
     where a.id = $1 and a.location_id = $2 and l.id = a.location_id
     returning a.check_types as "checkTypes", a.runtimes,
       a.allowed_networks is distinct from l.allowed_networks or a.can_keep is distinct from a.keeps as "isOutdated"`,
    [id, locationId, now, condition === null ? null : toJsonb(condition)],
  );
  return rows[0];
}

/** Deletes agents that were not heard of since `before`. */
export async function deleteOldAgents(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from agents where last_seen_at < $1', [before]);
}

export async function insertAgentEvents(
  db: Queryable,
  events: readonly { id: string; locationId: string; agentId: string | null; event: string; now: Date }[],
): Promise<void> {
  await db.query(
    `insert into agent_events (id, location_id, agent_id, event, created_at)
     select item.id, item.location_id, item.agent_id, item.event::jsonb, item.created_at
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[])
       as item (id, location_id, agent_id, event, created_at)`,
    [
      events.map(({ id }) => id),
      events.map(({ locationId }) => locationId),
      events.map(({ agentId }) => agentId),
      events.map(({ event }) => event),
      events.map(({ now }) => now),
    ],
  );
}

/** Keeps the newest `max` events, and none older than `before`. At most `limit` are deleted per call. */
export async function trimAgentEvents(
  db: Queryable,
  { before, max, limit }: { before: Date; max: number; limit: number },
): Promise<void> {
  await db.query(
    `delete from agent_events where id in (
       select id from agent_events
       where created_at < greatest($1, coalesce((select created_at from agent_events
         order by created_at desc offset $2 limit 1), $1))
       order by created_at limit $3)`,
    [before, max, limit],
  );
}

/** The location's proxy URL, encrypted; null if it has none. */
export async function findProxyUrl(db: Queryable, locationId: string): Promise<Buffer | null> {
  const rows = await db.query<{ proxyUrl: Buffer | null }>(
    'select proxy_url as "proxyUrl" from locations where id = $1',
    [locationId],
  );
  return rows[0]?.proxyUrl ?? null;
}
