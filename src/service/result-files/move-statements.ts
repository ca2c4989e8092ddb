import { dayMs } from '../../durations.ts';
import { sqlTypesWhere } from '../checks/types/table.ts';
import type { Db, Queryable } from '../db/database.ts';
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

/** About what a base adds to the difference that is stored. */
const baseBytes = 2_048;

export type CheckShare = { accountId: string; checkId: string; rows: number; bytes: number };

/** How many results of a day may move, by account and check, in this order. `bytes`: of their stored bodies. */
export async function sharesOfDay(
  db: Queryable,
  { day, now }: { day: Date; now: number },
): Promise<CheckShare[]> {
  return db.query<CheckShare>(
    `select r.account_id as "accountId", r.check_id as "checkId", count(*)::float8 as rows,
       sum(pg_column_size(r.body) + case when r.base_id is null then 0 else ${baseBytes} end)::float8 as bytes
     from check_results r where ${mayMove} group by 1, 2 order by 1, 2`,
    [day, nextDay(day), new Date(now - tracesMs)],
  );
}

/** A result with what tells that it has not changed since. */
export type MovingRow = FileRow & { version: string };

/** Reads results of these checks that may move, by check and newest first; at most `limit`. */
export async function readMoving(
  db: Queryable,
  options: { day: Date; now: number; accountId: string; checkIds: readonly string[]; limit: number },
): Promise<MovingRow[]> {
  return db.query<MovingRow>(
    `select ${columnNames.map((name) => `${columns[name].sql} as ${name}`).join(', ')}, r.xmin::text as version
     from check_results r cross join lateral (select ${wholeBody('r.')} as body offset 0) as whole
     where r.check_id = any($5::uuid[]) and r.account_id = $4 and ${mayMove} and ${bodyMayMove}
     order by r.check_id, r.started_at desc, r.id desc limit $6`,
    [
      options.day,
      nextDay(options.day),
      new Date(options.now - tracesMs),
      options.accountId,
      [...options.checkIds],
      options.limit,
    ],
  );
}

/** Deletes these results, unless they have changed. Returns how many. */
export async function deleteMoved(tx: Queryable, day: Date, rows: readonly MovingRow[]): Promise<number> {
  const [deleted] = await tx.query<{ count: number }>(
    `with gone as (
       delete from check_results r using unnest($3::uuid[], $4::timestamptz[], $5::text[]) as item (id, at, version)
       where r.id = item.id and r.started_at = item.at and r.started_at >= $1 and r.started_at < $2
         and r.xmin::text = item.version returning 1
     ) select count(*)::float8 as count from gone`,
    [
      day,
      nextDay(day),
      rows.map(({ id }) => id),
      rows.map(({ started_at: at }) => new Date(Number(at))),
      rows.map(({ version }) => version),
    ],
  );
  return deleted?.count ?? 0;
}

const lockMs = 1_000;

/**
 * Rewrites the table of a day, which gives the space of deleted rows back to the disk. Fails if statements use the table all
 * the time.
 */
export async function shrinkDay(db: Db, day: Date): Promise<void> {
  const name = `check_results_${day.toISOString().slice(0, 10).replaceAll('-', '')}`;
  await db.tx(async (tx) => {
    await tx.query(`select set_config('lock_timeout', '${lockMs}', true)`);
    const [key] = await tx.query<{ name: string }>(
      `select indexrelid::regclass::text as name from pg_index where indrelid = to_regclass($1) and indisprimary`,
      [name],
    );
    if (key !== undefined) await tx.exec(`cluster ${name} using ${key.name}`);
  });
}
