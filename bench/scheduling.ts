import { existsSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { Secret } from '../src/secrets/secret.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { cpuMs, report, rssMb, stopChild, temporaryFolder, treeCpuMs } from './lib/processes.ts';
import { addChecks, figuresOf, intervalMs, startAgents, startReplica } from './lib/scheduled-checks.ts';

/**
 * 10,000 one-minute checks on PostgreSQL with simulated agents and two replicas, one of which is killed (SIGKILL) and restarted
 * midway. Measured: start delay of runs, lost and doubled runs, and the cost of a run.
 *
 * Arguments: full minutes to measure (default 3; at least 2, because of the kill), number of checks (default 10000).
 */
const minutes = Math.max(1, Number(process.argv[2] ?? 3));
const checks = Number(process.argv[3] ?? 10_000);
const limitMs = 2_000;
const key = 'pl_a_key_of_the_benchmark';

const binaries = await postgresBinaries();
if (binaries === null) throw new Error('this benchmark needs PostgreSQL: apt-get install postgresql');
const folder = temporaryFolder();
// As in production, every commit is written to disk: the test server runs without fsync, so turn it on.
const settings = ['fsync=on', 'shared_buffers=256MB', 'max_wal_size=2GB', 'track_io_timing=off'];
const hasStatements = existsSync(join(binaries, '..', 'lib', 'pg_stat_statements.so'));
if (hasStatements) settings.push('shared_preload_libraries=pg_stat_statements');
const postgres = await startPostgres(binaries, settings);
const db = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
if (hasStatements) await db.exec('create extension pg_stat_statements');
const env = (name: string) => ({
  DATABASE_URL: postgres.url('postgres'),
  SERVICE_DATA_DIR: join(folder, name),
  SERVICE_ENCRYPTION_KEY: 'a passphrase of the benchmark',
  SERVICE_LOCATION_KEY: key,
});
const first = await startReplica(env('one'));
const second = await startReplica(env('two'));
const ids = await addChecks(db, { accountId: first.accountId, count: checks });
// A restarted replica keeps its address, as behind a load balancer.
const port = new URL(first.url).port;
const agents = await startAgents({
  urls: [first.url, second.url],
  keys: [key],
  count: 20,
  slots: 100,
  runMs: 100,
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
// Skip the first seconds, in which all parts start.
const from = Date.now() + 10_000;
const to = from + minutes * intervalMs;
await sleep(from - Date.now());
if (hasStatements) await db.exec('select pg_stat_statements_reset()');
const before = {
  second: cpuMs(second.child.pid ?? 0),
  postgres: treeCpuMs(postgres.pid()),
  first: cpuMs(first.child.pid ?? 0),
};
const [wal] = await db.query<{ at: string }>('select pg_current_wal_lsn()::text as at');
const half = from + (to - from) / 2;
await sleep(half - Date.now());
const cost = {
  replicas: cpuMs(second.child.pid ?? 0) - before.second + cpuMs(first.child.pid ?? 0) - before.first,
  postgres: treeCpuMs(postgres.pid()) - before.postgres,
};
const [walHalf] = await db.query<{ bytes: number }>(
  'select pg_wal_lsn_diff(pg_current_wal_lsn(), $1::pg_lsn) as bytes',
  [wal?.at],
);
const statements = hasStatements
  ? await db.query<{ sql: string; calls: number; ms: number }>(
      `select left(regexp_replace(query, '\\s+', ' ', 'g'), 70) as sql, sum(calls) as calls, sum(total_exec_time) as ms
       from pg_stat_statements group by 1 order by 3 desc limit 16`,
    )
  : [];
const runsOfHalf = ((half - from) / intervalMs) * checks;
let back = first;
const killed = once(first.child, 'exit');
first.child.kill('SIGKILL');
await killed;
console.log('one replica killed');
await sleep(5_000);
back = await startReplica({ ...env('one'), SERVICE_PORT: port });
console.log(`replica restarted after ${((Date.now() - half) / 1000).toFixed(1)} s`);
await sleep(to - Date.now());
// Let the last runs start and finish.
await sleep(5_000);
const runs = await agents.stop();
const memory = [back, second].map(({ child }) => Math.round(rssMb(child.pid ?? 0)));
for (const { child } of [back, second]) await stopChild(child);

const figures = figuresOf(runs, { ids, from, to });
const within = [new Date(from), new Date(to)];
const [stored] = await db.query<{ finals: number; missed: number; doubled: number }>(
  `select count(*) filter (where status <> 'missed') as finals, count(*) filter (where status = 'missed') as missed,
     count(*) filter (where status <> 'missed') - count(distinct job_id) filter (where status <> 'missed') as doubled
   from check_results where started_at >= $1 and started_at < $2 and result_type = 'FINAL'`,
  within,
);
const [size] = await db.query<{ results: number; finished: number; rows: number }>(
  `select (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'check_results'::regclass) as results,
     (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'finished_jobs'::regclass) as finished,
     (select count(*) from check_results) as rows`,
);
const perRun = (value: number) => (value / runsOfHalf).toFixed(3);
const rows = size?.rows ?? 1;
console.log(`checks, minutes                 ${checks}, ${minutes}`);
console.log(`runs due, stored, missed        ${figures.expected}, ${stored?.finals}, ${stored?.missed}`);
console.log(
  `start of run - due              p50 ${figures.p50} ms, p99 ${figures.p99} ms, worst ${figures.worst} ms`,
);
console.log(`runs lost, doubled              ${figures.lost}, ${figures.doubled + (stored?.doubled ?? 0)}`);
console.log(`CPU per run, all replicas       ${perRun(cost.replicas)} ms`);
console.log(`CPU per run, PostgreSQL         ${perRun(cost.postgres)} ms`);
console.log(`write-ahead log per run         ${Math.round((walHalf?.bytes ?? 0) / runsOfHalf)} bytes`);
console.log(
  `table and indexes per result    ${Math.round((size?.results ?? 0) / rows)} bytes, ${Math.round((size?.finished ?? 0) / rows)} more for a day`,
);
console.log(`memory of the replicas          ${memory.join(', ')} MB`);
console.log('PostgreSQL, per run:            ms, calls, statement');
for (const { sql, calls, ms } of statements) console.log(`  ${perRun(ms)} ${perRun(calls)} ${sql}`);
await db.close();
await postgres.stop();
rmSync(folder, { recursive: true, force: true });
const isGood = figures.p99 <= limitMs && figures.lost === 0 && figures.doubled === 0 && stored?.doubled === 0;
report({
  name: 'scheduling',
  unit: 'ms',
  ours: figures.p99,
  peer: null,
  limit: limitMs,
  ratio: figures.p99 / limitMs,
});
process.exitCode = isGood ? 0 : 1;
