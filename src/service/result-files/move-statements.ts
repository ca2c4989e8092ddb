import { dayMs } from '../../durations.ts';
import { sqlTypesWhere } from '../checks/types/table.ts';
import type { Queryable } from '../db/database.ts';
import { wholeBody } from '../db/whole-body.ts';
import { columnNames, columns, type FileRow } from './columns.ts';

/** Statements that move results out of `check_results`. */

const withRoutes = sqlTypesWhere(({ hasRoute }) => hasRoute);
/** For so long, a trace is compared with the one before it (results/route-statements.ts). */
const tracesMs = 8 * dayMs;

/** Times of a row are whole milliseconds, which is what files keep. */
const isWhole = (column: string) => `r.${column} = date_trunc('milliseconds', r.${column})`;

/**
 * SQL over `r`: whether a result may leave the table, over $1 (day), $2 (the next day) and $3 (traces of earlier days may
 * move). What something may still change or read by its id stays: records of missed runs, runs of sessions, the last run of a
 * check, the one that its alerts are about, and those that followers have not seen yet.
 */
const mayMove = `r.started_at >= $1 and r.started_at < $2 and r.status <> 'missed' and not r.test_session
  and (r.check_type not in ${withRoutes} or $1 < $3::timestamptz)
  and ${isWhole('started_at')} and ${isWhole('stopped_at')} and ${isWhole('stored_at')}
  and exists (select 1 from checks c where c.id = r.check_id and c.account_id = r.account_id)
  and not exists (select 1 from finished_runs f where f.check_id = r.check_id and f.result_id = r.id)
  and not exists (select 1 from session_runs s where s.check_id = r.check_id and s.sequence_id = r.sequence_id)
  and not exists (select 1 from check_statuses s where s.check_id = r.check_id
    and (s.last_check_run_id = r.id or (s.is_behind and r.started_at >= s.last_started_at)))
  and not exists (select 1 from alert_states a where a.check_id = r.check_id and a.result_id = r.id)`;

/** The same for its body, which takes longer to read. */
const bodyMayMove = `jsonb_typeof(r.body) = 'object'
  -- A database that was set back may have lost what the rest of a body refers to.
  and (r.base_id is null or exists (select 1 from result_bases b where b.id = r.base_id and b.started_at >= $1 and b.started_at < $2))
  and (r.check_type not in ${withRoutes} or not coalesce(r.body->'details' ? 'routeChange', false))`;

const nextDay = (day: Date) => new Date(day.getTime() + dayMs);

