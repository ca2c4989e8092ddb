import { createHash } from 'node:crypto';
import { dayMs, hourMs } from '../../src/durations.ts';
import { createPartitions } from '../../src/service/db/partitions.ts';
import type { Db } from '../../src/service/db/database.ts';
import { uuidv7 } from '../../src/service/engine/ids.ts';

/** Results of several URL checks over a month, one a minute each, as agents report them. */

const places = ['eu-west-1', 'us-east-1', 'ap-south-1'];
export const key = 'key_of_the_benchmark';

/** Fills an account. Returns the checks, and the first day. */
export async function fillMonth(
  db: Db,
  { now, days, checks }: { now: number; days: number; checks: number },
): Promise<{ accountId: string; checkIds: string[]; first: number }> {
  const accountId = uuidv7();
  await db.query(`insert into accounts (id, name) values ($1, 'Bench')`, [accountId]);
  await db.query(
    `insert into api_keys (id, account_id, name, key_hash, masked_key) values ($1, $2, 'bench', $3, '...')`,
    [uuidv7(), accountId, createHash('sha256').update(key).digest()],
  );
  const checkIds = Array.from({ length: checks }, () => uuidv7());
  await db.query(
    `insert into checks (id, account_id, check_type, name, locations, frequency, interval_seconds, offset_seconds, definition)
     select id, $2, 'URL', 'Check of the benchmark', $3::text[], 1, 60, 0, '{}' from unnest($1::uuid[]) as item (id)`,
    [checkIds, accountId, places],
  );
  const first = Math.floor(now / dayMs) * dayMs - days * dayMs;
  await createPartitions(db).make(Array.from({ length: days + 1 }, (_, day) => first + day * dayMs));
  await db.exec('select setseed(0.5)');
  for (let day = first; day < now; day += dayMs) await fillDay(db, { accountId, checkIds, day, now });
  await db.query(
    `insert into rollups_due (hour, check_id)
     select distinct date_trunc('hour', started_at, 'UTC'), check_id from check_results where started_at < $1`,
    [new Date(Math.floor(now / hourMs) * hourMs)],
  );
  return { accountId, checkIds, first };
}

/** Answers with headers of which two differ each time, phases in hundredths of a millisecond, and one assertion. */
async function fillDay(
  db: Db,
  { accountId, checkIds, day, now }: { accountId: string; checkIds: string[]; day: number; now: number },
): Promise<void> {
  const headers = Object.fromEntries(
    Array.from({ length: 10 }, (_, n) => [`x-header-${n}`, `the usual value of header ${n}`]),
  );
  await db.query(
    `insert into check_results (id, started_at, stopped_at, stored_at, account_id, check_id, job_id, lease_token, sequence_id,
       check_type, run_location, result_type, status, has_failures, has_errors, is_degraded, over_max_response_time,
       is_cancelled, response_time, attempts, body)
     select (lpad(to_hex(ms), 12, '0') || '7' || substr(hash, 1, 3) || 'a' || substr(hash, 4, 15))::uuid, at,
       at + make_interval(secs => round(total::numeric / 1000, 3)::float8), at + interval '1 second', $2, check_id,
       substr(md5('job' || hash), 1, 32)::uuid, '018f0000-0000-7000-8000-000000000000', substr(md5('run' || hash), 1, 32)::uuid,
       'URL', ($3::text[])[1 + n % 3], 'FINAL', case when chance < 0.01 then 'failed' else 'passed' end, chance < 0.01, false,
       false, false, false, total, 0,
       jsonb_build_object(
         'assertions', jsonb_build_array(jsonb_build_object('source', 'STATUS_CODE', 'comparison', 'EQUALS', 'target', '200',
           'property', '', 'regex', null, 'actual', case when chance < 0.01 then 503 else 200 end)),
         'timings', jsonb_build_object('dns', round((chance * 3)::numeric, 2), 'connect', round((chance * 29)::numeric, 2),
           'tls', round((chance * 37)::numeric, 2), 'firstByte', round((total * 0.8)::numeric, 2), 'total', round(total::numeric, 2)),
         'details', jsonb_build_object('request', jsonb_build_object('url', 'https://shop.example/', 'method', 'GET'),
           'response', jsonb_build_object('status', case when chance < 0.01 then 503 else 200 end,
             'headers', $4::jsonb || jsonb_build_object('date', at::text, 'x-request-id', substr(hash, 1, 16)))),
         'artifacts', '[]'::jsonb, 'log', '[]'::jsonb)
     from (
       select c.id as check_id, n, (extract(epoch from at) * 1000)::bigint as ms, at, random() as chance,
         exp(4 + random() * 3) as total, md5(c.id::text || n || at) as hash
       from unnest($1::uuid[]) as c (id), generate_series(0, 1439) as n,
         lateral (select $5::timestamptz + make_interval(secs => n * 60 + 6.012) as at) as moment
       where at < $6 order by n
     ) as runs`,
    [checkIds, accountId, places, JSON.stringify(headers), new Date(day), new Date(now)],
  );
}
