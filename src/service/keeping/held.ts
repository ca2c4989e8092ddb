import { effectiveSlugs } from '../checks/storage/effective-checks.ts';
import type { Queryable } from '../db/database.ts';
import type { ClaimedGroup } from '../scheduling/jobs-claim.ts';
import { variablesTag } from './shared-variables.ts';
import { addKeptAccount, cursorOf, keepingChannel } from './statements.ts';
import { noteReported } from './touch-checks.ts';
import type { Db } from '../db/database.ts';

/** Statements for the agents that hold checks: renewing their lease, and reading what has changed. */

/**
 * Renews the lease of an agent on all its checks. Returns false if the location has no such agent that can hold any. An
 * agent without a lease gets checks as soon as they are handed out.
 */
export async function renewKeeping(
  db: Db,
  renewal: {
    agentId: string;
    locationId: string;
    accountId: string;
    until: Date;
    now: Date;
    reportedTo: Date | null;
    cursor: string | null;
    isLeaving: boolean;
    minor: number;
  },
): Promise<boolean> {
  const { agentId, locationId, accountId, until, now, reportedTo, cursor } = renewal;
  if (cursor === null) await noteReported(db, agentId);
  const rows = await db.query<{ wasAlive: boolean; isKnown: boolean }>(
    `with before as (
       select id, coalesce(keeps_until > $4, false) as alive from agents
       where id = $1 and location_id = $2 and keeps for update
     )
     update agents a set keeps_until = $3, last_seen_at = $4, has_left = $8,
       -- It goes back when the agent takes over a check whose last runs nobody has made.
       reported_to = coalesce(least($5::timestamptz, $4::timestamptz), a.reported_to),
       kept_cursor = $6, keeps_minor = $7, shares_until = $3
     from before where a.id = before.id returning before.alive as "wasAlive",
       exists (select 1 from kept_accounts where account_id = $9) as "isKnown"`,
    // One that leaves without ever having held a check has nothing to give back.
    [
      agentId,
      locationId,
      renewal.isLeaving ? now : until,
      now,
      reportedTo,
      cursor,
      renewal.minor,
      renewal.isLeaving,
      accountId,
    ],
  );
  const [row] = rows;
  if (row === undefined) return false;
  // A replica that lets agents hold no checks may have forgotten the account meanwhile.
  if (row.wasAlive && row.isKnown && !renewal.isLeaving) return true;
  await addKeptAccount(db, accountId);
  await db.notify(keepingChannel, accountId);
  return true;
}

/**
 * Ends the leases of earlier processes that this agent continues, so that their checks are handed out at once. The agent
 * gets a lease, so that it is among those that get them: otherwise they would move twice. It also gets the place of the last
 * one, and so the same checks. `earlier`: their agent ids, and
 * their instance ids, because the data folder of a process that died soon after its hello does not have its agent id.
 */
export async function endLeasesOf(
  db: Db,
  {
    agentId,
    locationId,
    accountId,
    earlier,
    now,
    until,
  }: {
    agentId: string;
    locationId: string;
    accountId: string;
    earlier: string[];
    now: Date;
    until: Date;
  },
): Promise<void> {
  await db.tx(async (tx) => {
    const rows = await tx.query<{ place: string; hadLeft: boolean }>(
      `with before as (
         select id, coalesce(place, id) as place, has_left as "hadLeft" from agents
         where (id = any($1::uuid[]) or instance_id = any($4::text[])) and location_id = $2 and keeps_until is not null
         order by id for update
       ), ended as (
         update agents a set keeps_until = least(a.keeps_until, $3), has_left = true from before b where a.id = b.id
       )
       select place, "hadLeft" from before order by id desc`,
      [earlier, locationId, now, earlier],
    );
    if (rows.length === 0) return;
    // Two processes may continue the same one, for example on copies of its data folder. The first of them gets the place.
    const place = rows.find(({ hadLeft }) => !hadLeft)?.place ?? null;
    await tx.query(
      `update agents set place = coalesce($3::uuid, place), keeps_until = coalesce(keeps_until, $2) where id = $1 and keeps`,
      [agentId, until, place],
    );
    await tx.notify(keepingChannel, accountId);
  });
}

/** A check that an agent holds, or held. Null as its definition: too large for a list, see definitionOfCheck. */
export type HeldCheck = {
  checkId: string;
  cursor: string;
  isDropped: boolean;
  epoch: number;
  owedFrom: Date;
  accountId: string;
  locationId: string;
  checkName: string;
  checkType: string;
  intervalSeconds: number;
  offsetSeconds: number;
  runParallel: boolean;
  locationCount: number;
  hasCode: boolean;
  definition: Record<string, unknown> | null;
  group: ClaimedGroup | null;
  accountRuntimeId: string;
};

const listedDefinitionBytes = 8 * 1024;

