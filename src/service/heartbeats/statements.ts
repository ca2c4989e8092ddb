import type { Queryable } from '../db/database.ts';
import { clockSkewSql } from '../engine/clock-skew.ts';

/** Statements on heartbeats: their timers and their events. */

export const heartbeatStates = ['EARLY', 'RECEIVED', 'GRACE', 'LATE', 'FAILING'] as const;
export type HeartbeatState = (typeof heartbeatStates)[number];

/** Period and grace in seconds. */
export type HeartbeatWrite = {
  checkId: string;
  accountId: string;
  periodSeconds: number;
  graceSeconds: number;
  activated: boolean;
};

/**
 * Creates a heartbeat with a new ping token, or changes its times. A deactivated heartbeat waits for a first ping
 * again.
 */
export async function saveHeartbeat(tx: Queryable, heartbeat: HeartbeatWrite): Promise<void> {
  await tx.query(
    `insert into heartbeats as h (check_id, account_id, period_seconds, grace_seconds) values ($1, $2, $3, $4)
     on conflict (check_id) do update set period_seconds = excluded.period_seconds, grace_seconds = excluded.grace_seconds,
       state = case when $5 then h.state end,
       timer_from = case when $5 then h.timer_from end,
       due_at = case when $5
         then h.timer_from + make_interval(secs => excluded.period_seconds + excluded.grace_seconds) end`,
    [
      heartbeat.checkId,
      heartbeat.accountId,
      heartbeat.periodSeconds,
      heartbeat.graceSeconds,
      heartbeat.activated,
    ],
  );
}

/** A locked heartbeat, with the settings of its check and its group. */
export type LockedHeartbeat = {
  checkId: string;
  accountId: string;
  name: string;
  /** Whether the check and its group are activated. */
  activated: boolean;
  /** Tags of the check and its group. */
  tags: string[];
  periodSeconds: number;
  graceSeconds: number;
  state: HeartbeatState | null;
  timerFrom: Date | null;
  dueAt: Date | null;
};

const locked = `select h.check_id as "checkId", h.account_id as "accountId", c.name,
  c.activated and g.activated is not false as activated, c.tags || coalesce(g.tags, '{}') as tags,
  h.period_seconds as "periodSeconds", h.grace_seconds as "graceSeconds", h.state, h.timer_from as "timerFrom",
  h.due_at as "dueAt"
  from heartbeats h join checks c on c.id = h.check_id left join check_groups g on g.id = c.group_id`;

export async function lockHeartbeatByToken(
  tx: Queryable,
  token: string,
): Promise<LockedHeartbeat | undefined> {
  const rows = await tx.query<LockedHeartbeat>(`${locked} where h.ping_token = $1 for update of h`, [token]);
  return rows[0];
}

