import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { createLog } from '../src/log.ts';
import { Secret } from '../src/secrets/secret.ts';
import { buildApp } from '../src/service/app.ts';
import { refreshDayFigures } from '../src/service/analytics/day-figures.ts';
import { makeRollupPartition } from '../src/service/analytics/rollup-statements.ts';
import { createBackground } from '../src/service/engine/background.ts';
import { bucketSql } from '../src/service/engine/histogram.ts';
import { createPartitions } from '../src/service/db/partitions.ts';
import { migrate } from '../src/service/db/migrate.ts';
import type { Db } from '../src/service/db/database.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { createEncryption } from '../src/service/engine/encryption.ts';
import { createVacuum } from '../src/service/engine/vacuum.ts';
import { uuidv7 } from '../src/service/engine/ids.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { hourMs } from '../src/durations.ts';

/**
 * The overview of 10,000 checks that run every 10 minutes: processor time of this process for one page of 100, by state and by
 * p95. On the embedded database that includes the statements. Results older than three hours are there as rollups only.
 */
const limits = { state: 40, p95: 300 };
const rounds = 15;
const checks = 10_000;
const log = createLog({ level: 'WARN', scrub: (line) => line });

async function fill(db: Db, now: number): Promise<string> {
  const accountId = uuidv7();
  const key = 'key_of_the_benchmark';
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

type Cost = { cpu: number; wall: number };

async function run(db: Db): Promise<Record<string, Cost>> {
  await migrate(db);
  const now = Math.floor(Date.now() / hourMs) * hourMs + 0.5 * hourMs;
  const key = await fill(db, now);
  if (db.kind === 'embedded') await createVacuum({ db, log }).tick();
  const background = createBackground({ db, log });
  const app = await buildApp({ db, encryption: createEncryption('bench'), now: () => now, background });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`; // it listens on TCP
  const costs: Record<string, Cost> = {};
  for (const [name, query] of [
    ['state', 'sort=state'],
    ['name', 'sort=name'],
    ['search', 'search=check%20a'],
    ['p95', 'sort=p95&order=desc'],
  ]) {
    const ask = async () => {
      const answer = await fetch(`${base}/v1/checks-overview?limit=100&${query}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
    };
    await ask();
    const figures: Cost[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = process.cpuUsage();
      const began = performance.now();
      await ask();
      const { user, system } = process.cpuUsage(before);
      figures.push({ cpu: (user + system) / 1000, wall: performance.now() - began });
    }
    const median = (of: keyof Cost) =>
      Number((figures.map((one) => one[of]).sort((a, b) => a - b)[rounds >> 1] ?? 0).toFixed(1));
    const cost = { cpu: median('cpu'), wall: median('wall') };
    costs[String(name)] = cost;
    console.log(
      `${db.kind.padEnd(9)} ${String(name).padEnd(8)} ${cost.cpu} ms of processor, ${cost.wall} ms`,
    );
  }
  await app.close();
  return costs;
}

async function main(): Promise<void> {
  const figures: { [kind: string]: Record<string, Cost> } = {};
  const binaries = await postgresBinaries();
  if (binaries === null || !existsSync(binaries)) {
    console.log('server: not measured, because PostgreSQL is not installed');
  } else {
    const postgres = await startPostgres(binaries);
    const db = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
    figures['server'] = await run(db);
    await db.close();
    await postgres.stop();
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  const embedded = await openDatabase({ databaseUrl: null, dataDir });
  figures['embedded'] = await run(embedded);
  await embedded.close();
  await rm(dataDir, { recursive: true });
  const ratios = Object.values(figures).flatMap((costs) =>
    Object.entries(limits).map(([name, limit]) => (costs[name]?.cpu ?? 0) / limit),
  );
  const ratio = Number(Math.max(...ratios).toFixed(2));
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`;
  console.log(
    JSON.stringify({
      name: 'overview',
      unit: 'ms',
      ours: ratio * limits.state,
      peer: null,
      limit: limits.state,
      ratio,
      figures,
      machine,
    }),
  );
  process.exitCode = ratio <= 1 ? 0 : 1;
}

await main();