/** What has changed for an agent since `cursor`, oldest first. Null = everything that it holds. */
export async function heldChanges(
  db: Queryable,
  { agentId, cursor, limit }: { agentId: string; cursor: string | null; limit: number },
): Promise<HeldCheck[]> {
  const [rev, checkId] = readCursor(cursor);
  const rows = await db.query<Omit<HeldCheck, 'cursor'> & { rev: number }>(
    `select k.check_id as "checkId", k.rev, k.dropped_at is not null or c.id is null as "isDropped", k.epoch,
       k.owed_from as "owedFrom", k.account_id as "accountId", k.location_id as "locationId", c.name as "checkName",
       c.check_type as "checkType",
       -- An edit of the schedule sets a moment, and is told when it is handed out with that. Until then the former one is owed.
       case when c.next_due_at is null then c.interval_seconds else coalesce(k.interval_seconds, c.interval_seconds) end
         as "intervalSeconds",
       case when c.next_due_at is null then c.offset_seconds else coalesce(k.offset_seconds, c.offset_seconds) end
         as "offsetSeconds", c.run_parallel as "runParallel", cardinality(${effectiveSlugs}) as "locationCount", c.code is not null as "hasCode",
       case when pg_column_size(c.definition) <= ${listedDefinitionBytes} then c.definition end as definition,
       case when g.id is not null then jsonb_build_object('id', g.id, 'runtimeId', g.runtime_id, 'definition',
         case when pg_column_size(g.definition) <= ${listedDefinitionBytes} then g.definition end) end as "group",
       a.runtime_id as "accountRuntimeId"
     from kept_checks k left join checks c on c.id = k.check_id left join check_groups g on g.id = c.group_id
       join accounts a on a.id = k.account_id
     where k.agent_id = $1 and (k.rev, k.check_id) > ($2::bigint, $3::uuid) and ($4 or k.dropped_at is null)
     order by k.rev, k.check_id limit $5`,
    [agentId, rev, checkId, cursor !== null, limit],
  );
  return rows.map(({ rev: number, ...row }) => ({ ...row, cursor: cursorOf(number, row.checkId) }));
}

/** What an agent is told besides its checks. */
type Look = {
  /** It has checks to read. */
  hasChanges: boolean;
  /** All checks of this agent have been handed out. */
  isHandedOut: boolean;
  stopsInOutages: boolean;
  /** Of the account's variables. */
  tag: string;
};

export async function lookAtHeld(
  db: Queryable,
  {
    agentId,
    locationId,
    accountId,
    cursor,
  }: { agentId: string; locationId: string; accountId: string; cursor: string | null },
): Promise<Look> {
  const [rev, checkId] = readCursor(cursor);
  const rows = await db.query<Look>(
    // In the order of the index: without, the planner expects to meet a later change soon, and reads everybody's checks.
    `select (select true from kept_checks k where k.agent_id = $1
         and (k.rev, k.check_id) > ($2::bigint, $3::uuid) and ($4 or k.dropped_at is null)
         order by k.rev, k.check_id limit 1) is not null as "hasChanges",
       coalesce((select handed_out_at is not null and $1 = any(members) from kept_accounts
         where account_id = $6), false) as "isHandedOut",
       coalesce((select stops_in_outages from locations where id = $5), false) as "stopsInOutages",
       ${variablesTag('$6')} as tag`,
    [agentId, rev, checkId, cursor !== null, locationId, accountId],
  );
  return rows[0] ?? { hasChanges: false, isHandedOut: false, stopsInOutages: false, tag: '' };
}

const cursorPattern = /^(\d{16})\/([0-9a-f-]{36})$/;
const firstId = '00000000-0000-0000-0000-000000000000';

function readCursor(cursor: string | null): [rev: number, checkId: string] {
  const [, rev = '', checkId = ''] = cursorPattern.exec(cursor ?? '') ?? [];
  return checkId === '' ? [-1, firstId] : [Number(rev), checkId];
}

/** Whether the service has ever given out this position. A restored database may not know it. */
export async function isKnownCursor(
  db: Queryable,
  { accountId, cursor }: { accountId: string; cursor: string },
): Promise<boolean> {
  const [rev] = readCursor(cursor);
  if (rev < 0) return false;
  const rows = await db.query<{ rev: number; epoch: number }>(
    'select rev, epoch from kept_accounts where account_id = $1',
    [accountId],
  );
  return rows[0] !== undefined && rev <= rows[0].rev;
}

/** Up to when the agent knows the pauses of these checks. */
export async function notePausesKnown(
  db: Queryable,
  { agentId, checkIds, until }: { agentId: string; checkIds: readonly string[]; until: Date },
): Promise<void> {
  if (checkIds.length === 0) return;
  await db.query(
    'update kept_checks set pauses_until = $3 where agent_id = $1 and check_id = any($2::uuid[])',
    [agentId, [...checkIds], until],
  );
}