export async function lockHeartbeat(
  tx: Queryable,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<LockedHeartbeat | undefined> {
  const rows = await tx.query<LockedHeartbeat>(
    `${locked} where h.check_id = $1 and h.account_id = $2 for update of h`,
    [checkId, accountId],
  );
  return rows[0];
}

/** Locks and reads due heartbeats, longest overdue first; skips those that another replica has locked. */
export async function lockDueHeartbeats(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<LockedHeartbeat[]> {
  return tx.query<LockedHeartbeat>(
    `${locked} where h.due_at <= $1 order by h.due_at limit $2 for update of h skip locked`,
    [now, limit],
  );
}

/** When the next heartbeat is due; null = no timer is running. */
export async function earliestHeartbeat(db: Queryable): Promise<Date | null> {
  const rows = await db.query<{ due: Date | null }>(
    'select min(due_at) as due from heartbeats where due_at is not null',
  );
  return rows[0]?.due ?? null;
}

/** Restarts timers from `from`; null stops a timer until the next ping. */
export async function restartTimers(
  tx: Queryable,
  timers: readonly { checkId: string; from: Date | null; state: HeartbeatState | null }[],
): Promise<void> {
  await tx.query(
    `update heartbeats h set timer_from = item."from", state = item.state,
       due_at = item."from" + make_interval(secs => h.period_seconds + h.grace_seconds)
     from jsonb_to_recordset($1::jsonb) as item ("checkId" uuid, "from" timestamptz, state text)
     where h.check_id = item."checkId"`,
    [JSON.stringify(timers)],
  );
}

/** Grace time after the service was away, in seconds: the heartbeat's, which may be 0, but at least a minute. */
const graceAfterAway = 'greatest(grace_seconds, 60)';

/**
 * Gives heartbeats whose ping was expected while the service was away the whole grace time from its return. Doing it
 * again for the same time changes nothing.
 */
export async function allowForAway(db: Queryable, { from, to }: { from: number; to: number }): Promise<void> {
  await db.query(
    `update heartbeats set due_at = $2::timestamptz + make_interval(secs => ${graceAfterAway})
     where due_at > $1 and due_at < $2::timestamptz + make_interval(secs => ${graceAfterAway})
       and timer_from + make_interval(secs => period_seconds) < $2`,
    [new Date(from), new Date(to)],
  );
}

/** Restarts timers whose start, or grace time after an absence of the service, is in the future: the clock was wrong. */
export async function bringTimersBack(db: Queryable, now: Date): Promise<void> {
  await db.query(
    `update heartbeats set due_at = greatest(timer_from + make_interval(secs => period_seconds + grace_seconds),
       $1::timestamptz + make_interval(secs => ${graceAfterAway}))
     where due_at > ${clockSkewSql} + greatest(timer_from + make_interval(secs => period_seconds + grace_seconds),
       $1::timestamptz + make_interval(secs => ${graceAfterAway}))`,
    [now],
  );
  await db.query(
    `update heartbeats set timer_from = $1::timestamptz,
       due_at = $1::timestamptz + make_interval(secs => period_seconds + grace_seconds)
     where timer_from > $1::timestamptz + ${clockSkewSql}`,
    [now],
  );
}

export type HeartbeatEvent = {
  id: string;
  state: HeartbeatState;
  happenedAt: Date;
  source: string;
  userAgent: string;
};

export async function insertHeartbeatEvents(
  tx: Queryable,
  events: readonly (HeartbeatEvent & { checkId: string; accountId: string })[],
): Promise<void> {
  await tx.query(
    `insert into heartbeat_events (id, check_id, account_id, state, happened_at, source, user_agent)
     select e.id, e."checkId", e."accountId", e.state, e."happenedAt", e.source, e."userAgent"
     from jsonb_to_recordset($1::jsonb) as e (id uuid, "checkId" uuid, "accountId" uuid, state text,
       "happenedAt" timestamptz, source text, "userAgent" text)`,
    [JSON.stringify(events)],
  );
}

const columns = 'id, state, happened_at as "happenedAt", source, user_agent as "userAgent"';

/** Reads a page of a check's events, newest first. `from` and `to`: null = no limit. */
export async function listHeartbeatEvents(
  db: Queryable,
  options: {
    accountId: string;
    checkId: string;
    from: Date | null;
    to: Date | null;
    limit: number;
    offset: number;
  },
): Promise<HeartbeatEvent[]> {
  return db.query<HeartbeatEvent>(
    `select ${columns} from heartbeat_events where check_id = $1 and account_id = $2
       and ($5::timestamptz is null or happened_at >= $5) and ($6::timestamptz is null or happened_at < $6)
     order by happened_at desc, id desc limit $3 offset $4`,
    [options.checkId, options.accountId, options.limit, options.offset, options.from, options.to],
  );
}

export async function findHeartbeatEvent(
  db: Queryable,
  { accountId, checkId, id }: { accountId: string; checkId: string; id: string },
): Promise<HeartbeatEvent | undefined> {
  const rows = await db.query<HeartbeatEvent>(
    `select ${columns} from heartbeat_events where id = $1 and check_id = $2 and account_id = $3`,
    [id, checkId, accountId],
  );
  return rows[0];
}

/** Counts events and pings in each of these spans, from `from` (exclusive) to `to` (inclusive). */
export async function countHeartbeatEvents(
  db: Queryable,
  options: { accountId: string; checkId: string; spans: readonly { from: Date; to: Date }[] },
): Promise<{ all: number; pings: number }[]> {
  return db.query(
    `select coalesce(counted.all_events, 0)::integer as all, coalesce(counted.pings, 0)::integer as pings
     from unnest($3::timestamptz[], $4::timestamptz[]) with ordinality as span (start, until, place)
     cross join lateral (
       select count(*) as all_events, count(*) filter (where state <> 'FAILING') as pings from heartbeat_events
       where check_id = $1 and account_id = $2 and happened_at > span.start and happened_at <= span.until
     ) as counted order by span.place`,
    [
      options.checkId,
      options.accountId,
      options.spans.map(({ from }) => from),
      options.spans.map(({ to }) => to),
    ],
  );
}

/** Deletes events from before `before`, up to `limit`. Returns how many were deleted. */
export async function deleteOldHeartbeatEvents(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `delete from heartbeat_events where id in (
       select id from heartbeat_events where happened_at < $1 order by happened_at limit $2) returning id`,
    [before, limit],
  );
  return rows.length;
}
