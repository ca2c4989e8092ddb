import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { hashToken } from '../src/service/engine/keys.ts';
import { uuidv7 } from '../src/service/engine/ids.ts';
import { Secret } from '../src/secrets/secret.ts';
import type { Db } from '../src/service/db/database.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import type { InstantFigures, InstantOptions } from './lib/instant-agents.ts';
import { cpuMs, report, rssMb, stopChild, temporaryFolder, treeCpuMs } from './lib/processes.ts';
import { addChecks, startReplica } from './lib/scheduled-checks.ts';

/**
 * What one million one-minute checks need: the real code hands checks out and stores results, for simulated agents whose runs end
 * at once. A machine that is too small for 16,667 runs per second stores as many as it can. Measured: the cost of handing a check
 * out, of a run, and the memory of service and database; from them follow cores and memory.
 *
 * Arguments: number of checks (default 1000000), seconds to measure (default 60), checks of each account and agent (default 5000).
 */
const checks = Number(process.argv[2] ?? 1_000_000);
const seconds = Math.max(5, Number(process.argv[3] ?? 60));
const perAccount = Math.min(checks, Number(process.argv[4] ?? 5_000));
const million = 1_000_000;
const limits = { cores: 8, gigabytes: 30 };
/** The share of its core that a replica uses. */
const fullness = 0.6;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

const binaries = await postgresBinaries();
if (binaries === null) throw new Error('this benchmark needs PostgreSQL: apt-get install postgresql');
const folder = temporaryFolder();
// As in production, every commit is written to disk: the test server runs without fsync, so turn it on.
const settings = ['fsync=on', 'shared_buffers=512MB', 'max_wal_size=4GB', 'max_locks_per_transaction=256'];
/** `BENCH_STATEMENTS=1` lists what the statements of the measured time cost, where the extension is installed. */
const counts =
  process.env['BENCH_STATEMENTS'] !== undefined &&
  existsSync(join(binaries, '..', 'lib', 'pg_stat_statements.so'));
if (counts) settings.push('shared_preload_libraries=pg_stat_statements');
const postgres = await startPostgres(binaries, settings);
const db = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
if (counts) await db.exec('create extension pg_stat_statements');
const replica = await startReplica({
  DATABASE_URL: postgres.url('postgres'),
  SERVICE_DATA_DIR: join(folder, 'one'),
  SERVICE_ENCRYPTION_KEY: 'a passphrase of the benchmark',
  SERVICE_ASSIGNMENTS: 'true',
});
const pid = replica.child.pid ?? 0;

/** Memory of a process and its children in MB; what they share counts once. */
function treeMb(parent: number): number {
  let kb = 0;
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const ofParent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      if (Number(name) !== parent && ofParent !== parent) continue;
      kb += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      // The process has exited.
    }
  }
  return kb / 1024;
}
const read = () => ({
  service: cpuMs(pid),
  database: treeCpuMs(postgres.pid()),
  serviceMb: rssMb(pid),
  databaseMb: treeMb(postgres.pid()),
});

