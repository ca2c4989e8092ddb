import type { CheckType } from '../../protocol/check-types.ts';
import { bucketSql } from '../engine/histogram.ts';
import { measuredColumns } from './measured-columns.ts';
import { measuresSql, rolledUpMetrics } from './measures.ts';
import type { Db, Queryable } from '../db/database.ts';
import { queryResults } from '../db/query-results.ts';
import { dropPartition } from '../db/partitions.ts';
import { noteReportDaysDue } from './report-day-statements.ts';
import { hourMs } from '../../durations.ts';

/**
 * Statements on rollups: hourly figures of checks. They are computed from results, and again when a late result
 * arrives.
 */

/** Returns the oldest outdated hour before `before`; null = none. */
export async function oldestRollupDue(
  db: Queryable,
  { before, except }: { before: Date; except: readonly Date[] },
): Promise<Date | null> {
  const rows = await db.query<{ hour: Date }>(
    'select hour from rollups_due where hour <= $1 and hour <> all($2::timestamptz[]) order by hour limit 1',
    [before, [...except]],
  );
  return rows[0]?.hour ?? null;
}

/**
 * Takes up to `limit` checks of an outdated hour; skips those that another replica has locked. The marks are deleted
 * first, so a result that is stored from now on marks its hour again when this transaction has ended. Uneventful results are
 * stored long before: see `createHourMarks`.
 */
export async function takeRollupsDue(
  tx: Queryable,
  { hour, limit }: { hour: Date; limit: number },
): Promise<{ checks: { id: string; checkType: CheckType }[]; taken: number }> {
  const rows = await tx.query<{ id: string; checkType: CheckType | null }>(
    `with picked as (
       select check_id from rollups_due where hour = $1 order by check_id limit $2 for update skip locked
     ), gone as (
       delete from rollups_due d using picked where d.hour = $1 and d.check_id = picked.check_id returning d.check_id
     )
     select g.check_id as id, c.check_type as "checkType" from gone g left join checks c on c.id = g.check_id`,
    [hour, limit],
  );
  return {
    taken: rows.length,
    // A deleted check needs no rollups.
    checks: rows.flatMap(({ id, checkType }) => (checkType === null ? [] : [{ id, checkType }])),
  };
}

/** Computes all rollups of an hour for checks of one type from their results, and replaces existing ones. */
export async function rollUp(
  tx: Queryable,
  { checkType, checkIds, hour }: { checkType: CheckType; checkIds: readonly string[]; hour: Date },
): Promise<void> {
  const until = new Date(hour.getTime() + hourMs);
  await queryResults(
    tx,
    {
      checkIds,
      spans: [{ from: hour, to: until }],
      columns: measuredColumns(checkType, rolledUpMetrics(checkType)),
      only: { result_type: 'FINAL' },
    },
    `insert into check_rollups as t (check_id, metric, hour, run_location, status, group_key, count, sum, squares, least,
       greatest, bucket_keys, bucket_counts)
     select check_id, metric, $2::timestamptz, run_location, status, group_key, sum(n)::integer, sum(total), sum(squared),
       min(low), max(high), array_agg(bucket order by bucket), array_agg(n::integer order by bucket)
     from (
       select r.check_id, m.metric, r.run_location, r.status, m.group_key, ${bucketSql('m.value')} as bucket,
         count(*) as n, sum(m.value) as total, sum(m.value * m.value) as squared, min(m.value) as low, max(m.value) as high
       from check_results r ${measuresSql(checkType, rolledUpMetrics(checkType))}
       where r.check_id = any($1::uuid[]) and r.started_at >= $2 and r.started_at < $3
         and r.result_type = 'FINAL' and not r.test_session and m.value is not null
         and (r.status in ('passed', 'degraded', 'failed') or (r.status = 'errored' and m.metric = 'retries'))
       group by 1, 2, 3, 4, 5, 6
     ) as buckets
     group by check_id, metric, run_location, status, group_key
     on conflict (check_id, metric, hour, run_location, status, group_key) do update set count = excluded.count,
       sum = excluded.sum, squares = excluded.squares, least = excluded.least, greatest = excluded.greatest,
       bucket_keys = excluded.bucket_keys, bucket_counts = excluded.bucket_counts`,
    [[...checkIds], hour, until],
  );
  await noteReportDaysDue(tx, { checkIds, hour });
}

/** An arbitrary lock number that must be the same in every replica. */
const advisoryLock = 4_400_013;

const partitioned = ['check_rollups', 'report_days'] as const;
type Partitioned = (typeof partitioned)[number];
const monthName = (table: Partitioned, time: Date) =>
  `${table}_${time.toISOString().slice(0, 7).replace('-', '')}`;
const monthStart = (time: Date, months = 0) =>
  new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months, 1));

/** Creates the monthly (UTC) partitions of an hour and its day. Must not run inside a transaction. */
export async function makeRollupPartition(db: Db, hour: Date): Promise<void> {
  for (const table of partitioned) {
    const name = monthName(table, hour);
    const exists = async (queryable: Queryable) => {
      const [row] = await queryable.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
        name,
      ]);
      return row?.found === true;
    };
    if (await exists(db)) continue;
    await db.tx(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
      if (await exists(tx)) return;
      const from = monthStart(hour).toISOString();
      const to = monthStart(hour, 1).toISOString();
      await tx.exec(`create table ${name} (like ${table} including defaults including constraints)`);
      await tx.exec(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`);
    });
  }
}

/** Drops partitions of months that ended before `before`. Returns their names. */
export async function dropRollupPartitions(db: Db, before: Date): Promise<string[]> {
  const dropped: string[] = [];
  for (const table of partitioned) {
    const rows = await db.query<{ name: string }>(
      'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
      [table],
    );
    // "check_rollups_202603": names sort by month.
    const old = rows
      .map(({ name }) => name)
      .filter((name) => /_\d{6}$/.test(name) && name < monthName(table, before));
    for (const name of old) if (await dropPartition(db, name)) dropped.push(name);
  }
  return dropped;
}
