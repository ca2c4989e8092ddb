import { EventEmitter, once } from 'node:events';
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
 * and with the embedded database. Each pair of figures is also a ratio. What a service costs each second whether runs come or
 * not is told apart from what each run costs: a tenth of the checks is measured first, and the rest is the slope.
 *
 * Arguments: seconds to measure (default 60), number of checks that run every 10 seconds (default 1000), and one of
 * `server`, `embedded` and `open` (default the first two). `open` measures held checks twice, the second time while a
 * transaction is held open in PostgreSQL from before the first run; with 600 seconds it is open for 10 minutes.
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

/** No figure may change by more than this share because a transaction is open. */
const openShare = 0.1;

type Mode = 'queue' | 'assignments';
/** Milliseconds of processor time and bytes of log. */
type Cost = { service: number; database: number; wal: number };
type Figures = Cost & {
  /** Of each run more. */
  slope: Cost;
  /** Of each second without runs. */
  idle: Cost;
  statements: number;
  rowBytes: number;
  lost: number;
  doubled: number;
  p50: number;
  p99: number;
};
type Place = {
  env: Record<string, string>;
  database: { db: Db; pid: () => number; counts: boolean } | null;
  /** Called before the first run; what it returns, after the last. */
  begin?: () => Promise<() => Promise<void>>;
};

const each = (value: (key: keyof Cost) => number): Cost => ({
  service: value('service'),
  database: value('database'),
  wal: value('wal'),
});

/** What a second costs, measured for this long. */
async function costOf(read: () => Promise<Cost>, forSeconds: number): Promise<Cost> {
  const begun = performance.now();
  const before = await read();
  await sleep(forSeconds * 1000);
  const after = await read();
  const passed = (performance.now() - begun) / 1000;
  return each((key) => (after[key] - before[key]) / passed);
}

/** One service with one agent's worth of load, in one mode. */
async function measure(mode: Mode, { env, database, begin }: Place): Promise<Figures> {
  const replica = await startReplica({
    ...env,
    SERVICE_ASSIGNMENTS: String(mode === 'assignments'),
    SERVICE_LOCATION_KEY: locationKey,
    SERVICE_API_KEY: apiKey,
    SERVICE_RATE_LIMIT: '0',
  });
  const end = await begin?.();
  const pid = replica.child.pid ?? 0;
  const db = database?.db;
  const add = (count: number): Promise<string[]> =>
    db === undefined
      ? createChecks({ url: replica.url, apiKey, count, everySeconds })
      : addChecks(db, { accountId: replica.accountId, count, seconds: everySeconds });
  const load = { urls: [replica.url], keys: [locationKey], count: 2, slots: 200, runMs: 50 };
  const agents = await startAgents({ ...load, holds: mode === 'assignments' });
  const read = async (): Promise<Cost> => {
    const [log] =
      (await db?.query<{ at: number }>("select pg_current_wal_lsn() - '0/0'::pg_lsn as at")) ?? [];
    const ofDatabase = database === null ? 0 : treeCpuMs(database.pid());
    return { service: cpuMs(pid), database: ofDatabase, wal: log?.at ?? 0 };
  };
  const some = Math.ceil(checks / 10);
  const ids = await add(some);
  // Every check has run a few times, so that the figures are those of uneventful runs.
  await sleep(3.5 * everySeconds * 1000);
  const few = await costOf(read, seconds / 2);
  ids.push(...(await add(checks - some)));
  const from = Date.now() + 3.5 * everySeconds * 1000;
  await sleep(from - Date.now());
  if (database?.counts === true) await db?.exec('select pg_stat_statements_reset()');
  // Full intervals: a few milliseconds more would count a run too many or too few.
  const to = from + seconds * 1000;
  const many = await costOf(read, seconds);
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
  await end?.();
  const figures = figuresOf(runs, { ids, from, to, periodMs: everySeconds * 1000 });
  const [slow, fast] = [some / everySeconds, checks / everySeconds];
  const slope = each((key) => (many[key] - few[key]) / (fast - slow));
  return {
    ...each((key) => many[key] / fast),
    slope,
    idle: each((key) => few[key] - slope[key] * slow),
    statements: statements.reduce((sum, { calls }) => sum + calls, 0) / runsDue,
    rowBytes: Number(size?.[0]?.bytes ?? 0),
    ...figures,
  };
}

