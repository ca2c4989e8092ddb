import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '../src/secrets/secret.ts';
import type { Db } from '../src/service/db/database.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { createChecks } from './lib/created-checks.ts';
import { cpuMs, report, stopChild, temporaryFolder, treeCpuMs } from './lib/processes.ts';
import { addChecks, figuresOf, startAgents, startReplica } from './lib/scheduled-checks.ts';

/**
 * What a light run that passes costs the service, once through the queue of jobs and once with agents that hold the
 * checks, in one sitting: processor time of service and database, statements and write-ahead log. Measured on PostgreSQL
 * and with the embedded database. Each pair of figures is also a ratio.
 *
 * Arguments: seconds to measure (default 60), number of checks that run every 10 seconds (default 1000), and one of
 * `server` and `embedded` (default both).
 */
const seconds = Math.max(10, Number(process.argv[2] ?? 60));
const checks = Number(process.argv[3] ?? 1_000);
const only = process.argv[4];
const everySeconds = 10;
/** Milliseconds of service and database for each run. */
const limits = { server: 0.6, embedded: 0.8 };
const walLimit = 1_000;
const locationKey = 'pl_a_key_of_the_benchmark';
const apiKey = 'sk_a_key_of_the_benchmark';
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

type Mode = 'queue' | 'assignments';
type Figures = {
  service: number;
  database: number;
  wal: number;
  statements: number;
  rowBytes: number;
  lost: number;
  doubled: number;
  p50: number;
  p99: number;
};
type Place = { env: Record<string, string>; database: { db: Db; pid: () => number; counts: boolean } | null };

/** One service with one agent's worth of load, in one mode. */
async function measure(mode: Mode, { env, database }: Place): Promise<Figures> {
  const replica = await startReplica({
    ...env,
    SERVICE_ASSIGNMENTS: String(mode === 'assignments'),
    SERVICE_LOCATION_KEY: locationKey,
    SERVICE_API_KEY: apiKey,
    SERVICE_RATE_LIMIT: '0',
  });
  const pid = replica.child.pid ?? 0;
  const ids =
    database === null
      ? await createChecks({ url: replica.url, apiKey, count: checks, everySeconds })
      : await addChecks(database.db, { accountId: replica.accountId, count: checks, seconds: everySeconds });
  const load = { urls: [replica.url], keys: [locationKey], count: 2, slots: 200, runMs: 50 };
  const agents = await startAgents({ ...load, holds: mode === 'assignments' });
  // Every check has run a few times, so that the figures are those of uneventful runs.
  const from = Date.now() + 3.5 * everySeconds * 1000;
  const to = from + seconds * 1000;
  await sleep(from - Date.now());
  const db = database?.db;
  if (database?.counts === true) await db?.exec('select pg_stat_statements_reset()');
  const before = { service: cpuMs(pid), database: database === null ? 0 : treeCpuMs(database.pid()) };
  const wal = await db?.query<{ at: string }>('select pg_current_wal_lsn()::text as at');
  await sleep(to - Date.now());
  const after = { service: cpuMs(pid), database: database === null ? 0 : treeCpuMs(database.pid()) };
  const walBytes = await db?.query<{ bytes: number }>(
    'select pg_wal_lsn_diff(pg_current_wal_lsn(), $1::pg_lsn) as bytes',
    [wal?.[0]?.at],
  );
  const runsDue = (seconds / everySeconds) * checks;
  const statements =
    database?.counts === true
      ? ((await db?.query<{ sql: string; calls: number; ms: number }>(
          `select left(regexp_replace(query, '\\s+', ' ', 'g'), 90) as sql, sum(calls) as calls, sum(total_exec_time) as ms
           from pg_stat_statements group by 1 order by 3 desc limit 200`,
        )) ?? [])
      : [];
  if (process.env['BENCH_STATEMENTS'] !== undefined) {
    for (const { sql, calls, ms } of statements.slice(0, 24)) {
      console.log(`  ${(ms / runsDue).toFixed(4)} ms ${(calls / runsDue).toFixed(3)} ${sql}`);
    }
  }
  const size = await db?.query<{ bytes: number }>(
    `select (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'check_results'::regclass)
       / greatest(1, (select count(*) from check_results)) as bytes`,
  );
  await sleep(3_000);
  const runs = await agents.stop();
  await stopChild(replica.child);
  const figures = figuresOf(runs, { ids, from, to, periodMs: everySeconds * 1000 });
  return {
    service: (after.service - before.service) / runsDue,
    database: (after.database - before.database) / runsDue,
    wal: (walBytes?.[0]?.bytes ?? 0) / runsDue,
    statements: statements.reduce((sum, { calls }) => sum + calls, 0) / runsDue,
    rowBytes: Number(size?.[0]?.bytes ?? 0),
    ...figures,
  };
}