/** Days that have results in the table and ended at or before `before`, oldest first. */
export async function daysInTable(db: Queryable, before: Date): Promise<Date[]> {
  const rows = await db.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'check_results'::regclass order by 1`,
  );
  return rows.flatMap(({ name }) => {
    const [, year, month, date] = /_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? [];
    const day = new Date(Date.UTC(Number(year), Number(month) - 1, Number(date)));
    return nextDay(day) <= before ? [day] : [];
  });
}

/**
 * Takes a day until `until`, unless another replica has it or it was looked at after `lookedBefore`. Repeated, it keeps the
 * day. Returns whether it could.
 */
export async function takeDay(
  db: Queryable,
  options: { day: Date; replica: string; now: Date; until: Date; lookedBefore: Date },
): Promise<boolean> {
  const rows = await db.query(
    `insert into result_file_days as d (day, replica, until) values ($1, $2, $4)
     on conflict (day) do update set replica = excluded.replica, until = excluded.until
     where (d.until is null or d.until < $3 or d.replica = excluded.replica)
       and (d.looked_at is null or d.looked_at < $5) returning day`,
    [options.day, options.replica, options.now, options.until, options.lookedBefore],
  );
  return rows.length > 0;
}

/** Notes that a day has been looked at, and lets it go. */
export async function finishDay(
  db: Queryable,
  { day, replica, now }: { day: Date; replica: string; now: Date | null },
): Promise<void> {
  await db.query(
    `update result_file_days set looked_at = coalesce($3, looked_at), replica = null, until = null where day = $1 and replica = $2`,
    [day, replica, now],
  );
}

export async function forgetDays(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from result_file_days where day < $1', [before]);
}

/** A check, in the order of moves: by account and id. */
export type CheckKey = { accountId: string; checkId: string };

/** Checks after `after` in their order (null = from the first one on); at most `limit`. */
export async function checksInOrder(
  db: Queryable,
  { after, limit }: { after: CheckKey | null; limit: number },
): Promise<CheckKey[]> {
  return db.query<CheckKey>(
    `select account_id as "accountId", id as "checkId" from checks
     where $1::uuid is null or (account_id, id) > ($1::uuid, $2::uuid) order by account_id, id limit $3`,
    [after?.accountId ?? null, after?.checkId ?? null, limit],
  );
}

/** About what a base adds to the difference that is stored, when it is compressed. */
const baseBytes = 2_048;

export type CheckShare = CheckKey & { rows: number; bytes: number };

/** How many results of a day may move, of these checks and in their order. `bytes`: about those of their stored bodies. */
export async function sharesOfChecks(
  db: Queryable,
  { day, now, checkIds }: { day: Date; now: number; checkIds: readonly string[] },
): Promise<CheckShare[]> {
  return db.query<CheckShare>(
    `select r.account_id as "accountId", r.check_id as "checkId", count(*)::float8 as rows,
       sum(pg_column_size(r.body) + case when r.base_id is null then 0 else ${baseBytes} end)::float8 as bytes
     from check_results r where r.check_id = any($4::uuid[]) and ${mayMove} group by 1, 2 order by 1, 2`,
    [day, nextDay(day), new Date(now - tracesMs), [...checkIds]],
  );
}

/** A result with what tells that it has not changed since. */
export type MovingRow = FileRow & { version: string };

/** `length`: bytes of its texts. `found`: how many results the statement looked at. */
type ReadRow = MovingRow & { length: number; found: number };

/**
 * Reads results of these checks that may move, by check and newest first: the first ones after `after`, as many as have
 * `mostLength` bytes of text together, and at least one. It looks at no more than `limit`.
 */
export async function readMoving(
  db: Queryable,
  options: {
    day: Date;
    now: number;
    accountId: string;
    checkIds: readonly string[];
    after: MovingRow | null;
    limit: number;
    mostLength: number;
  },
): Promise<ReadRow[]> {
  const { day, now, accountId, checkIds, after, limit, mostLength } = options;
  const order = 'r.check_id, r.started_at desc, r.id desc';
  return db.query<ReadRow>(
    // A base is read once for its length, and again for each result that is returned.
    `with found as materialized (
       select r.*, r.xmin::text as version, octet_length(r.body::text) + coalesce(octet_length(r.reason::text), 0) as own
       from check_results r
       where r.check_id = any($5::uuid[]) and r.account_id = $4 and ${mayMove} and ${bodyMayMove}
         and ($6::uuid is null or r.check_id <> $6 or (r.started_at, r.id) < ($7::timestamptz, $8::uuid))
       order by ${order} limit $9
     ), bases as materialized (
       select b.id, octet_length(b.body::text) as length from result_bases b
       where b.started_at >= $1 and b.started_at < $2 and b.id = any(array(select distinct base_id from found))
     ), measured as (
       select r.*, r.own + coalesce(b.length, 0) as length, count(*) over () as found,
         sum(r.own + coalesce(b.length, 0)) over (order by ${order} rows unbounded preceding) as upto
       from found r left join bases b on b.id = r.base_id
     )
     select ${columnNames.map((name) => `${columns[name].sql} as ${name}`).join(', ')}, r.version,
       r.length::float8 as length, r.found::float8 as found
     from measured r cross join lateral (select ${wholeBody('r.')} as body offset 0) as whole
     where r.upto - r.length < $10 order by ${order}`,
    [
      day,
      nextDay(day),
      new Date(now - tracesMs),
      accountId,
      [...checkIds],
      after?.check_id ?? null,
      after === null ? null : new Date(Number(after.started_at)),
      after?.id ?? null,
      limit,
      mostLength,
    ],
  );
}

/** What identifies a result that moves, and that it has not changed. */
export type MovedKey = { id: string; startedAt: Date; version: string };

/** Deletes these results, unless they have changed. Returns how many. */
export async function deleteMoved(tx: Queryable, day: Date, keys: readonly MovedKey[]): Promise<number> {
  const [deleted] = await tx.query<{ count: number }>(
    `with gone as (
       delete from check_results r using unnest($3::uuid[], $4::timestamptz[], $5::text[]) as item (id, at, version)
       where r.id = item.id and r.started_at = item.at and r.started_at >= $1 and r.started_at < $2
         and r.xmin::text = item.version returning 1
     ) select count(*)::float8 as count from gone`,
    [
      day,
      nextDay(day),
      keys.map(({ id }) => id),
      keys.map(({ startedAt }) => startedAt),
      keys.map(({ version }) => version),
    ],
  );
  return deleted?.count ?? 0;
}