function print(place: string, [queue, assignments]: readonly [Figures, Figures]): void {
  const row = (name: string, value: (figures: Figures) => number, digits: number, unit: string) => {
    const [before, after] = [value(queue), value(assignments)];
    const ratio = after === 0 ? '' : `, ratio ${(before / after).toFixed(1)}`;
    console.log(
      `${place}, ${name}`.padEnd(52) + `${before.toFixed(digits)} → ${after.toFixed(digits)} ${unit}${ratio}`,
    );
  };
  row('CPU per run, service', ({ service }) => service, 3, 'ms');
  if (place !== 'embedded') {
    row('CPU per run, PostgreSQL', ({ database }) => database, 3, 'ms');
    row('CPU per run, together', ({ service, database }) => service + database, 3, 'ms');
    row('statements per run', ({ statements }) => statements, 2, '');
    row('write-ahead log per run', ({ wal }) => wal, 0, 'bytes');
    row('table and indexes per result', ({ rowBytes }) => rowBytes, 0, 'bytes');
  }
  const unit = 'ms';
  row('CPU of a run more, service', ({ slope }) => slope.service, 3, unit);
  row('CPU of a second without runs, service', ({ idle }) => idle.service, 1, unit);
  if (place !== 'embedded') {
    row('CPU of a run more, PostgreSQL', ({ slope }) => slope.database, 3, unit);
    row('CPU of a second without runs, PostgreSQL', ({ idle }) => idle.database, 1, unit);
    row('write-ahead log of a run more', ({ slope }) => slope.wal, 0, 'bytes');
  }
  row('start of run - due, p50', ({ p50 }) => p50, 0, 'ms');
  row('start of run - due, p99', ({ p99 }) => p99, 0, 'ms');
  row('runs lost', ({ lost }) => lost, 0, '');
  row('runs doubled', ({ doubled }) => doubled, 0, '');
}

/** A transaction that has written and reads nothing, as one of a forgotten session. Returns what ends it. */
async function openTransaction(url: string): Promise<() => Promise<void>> {
  const db = await openDatabase({ databaseUrl: new Secret(url), dataDir: '' });
  const events = new EventEmitter();
  const opened = once(events, 'opened');
  const ended = db.tx(async (tx) => {
    await tx.query('set transaction isolation level repeatable read');
    await tx.query('select txid_current(), count(*) from check_results');
    const closing = once(events, 'close');
    events.emit('opened');
    await closing;
  });
  await Promise.race([opened, ended]);
  return async () => {
    events.emit('close');
    await ended;
    await db.close();
  };
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
  const inDatabase = async (mode: Mode, name: string = mode, begin?: Place['begin']): Promise<Figures> => {
    const admin = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
    await admin.query(`create database ${name}`);
    const db = await openDatabase({ databaseUrl: new Secret(postgres.url(name)), dataDir: '' });
    if (counts) await db.exec('create extension pg_stat_statements');
    const env = {
      DATABASE_URL: postgres.url(name),
      SERVICE_DATA_DIR: join(folder, name),
      SERVICE_ENCRYPTION_KEY: 'a passphrase of the benchmark',
    };
    const figures = await measure(mode, {
      env,
      database: { db, pid: postgres.pid, counts },
      ...(begin === undefined ? {} : { begin }),
    });
    await db.close();
    // Otherwise the next mode pays for what the server still has to clean up in this one.
    await admin.query(`drop database ${name} with (force)`);
    await admin.close();
    return figures;
  };
  if (only === 'open') {
    const calm = await inDatabase('assignments', 'calm');
    const open = await inDatabase('assignments', 'held_open', () =>
      openTransaction(postgres.url('held_open')),
    );
    print('open', [calm, open]);
    const growth = (value: (figures: Figures) => number) => value(open) / Math.max(1e-9, value(calm));
    // Milliseconds of start are too few for a ratio.
    worst = Math.max(
      growth(({ service }) => service),
      growth(({ database }) => database),
      growth(({ wal }) => wal),
      growth(({ rowBytes }) => rowBytes),
      growth(({ p99 }) => Math.max(30, p99)),
    );
    worst /= 1 + openShare;
    isGood &&= open.lost + open.doubled === 0;
  } else {
    const both = [await inDatabase('queue'), await inDatabase('assignments')] as const;
    print('server', both);
    const { service, database, wal, lost, doubled } = both[1];
    worst = Math.max(worst, (service + database) / limits.server, wal / walLimit);
    isGood &&= lost + doubled === 0;
  }
  await postgres.stop();
}
if (only === undefined || only === 'embedded') {
  const inProcess = (mode: Mode) =>
    measure(mode, { env: { SERVICE_DATA_DIR: join(folder, `embedded-${mode}`) }, database: null });
  const both = [await inProcess('queue'), await inProcess('assignments')] as const;
  print('embedded', both);
  worst = Math.max(worst, both[1].service / limits.embedded);
  isGood &&= both[1].lost + both[1].doubled === 0;
}
rmSync(folder, { recursive: true, force: true });
report({ name: 'assignments', unit: 'of the limit', ours: worst, peer: null, limit: 1, ratio: worst });
process.exitCode = isGood && worst <= 1 ? 0 : 1;
