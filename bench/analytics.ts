import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { createLog } from '../src/log.ts';
import { Secret } from '../src/secrets/secret.ts';
import { createRollupLoop, handleRollups } from '../src/service/analytics/rollup-work.ts';
import { buildApp } from '../src/service/app.ts';
import { createBackground } from '../src/service/engine/background.ts';
import { createPartitions } from '../src/service/db/partitions.ts';
import { migrate } from '../src/service/db/migrate.ts';
import type { Db } from '../src/service/db/database.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { createEncryption } from '../src/service/engine/encryption.ts';
import { createVacuum } from '../src/service/engine/vacuum.ts';
import { uuidv7 } from '../src/service/engine/ids.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { dayMs } from '../src/durations.ts';

/**
 * Analytics and the timeline of one check over 30 days of one-minute results (three locations in turn), p50 and p99, grouped and
 * ungrouped, and all pages of the list of 1,000 checks with statuses. Measured over HTTP on the embedded database and on a PostgreSQL server. Limit:
 * `limitMs` for each answer.
 */
const limitMs = 100;
const rounds = 15;
const days = 30;
const checks = 1_000;
const log = createLog({ level: 'WARN', scrub: (line) => line });
const places = ['eu-west-1', 'us-east-1', 'ap-south-1'];

type Prepared = { checkId: string; key: string };

async function fill(db: Db, now: number): Promise<Prepared> {
  const accountId = uuidv7();
  const key = 'key_of_the_benchmark';
  await db.query(`insert into accounts (id, name) values ($1, 'Bench')`, [accountId]);
  await db.query(
    `insert into api_keys (id, account_id, name, key_hash, masked_key) values ($1, $2, 'bench', $3, '...')`,
    [uuidv7(), accountId, createHash('sha256').update(key).digest()],
  );
  const ids = Array.from({ length: checks }, () => uuidv7());
  await db.query(
    `insert into checks (id, account_id, check_type, name, locations, frequency, interval_seconds, offset_seconds, definition)
     select id, $2, 'URL', 'Check of the benchmark', $3::text[], 1, 60, 0, '{}' from unnest($1::uuid[]) as item (id)`,
    [ids, accountId, places],
  );
  await db.query(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, longest_run, shortest_run,
       last_run_location, last_started_at)
     select id, $2, 'passed', false, false, false, 900, 20, 'eu-west-1', now() from unnest($1::uuid[]) as item (id)`,
    [ids, accountId],
  );
  const [checkId = ''] = ids;
  await createPartitions(db).make(Array.from({ length: days + 1 }, (_, day) => now - day * dayMs));
  const body = {
    assertions: [
      { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200', property: '', regex: null, actual: 200 },
    ],
    timings: {
      dns: 1.25,
      connect: 11.5,
      tls: 14.25,
      firstByte: 50.5,
      download: 2.75,
      remainder: 0.5,
      total: 80.75,
    },
    details: {
      request: { url: 'https://shop.example/' },
      response: { status: 200, headers: { server: 'shop' } },
    },
    artifacts: [],
    log: [],
  };
  await db.exec('select setseed(0.5)');
  for (let day = 0; day < days; day++) {
    // In chronological order, as agents deliver them.
    await db.query(
      `insert into check_results (id, started_at, stopped_at, account_id, check_id, sequence_id, check_type, run_location,
         result_type, status, has_failures, has_errors, is_degraded, over_max_response_time, is_cancelled, response_time,
         attempts, body)
       select gen_random_uuid(), at, at, $2, $1, gen_random_uuid(), 'URL', ($3::text[])[1 + n % 3], 'FINAL',
         case when chance < 0.01 then 'failed' else 'passed' end, chance < 0.01, false, false, false, false,
         exp(4 + chance * 3), 0, $4::jsonb
       from (
         select n, $5::timestamptz + make_interval(mins => n) as at, random() as chance from generate_series(0, 1439) as n
       ) as runs`,
      [checkId, accountId, places, JSON.stringify(body), new Date(now - (days - day) * dayMs)],
    );
  }
  await db.query(
    `insert into rollups_due (hour, check_id) select distinct date_trunc('hour', started_at, 'UTC'), check_id from check_results`,
  );
  return { checkId, key };
}

type Figures = { rollupMsPerHour: number; answers: Record<string, { median: number; slowest: number }> };

async function run(db: Db): Promise<Figures> {
  await migrate(db);
  const now = Date.now();
  const { checkId, key } = await fill(db, now);
  const background = createBackground({ db, log });
  handleRollups({ db, background, now: () => now, log });
  await background.prepare();
  const began = performance.now();
  await createRollupLoop({ db, background, now: () => now, log }).tick();
  await background.tick();
  const rollupMsPerHour = Number(((performance.now() - began) / (days * 24)).toFixed(2));
  // As the service does in the background.
  if (db.kind === 'embedded') await createVacuum({ db, log }).tick();
  const app = await buildApp({ db, encryption: createEncryption('bench'), now: () => now, background });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`; // it listens on TCP
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(base + path, { headers: { authorization: `Bearer ${key}` } });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const analytics = `/v1/analytics/url-checks/${checkId}?quickRange=last30Days&metrics=responseTime_p50,responseTime_p99`;
  const questions: [string, () => Promise<unknown>][] = [
    ['whole', () => get(analytics)],
    ['byLocation', () => get(`${analytics}&groupBy=runLocation`)],
    ['daily', () => get(`${analytics}&aggregationInterval=1440&limit=100`)],
    ['hourlyByLocation', () => get(`${analytics}&aggregationInterval=60&groupBy=runLocation&limit=100`)],
    ['timeline', () => get(`/v1/checks/${checkId}/timeline?quickRange=last30Days`)],
    [
      'timelineByLocation',
      () => get(`/v1/checks/${checkId}/timeline?quickRange=last30Days&groupBy=location`),
    ],
    [
      'statuses',
      async () => {
        for (let page = 1; page <= checks / 100; page++)
          await get(`/v1/check-statuses?limit=100&page=${page}`);
      },
    ],
    ['overview', () => get('/v1/checks?limit=100')],
  ];
  const figures: Record<string, { median: number; slowest: number }> = {};
  for (const [name, ask] of questions) {
    await ask();
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const started = performance.now();
      await ask();
      times.push(performance.now() - started);
    }
    times.sort((a, b) => a - b);
    const shown = (value = 0) => Number(value.toFixed(1));
    figures[name] = { median: shown(times[rounds >> 1]), slowest: shown(times.at(-1)) };
    console.log(
      `${db.kind.padEnd(9)} ${name.padEnd(18)} median ${figures[name].median} ms, slowest ${figures[name].slowest} ms`,
    );
  }
  await app.close();
  await background.stop();
  return { rollupMsPerHour, answers: figures };
}

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  const embedded = await openDatabase({ databaseUrl: null, dataDir });
  const figures: { [kind: string]: Figures } = { embedded: await run(embedded) };
  await embedded.close();
  await rm(dataDir, { recursive: true });
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
  const medians = Object.values(figures).flatMap(({ answers }) =>
    Object.values(answers).map(({ median }) => median),
  );
  const ours = Math.max(...medians);
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`;
  const ratio = Number((ours / limitMs).toFixed(2));
  console.log(
    JSON.stringify({
      name: 'analytics',
      unit: 'ms',
      ours,
      peer: null,
      limit: limitMs,
      ratio,
      figures,
      machine,
    }),
  );
  process.exitCode = ours <= limitMs ? 0 : 1;
}

await main();
