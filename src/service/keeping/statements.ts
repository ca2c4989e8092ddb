import type { Queryable } from '../db/database.ts';
import type { HandedOut } from './handed-out-schedule.ts';
import { uptimeLaneTypes } from './types.ts';
import { checksWithGroups, effectiveRuntimeId, effectiveSlugs } from '../checks/storage/effective-checks.ts';

/** Statements on checks that agents hold. The row of the account is locked while they are changed. */

/** Channel of wake-up hints for whoever hands checks out. The payload is an account's id. */
export const keepingChannel = 'keeping';
/** Channel of wake-up hints for agents. The payload is an agent's id. */
export const keptChannel = 'kept';

export type KeptAccount = { rev: number; epoch: number; members: string[]; handedOutAt: Date | null };

/** Accounts where checks may have to be handed out, or taken back. `since`: a full hand-out before it is repeated. */
export async function accountsToHandOut(
  db: Queryable,
  { now, since, limit }: { now: Date; since: Date; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select k.account_id as id from kept_accounts k
     where exists (select 1 from kept_changes c where c.account_id = k.account_id)
       or k.handed_out_at is null or k.handed_out_at < $2
       or k.members is distinct from array(
         select a.id from agents a join locations l on l.id = a.location_id
         where l.account_id = k.account_id and a.keeps and a.keeps_until > $1 and not a.has_left order by a.id)
       or exists (select 1 from agents a join locations l on l.id = a.location_id
         where l.account_id = k.account_id and a.keeps_until is not null and (a.has_left or a.keeps_until <= $1))
     limit $3`,
    [now, since, limit],
  );
  return rows.map(({ id }) => id);
}

/** Locks the account for a hand-out; undefined = another replica has it, or it has never had an agent that holds checks. */
export async function lockKeptAccount(tx: Queryable, accountId: string): Promise<KeptAccount | undefined> {
  return lockAccount(tx, accountId, 'for update skip locked');
}

/** Locks the account once no replica hands its checks out. It is added if it is absent. */
export async function claimKeptAccount(tx: Queryable, accountId: string): Promise<KeptAccount | undefined> {
  await addKeptAccount(tx, accountId);
  return lockAccount(tx, accountId, 'for update');
}

async function lockAccount(tx: Queryable, accountId: string, lock: string): Promise<KeptAccount | undefined> {
  const rows = await tx.query<KeptAccount>(
    `select rev, epoch, members, handed_out_at as "handedOutAt" from kept_accounts where account_id = $1 ${lock}`,
    [accountId],
  );
  return rows[0];
}

/** The account has agents that hold checks. */
export async function addKeptAccount(db: Queryable, accountId: string): Promise<void> {
  await db.query('insert into kept_accounts (account_id) values ($1) on conflict do nothing', [accountId]);
}

export async function saveKeptAccount(
  tx: Queryable,
  { accountId, rev, epoch, members, handedOutAt }: KeptAccount & { accountId: string },
): Promise<void> {
  await tx.query(
    'update kept_accounts set rev = $2, epoch = $3, members = $4::uuid[], handed_out_at = $5 where account_id = $1',
    [accountId, rev, epoch, members, handedOutAt],
  );
}

/** An agent that can hold checks, alive or not; not one whose checks have all been taken back. */
export type KeepingAgent = {
  id: string;
  /** See `Member`. */
  place: string;
  locationId: string;
  slug: string;
  checkTypes: string[];
  weight: number;
  keepsUntil: Date;
  reportedTo: Date | null;
  cursor: string | null;
  /** It has given its checks back, or another process continues it. */
  hasLeft: boolean;
};

export async function keepingAgents(tx: Queryable, accountId: string): Promise<KeepingAgent[]> {
  return tx.query<KeepingAgent>(
    `select a.id, coalesce(a.place, a.id) as place, a.location_id as "locationId", l.slug_name as slug, a.check_types as "checkTypes",
       -- One that does not know that it must stop gets no checks of such a location: it claims their runs.
       case when l.stops_in_outages and a.keeps_minor < 8 then 0
         else coalesce((a.lanes->>'uptime')::integer, 0) end as weight, a.keeps_until as "keepsUntil",
       a.reported_to as "reportedTo", a.kept_cursor as cursor, a.has_left as "hasLeft"
     from agents a join locations l on l.id = a.location_id
     where l.account_id = $1 and a.keeps and a.keeps_until is not null order by a.id`,
    [accountId],
  );
}

/** These agents hold nothing any more. */
export async function endKeeping(tx: Queryable, agentIds: readonly string[]): Promise<void> {
  await tx.query('update agents set keeps_until = null where id = any($1::uuid[])', [[...agentIds]]);
}

export type Changes = {
  checkIds: string[];
  /** Something that all checks use. */
  everything: boolean;
  variables: boolean;
  /** Client certificates of the account. */
  certificates: boolean;
  /** Ids of locations of which something has changed that their checks use. */
  locations: string[];
};

/** Before a location's id, as the migration 0053 writes it. */
const locationPrefix = 'location:';

/** Takes what has changed. */
export async function takeChanges(tx: Queryable, accountId: string): Promise<Changes> {
  const rows = await tx.query<{ checkId: string | null; groupId: number | null; what: string | null }>(
    'delete from kept_changes where account_id = $1 returning check_id as "checkId", group_id as "groupId", what',
    [accountId],
  );
  const groups = rows.flatMap(({ groupId }) => groupId ?? []);
  const ofGroups =
    groups.length === 0
      ? []
      : await tx.query<{ id: string }>(
          'select id from checks where account_id = $1 and group_id = any($2::bigint[])',
          [accountId, [...new Set(groups)]],
        );
  const ids = [...rows.flatMap(({ checkId }) => checkId ?? []), ...ofGroups.map(({ id }) => id)];
  return {
    checkIds: [...new Set(ids)],
    everything: rows.some(
      ({ checkId, groupId, what }) => checkId === null && groupId === null && what === null,
    ),
    variables: rows.some(({ what }) => what === 'variables'),
    certificates: rows.some(({ what }) => what === 'certificates'),
    locations: [
      ...new Set(
        rows.flatMap(({ what }) =>
          what?.startsWith(locationPrefix) === true ? what.slice(locationPrefix.length) : [],
        ),
      ),
    ],
  };
}

/** Leaves changes to a later hand-out. */
export async function leaveChanges(
  tx: Queryable,
  { accountId, checkIds }: { accountId: string; checkIds: readonly string[] },
): Promise<void> {
  if (checkIds.length === 0) return;
  await tx.query('insert into kept_changes (account_id, check_id) select $1, unnest($2::uuid[])', [
    accountId,
    [...checkIds],
  ]);
}

/** A check that an agent may hold: active, of the uptime lane, at one location, without scripts. */
export type KeepableCheck = {
  id: string;
  checkType: string;
  slug: string;
  intervalSeconds: number;
  offsetSeconds: number;
};

/** `ids`: only these; null = all of the account. */
export async function keepableChecks(
  tx: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly string[] | null },
): Promise<KeepableCheck[]> {
  return tx.query<KeepableCheck>(
    `select c.id, c.check_type as "checkType", (${effectiveSlugs})[1] as slug,
       c.interval_seconds as "intervalSeconds", c.offset_seconds as "offsetSeconds"
     from ${checksWithGroups}
     where c.account_id = $1 and ($2::uuid[] is null or c.id = any($2::uuid[])) and c.activated
       and g.activated is not false and c.check_type in ${uptimeLaneTypes}
       and cardinality(${effectiveSlugs}) = 1 and ${effectiveRuntimeId} is null
       and not exists (select 1 from kept_checks k where k.check_id = c.id and k.is_refused)
     order by c.id`,
    [accountId, ids === null ? null : [...ids]],
  );
}

export type Holding = HandedOut & {
  checkId: string;
  agentId: string;
  locationId: string;
  owedFrom: Date;
  /** Revision and check, as agents name how far they have read. */
  cursor: string;
};

/** Checks that agents of the account hold. */
export async function holdings(
  tx: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly string[] | null },
): Promise<Holding[]> {
  const rows = await tx.query<Omit<Holding, 'cursor'> & { rev: number }>(
    `select check_id as "checkId", agent_id as "agentId", location_id as "locationId", owed_from as "owedFrom", rev,
       interval_seconds as "intervalSeconds", offset_seconds as "offsetSeconds"
     from kept_checks where account_id = $1 and dropped_at is null
       and ($2::uuid[] is null or check_id = any($2::uuid[])) order by check_id`,
    [accountId, ids === null ? null : [...ids]],
  );
  return rows.map(({ rev, ...row }) => ({ ...row, cursor: cursorOf(rev, row.checkId) }));
}

/** Agents compare nothing in it: it is a text of equal length, so that the database can. */
export const cursorOf = (rev: number, checkId: string): string =>
  `${String(rev).padStart(16, '0')}/${checkId}`;

/** Changed checks may be refused no longer. Returns which were. */
export async function forgetRefusals(
  tx: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly string[] | null },
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `update kept_checks set is_refused = false
     where account_id = $1 and is_refused and ($2::uuid[] is null or check_id = any($2::uuid[])) returning check_id as id`,
    [accountId, ids === null ? null : [...ids]],
  );
  return rows.map(({ id }) => id);
}

/** With the schedule that the moment is of. */
export type Kept = HandedOut & { checkId: string; agentId: string; locationId: string; owedFrom: Date };

/**
 * Gives checks to agents, or tells them of a change. Their former holders must have been told before. An edit that is committed
 * meanwhile sets a moment, and is handed out next: the schedule that is noted is not yet that one.
 */
export async function keepChecks(
  tx: Queryable,
  { accountId, rev, epoch, rows }: { accountId: string; rev: number; epoch: number; rows: readonly Kept[] },
): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(
    `insert into kept_checks (check_id, agent_id, account_id, location_id, owed_from, rev, epoch, interval_seconds, offset_seconds)
     select r."checkId", r."agentId", $1, r."locationId", r."owedFrom", $2, $3,
       case when c.next_due_at is null then c.interval_seconds else r."intervalSeconds" end,
       case when c.next_due_at is null then c.offset_seconds else r."offsetSeconds" end
     from jsonb_to_recordset($4::jsonb) as r ("checkId" uuid, "agentId" uuid, "locationId" uuid, "owedFrom" timestamptz,
         "intervalSeconds" integer, "offsetSeconds" double precision)
       left join checks c on c.id = r."checkId"
     on conflict (check_id, agent_id) do update set location_id = excluded.location_id, owed_from = excluded.owed_from,
       interval_seconds = excluded.interval_seconds, offset_seconds = excluded.offset_seconds,
       rev = excluded.rev, epoch = excluded.epoch, dropped_at = null, is_refused = false, pauses_until = null`,
    [accountId, rev, epoch, JSON.stringify(rows)],
  );
}

/** Takes checks from their holders. */
export async function dropChecks(
  tx: Queryable,
  { rev, now, checkIds }: { rev: number; now: Date; checkIds: readonly string[] },
): Promise<void> {
  if (checkIds.length === 0) return;
  await tx.query(
    'update kept_checks set dropped_at = $2, rev = $1 where check_id = any($3::uuid[]) and dropped_at is null',
    [rev, now, [...checkIds]],
  );
}

/**
 * Takes checks out of the scheduler's hands. Returns when each would have been due next; checks that the scheduler did
 * not have are absent.
 */
export async function takeFromScheduler(
  tx: Queryable,
  checkIds: readonly string[],
): Promise<Map<string, Date>> {
  if (checkIds.length === 0) return new Map();
  const rows = await tx.query<{ id: string; due: Date }>(
    `with taken as (
       select id, next_due_at from checks where id = any($1::uuid[]) and next_due_at is not null
       order by id for no key update
     )
     update checks c set next_due_at = null from taken where c.id = taken.id
     returning c.id, taken.next_due_at as due`,
    [[...checkIds]],
  );
  return new Map(rows.map(({ id, due }) => [id, due]));
}

/** Gives checks back to the scheduler. One that has been edited meanwhile has its moment already. */
export async function giveToScheduler(
  tx: Queryable,
  checks: readonly { id: string; nextDueAt: Date }[],
): Promise<void> {
  if (checks.length === 0) return;
  await tx.query(
    `update checks c set next_due_at = item.due from unnest($1::uuid[], $2::timestamptz[]) as item (id, due)
     where c.id = item.id and c.next_due_at is null`,
    [checks.map(({ id }) => id), checks.map(({ nextDueAt }) => nextDueAt)],
  );
}