function print(place: string, { queue, assignments }: Record<Mode, Figures>): void {
  const row = (name: string, value: (figures: Figures) => number, digits: number, unit: string) => {
    const [before, after] = [value(queue), value(assignments)];
    const ratio = after === 0 ? '' : `, ratio ${(before / after).toFixed(1)}`;
    console.log(
      `${place}, ${name}`.padEnd(44) + `${before.toFixed(digits)} → ${after.toFixed(digits)} ${unit}${ratio}`,
    );
  };
  row('CPU per run, service', ({ service }) => service, 3, 'ms');
  if (place === 'server') {
    row('CPU per run, PostgreSQL', ({ database }) => database, 3, 'ms');
    row('CPU per run, together', ({ service, database }) => service + database, 3, 'ms');
    row('statements per run', ({ statements }) => statements, 2, '');
    row('write-ahead log per run', ({ wal }) => wal, 0, 'bytes');
    row('table and indexes per result', ({ rowBytes }) => rowBytes, 0, 'bytes');
  }
  row('start of run - due, p50', ({ p50 }) => p50, 0, 'ms');
  row('start of run - due, p99', ({ p99 }) => p99, 0, 'ms');
  row('runs lost and doubled', ({ lost, doubled }) => lost + doubled, 0, '');
}

const folder = temporaryFolder();
let worst = 0;
let isGood = true;

if (only !== 'embedded') {
  const binaries = await postgresBinaries();
  if (binaries === null) throw new Error('this benchmark needs PostgreSQL: apt-get install postgresql');
  // As in production, every commit is written to disk: the test server runs without fsync, so turn it on.
  const settings = ['fsync=on', 'shared_buffers=256MB', 'max_wal_size=2GB'];
  const counts = existsSync(join(binaries, '..', 'lib', 'pg_stat_statements.so'));
  if (counts) settings.push('shared_preload_libraries=pg_stat_statements');
  const postgres = await startPostgres(binaries, settings);
  const inDatabase = async (mode: Mode): Promise<Figures> => {
    const admin = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
    await admin.query(`create database ${mode}`);
    await admin.close();
    const db = await openDatabase({ databaseUrl: new Secret(postgres.url(mode)), dataDir: '' });
    if (counts) await db.exec('create extension pg_stat_statements');
    const env = {
      DATABASE_URL: postgres.url(mode),
      SERVICE_DATA_DIR: join(folder, mode),
      SERVICE_ENCRYPTION_KEY: 'a passphrase of the benchmark',
    };
    const figures = await measure(mode, { env, database: { db, pid: postgres.pid, counts } });
    await db.close();
    return figures;
  };
  const both = { queue: await inDatabase('queue'), assignments: await inDatabase('assignments') };
  await postgres.stop();
  print('server', both);
  const { service, database, wal, lost, doubled } = both.assignments;
  worst = Math.max(worst, (service + database) / limits.server, wal / walLimit);
  isGood &&= lost + doubled === 0;
}
if (only !== 'server') {
  const inProcess = (mode: Mode) =>
    measure(mode, { env: { SERVICE_DATA_DIR: join(folder, `embedded-${mode}`) }, database: null });
  const both = { queue: await inProcess('queue'), assignments: await inProcess('assignments') };
  print('embedded', both);
  worst = Math.max(worst, both.assignments.service / limits.embedded);
  isGood &&= both.assignments.lost + both.assignments.doubled === 0;
}
rmSync(folder, { recursive: true, force: true });
report({ name: 'assignments', unit: 'of the limit', ours: worst, peer: null, limit: 1, ratio: worst });
process.exitCode = isGood && worst <= 1 ? 0 : 1;