/** An account with a location and checks that have passed before. Returns the key of the location. */
async function addAccount(tx: Db, count: number): Promise<string> {
  const [accountId, locationId] = [uuidv7(), uuidv7()];
  const slug = `place-${accountId.slice(-12)}`;
  const key = `pl_${locationId.replaceAll('-', '')}`;
  await tx.query(`insert into accounts (id, name) values ($1, 'Account of the benchmark')`, [accountId]);
  await tx.query(
    `insert into locations (id, account_id, kind, name, slug_name) values ($1, $2, 'private', $3, $3)`,
    [locationId, accountId, slug],
  );
  await tx.query(
    `insert into location_keys (id, location_id, key_hash, masked_key) values ($1, $2, $3, '...')`,
    [uuidv7(), locationId, hashToken(key)],
  );
  const ids = await addChecks(tx, { accountId, count, slug });
  // As after earlier runs that passed, so that all runs from now on are uneventful.
  const before = new Date(Date.now() - 60_000);
  await tx.query(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, longest_run, shortest_run,
       last_run_location, last_check_run_id, last_started_at, ssl_days_remaining, is_behind)
     select id, $2, 'passed', false, false, false, 60000, 0, $3, id, $4, 61, true from unnest($1::uuid[]) as id`,
    [ids, accountId, slug, before],
  );
  await tx.query(
    `insert into alert_states (check_id, account_id, status, since, runs, last_run_at, last_run_id)
     select id, $2, 'passing', $3, 1, $3, id from unnest($1::uuid[]) as id`,
    [ids, accountId, before],
  );
  return key;
}

const empty = read();
const keys: string[] = [];
for (let left = checks; left > 0; left -= perAccount) {
  keys.push(await db.tx((tx) => addAccount(tx, Math.min(left, perAccount))));
}
await db.exec('analyze');
console.log(`${checks} checks in ${keys.length} accounts are there`);

const handing = read();
const handedAt = performance.now();
const file = fileURLToPath(new URL('./lib/instant-agents.js', import.meta.url));
const options: InstantOptions = { urls: [replica.url], keys, checks };
const agents = fork(file, [JSON.stringify(options)], {
  stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  execArgv: ['--max-old-space-size=8192'],
});
if (agents.stdout !== null) await once(createInterface({ input: agents.stdout }), 'line');
const held = read();
const handSeconds = (performance.now() - handedAt) / 1000;
const handCost = (held.service - handing.service + held.database - handing.database) / checks;
console.log(
  `handed out in ${handSeconds.toFixed(0)} s, ${handCost.toFixed(2)} ms of processor time for each check`,
);

async function figures(): Promise<InstantFigures> {
  const answer = once(agents, 'message') as Promise<[InstantFigures]>;
  agents.send('figures');
  return (await answer)[0];
}
agents.send('send');
// The first run of each check leaves what later ones repeat.
await sleep(Math.max(10_000, Math.min(65_000, seconds * 1000)));
// And the first run after those that were due while checks were handed out ends a record of missed ones, which is followed.
for (const until = Date.now() + 300_000; ;) {
  const [left] = await db.query<{ count: number }>(
    'select (select count(*) from finished_runs)::integer + (select count(*) from missed_runs)::integer as count',
  );
  if ((left?.count ?? 0) < checks / 1_000) break;
  if (Date.now() > until) {
    console.log(`after five minutes, ${left?.count} runs are still to be followed`);
    break;
  }
  await sleep(1_000);
}
if (counts) await db.exec('select pg_stat_statements_reset()');
const [start, runsBefore, begun] = [read(), await figures(), performance.now()];
let [serviceMb, databaseMb] = [0, 0];
while (performance.now() - begun < seconds * 1000) {
  await sleep(1_000);
  serviceMb = Math.max(serviceMb, rssMb(pid));
  databaseMb = Math.max(databaseMb, treeMb(postgres.pid()));
}
const [end, runsAfter] = [read(), await figures()];
const statements = counts
  ? await db.query<{ sql: string; calls: number; ms: number }>(
      `select left(regexp_replace(query, '\\s+', ' ', 'g'), 130) as sql, sum(calls) as calls, sum(total_exec_time) as ms
       from pg_stat_statements group by 1 order by 3 desc limit 24`,
    )
  : [];
const passed = (performance.now() - begun) / 1000;
agents.stdin?.end();
await once(agents, 'exit');
await stopChild(replica.child);
const [behind] = await db.query<{ count: number }>('select count(*)::integer as count from finished_runs');
const [hot] = await db.query<{ bytes: number }>(
  `select sum(pg_total_relation_size(name)) as bytes
   from unnest('{kept_checks,checks,check_statuses,alert_states}'::regclass[]) as name`,
);
const hotMb = (hot?.bytes ?? 0) / 1024 ** 2;
await db.close();
await postgres.stop();
rmSync(folder, { recursive: true, force: true });

const runs = runsAfter.stored - runsBefore.stored;
const others = runsAfter.others - runsBefore.others;
for (const { sql, calls, ms } of statements) {
  console.log(`  ${(ms / runs).toFixed(4)} ms ${calls} ${sql}`);
}
const perRun = {
  service: (end.service - start.service) / runs,
  database: (end.database - start.database) / runs,
};
const rate = million / 60;
const cores = { service: (rate * perRun.service) / 1000, database: (rate * perRun.database) / 1000 };
const replicas = Math.max(1, Math.ceil(cores.service / fullness));
// What each replica takes anyway and what grows with the checks; and for PostgreSQL its processes and buffers as measured, with
// the tables that every run reads in memory.
const scale = million / checks;
const serviceAll = replicas * empty.serviceMb + Math.max(0, serviceMb - empty.serviceMb) * scale;
const databaseAll = databaseMb + hotMb * scale;
const memory = (serviceAll + databaseAll) / 1024;
const all = cores.service + cores.database;
console.log(`runs per second                 ${(runs / passed).toFixed(0)} for ${passed.toFixed(0)} s`);
console.log(`runs not stored, not uneventful ${others}, ${behind?.count}`);
console.log(`CPU per run, service            ${perRun.service.toFixed(3)} ms`);
console.log(`CPU per run, PostgreSQL         ${perRun.database.toFixed(3)} ms`);
console.log(`memory of the service           ${empty.serviceMb.toFixed(0)} → ${serviceMb.toFixed(0)} MB`);
console.log(`memory of PostgreSQL            ${empty.databaseMb.toFixed(0)} → ${databaseMb.toFixed(0)} MB`);
console.log(`tables that runs read           ${hotMb.toFixed(0)} MB`);
console.log(
  `one million checks              ${rate.toFixed(0)} runs/s × (${perRun.service.toFixed(3)} + ${perRun.database.toFixed(3)}) ms = ${all.toFixed(1)} cores (limit ${limits.cores})`,
);
console.log(
  `                                ${replicas} replicas ${(serviceAll / 1024).toFixed(1)} GB + PostgreSQL ${(databaseAll / 1024).toFixed(1)} GB = ${memory.toFixed(1)} GB (limit ${limits.gigabytes})`,
);
const worst = Math.max(all / limits.cores, memory / limits.gigabytes);
report({ name: 'million', unit: 'of the limit', ours: worst, peer: null, limit: 1, ratio: worst });
process.exitCode = worst <= 1 && others === 0 && runs > 0 ? 0 : 1;
