import { createHash } from 'node:crypto';
import { hourMs } from '../../src/durations.ts';
import { refreshDayFigures } from '../../src/service/analytics/day-figures.ts';
import { makeRollupPartition } from '../../src/service/analytics/rollup-statements.ts';
import type { Db } from '../../src/service/db/database.ts';
import { createPartitions } from '../../src/service/db/partitions.ts';
import { bucketSql } from '../../src/service/engine/histogram.ts';
import { uuidv7 } from '../../src/service/engine/ids.ts';

/**
 * Adds an account with so many checks that run every 10 minutes, with a day of figures and three hours of results.
 * Returns its API key.
 */
export async function fillAccount(db: Db, now: number, checks: number): Promise<string> {
  const accountId = uuidv7();
  const key = `key_of_the_benchmark_${checks}`;
  await db.query(`insert into accounts (id, name) values ($1, 'Bench')`, [accountId]);
  await db.query(
    `insert into api_keys (id, account_id, name, key_hash, masked_key) values ($1, $2, 'bench', $3, '...')`,
    [uuidv7(), accountId, createHash('sha256').update(key).digest()],
  );
  const hour = Math.floor(now / hourMs) * hourMs;
  await createPartitions(db).make([now - 24 * hourMs, now]);
  for (const at of [hour - 24 * hourMs, hour]) await makeRollupPartition(db, new Date(at));
  const definition = JSON.stringify({
    request: { url: 'https://shop.example/a/page' },
    filler: 'x'.repeat(600),
  });
  await db.query(
    `insert into checks (id, account_id, check_type, name, tags, locations, frequency, interval_seconds, offset_seconds, definition,
       next_due_at)
     select gen_random_uuid(), $1, 'URL', 'Check ' || md5(n::text), array['team-' || n % 40, 'tier-' || n % 3], '{eu-west-1}', 10, 600,
       0, $2::jsonb, now() from generate_series(1, $3::integer) as n`,
    [accountId, definition, checks],
  );
  await db.query(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_run_location, last_started_at)
     select id, $1, case when random() < 0.02 then 'failed' else 'passed' end, false, false, false, 'eu-west-1', now() from checks`,
    [accountId],
  );
  for (let back = 23; back >= 2; back--) {
    await db.query(
      `insert into check_rollups (check_id, metric, hour, run_location, status, group_key, count, sum, squares, least, greatest,
         bucket_keys, bucket_counts)
       select id, metric, $1, 'eu-west-1', 'passed', '', 6, 600, 1e5, 50, 200,
         case metric when 'retries' then '{-32768}'::smallint[] else array(
           select distinct ${bucketSql('v')} from (select 50 + 400 * random() + 0 * length(c.name) as v from generate_series(1, 6)) x order by 1) end,
         case metric when 'retries' then '{6}'::integer[] else '{1,1,1,1,1,1}'::integer[] end
       from checks c cross join unnest(array['retries', 'responseTime', 'dns', 'tcp', 'wait', 'firstByte', 'download']) as metric`,
      [new Date(hour - back * hourMs)],
    );
  }
  const ids = await db.query<{ id: string }>('select id from checks');
  for (let at = 0; at < ids.length; at += 500) {
    const checkIds = ids.slice(at, at + 500).map(({ id }) => id);
    await refreshDayFigures(db, { checkIds, hour: new Date(hour - 2 * hourMs) });
  }
  for (let at = hour - 2 * hourMs; at < now; at += hourMs / 6) {
    await db.query(
      `insert into check_results (id, started_at, stopped_at, account_id, check_id, sequence_id, check_type, run_location,
         result_type, status, has_failures, has_errors, is_degraded, over_max_response_time, is_cancelled, response_time,
         attempts, body)
       select gen_random_uuid(), $2, $2, $1, id, id, 'URL', 'eu-west-1', 'FINAL', 'passed', false, false, false, false, false,
         50 + 400 * random(), 0, $3::jsonb from checks`,
      [accountId, new Date(at), definition],
    );
  }
  await db.query(
    `insert into rollups_due (hour, check_id) select at, id from checks cross join unnest($1::timestamptz[]) as at`,
    [[new Date(hour), new Date(hour - hourMs)]],
  );
  await db.exec('analyze');
  return key;
}
