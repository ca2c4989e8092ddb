import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Secret } from '../src/secrets/secret.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import type { Db } from '../src/service/db/database.ts';
import { uuidv7 } from '../src/service/engine/ids.ts';
import { insertJobs } from '../src/service/scheduling/jobs.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { cpuMs, report, startChild, stopChild, temporaryFolder } from './lib/processes.ts';
import { startReplica } from './lib/scheduled-checks.ts';

/**
 * Six hours of results of 1,000 one-minute checks wait in an agent's outbox. Measured: the time until a service with PostgreSQL
 * has all of them, their order, and the most memory that the agent used.
 *
 * Argument: the share of the six hours (default 1, which is 360,000 results). The limit of the time shrinks with it.
 */
const share = Math.min(1, Math.max(0.001, Number(process.argv[2] ?? 1)));
const checks = 1000;
const minutes = Math.max(1, Math.round(360 * share));
const total = checks * minutes;
const limitSeconds = 300 * (total / 360_000);
const limitMb = 150;
const key = 'pl_a_key_of_the_benchmark';

const binaries = await postgresBinaries();
if (binaries === null) throw new Error('this benchmark needs PostgreSQL: apt-get install postgresql');
const folder = temporaryFolder();
// As in production, every commit is written to disk: the test server runs without fsync, so turn it on.
const postgres = await startPostgres(binaries, ['fsync=on', 'shared_buffers=256MB', 'max_wal_size=2GB']);
const db = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
const service = await startReplica({
  DATABASE_URL: postgres.url('postgres'),
  SERVICE_DATA_DIR: join(folder, 'service'),
  SERVICE_ENCRYPTION_KEY: 'a passphrase of the benchmark',
  SERVICE_LOCATION_KEY: key,
});
const dataDir = join(folder, 'agent');
const jobsFile = join(folder, 'jobs.ndjson');
await addRuns(db, service.accountId);
const fill = fileURLToPath(new URL('./lib/backlog-fill.js', import.meta.url));
const filled = await startChild<{ bytes: number; results: number }>(fill, [
  join(dataDir, 'outbox'),
  jobsFile,
]);
await stopChild(filled.child);
console.log(
  `results that wait               ${filled.hello.results}, ${Math.round(filled.hello.bytes / filled.hello.results)} bytes each`,
);

const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
const startedAt = performance.now();
const agent = spawn(process.execPath, [main, 'start'], {
  env: {
    PATH: process.env['PATH'] ?? '',
    LOG_LEVEL: 'WARN',
    SERVICE_URL: service.url,
    API_KEY: key,
    AGENT_HEALTH_PORT: '0',
    AGENT_DATA_DIR: dataDir,
    // The runs of the backlog are done: the agent only sends.
    UPTIME_CONCURRENCY: '0',
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});
const pid = agent.pid ?? 0;
const storedNow = async () => {
  const [row] = await db.query<{ count: number }>('select count(*)::int as count from check_results');
  return row?.count ?? 0;
};
let stored = 0;
for (;;) {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const before = stored;
  stored = await storedNow();
  if (stored >= total) break;
  if ((performance.now() - startedAt) / 1000 > 3 * limitSeconds + 60 && stored === before) break;
  if (agent.exitCode !== null) break;
}
const seconds = (performance.now() - startedAt) / 1000;
const peakMb = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
const agentCpu = cpuMs(pid);
const serviceCpu = cpuMs(service.child.pid ?? 0);
// Each transaction holds results that follow those of the one before. Within one, PostgreSQL may spread rows over pages.
const [order] = await db.query<{ wrong: number }>(
  `select count(*)::int as wrong from (
     select min(response_time) - lag(max(response_time)) over (order by xmin::text::bigint) as step
     from check_results group by xmin) as steps
   where step <= 0`,
);
agent.kill('SIGTERM');
await once(agent, 'exit');
await stopChild(service.child);
await db.close();
await postgres.stop();
rmSync(folder, { recursive: true, force: true });

console.log(`stored                          ${stored} of ${total}`);
console.log(`transactions out of order       ${order?.wrong}`);
console.log(
  `time                            ${seconds.toFixed(1)} s (limit: ${limitSeconds.toFixed(1)} s), ${Math.round(stored / seconds)} results/s`,
);
console.log(`most memory of the agent        ${Math.round(peakMb)} MB (limit: ${limitMb} MB)`);
console.log(`CPU of the agent per result     ${(agentCpu / stored).toFixed(3)} ms`);
console.log(`CPU of the service per result   ${(serviceCpu / stored).toFixed(3)} ms`);
report({
  name: 'backlog',
  unit: 's',
  ours: Number(seconds.toFixed(1)),
  peer: null,
  limit: Number(limitSeconds.toFixed(1)),
  ratio: Number((seconds / limitSeconds).toFixed(2)),
});
const isGood = stored === total && order?.wrong === 0 && seconds <= limitSeconds && peakMb <= limitMb;
process.exitCode = isGood ? 0 : 1;

/** Creates the checks and their runs, as if an earlier agent had claimed them; writes them to the jobs file in order. */
async function addRuns(database: Db, accountId: string): Promise<void> {
  const [location] = await database.query<{ id: string; slug: string }>(
    'select id, slug_name as slug from locations',
  );
  const slug = location?.slug ?? '';
  const ids = Array.from({ length: checks }, () => uuidv7());
  await database.query(
    `insert into checks (id, account_id, check_type, name, private_locations, frequency, interval_seconds, offset_seconds,
       next_due_at, definition)
     select id, $2, 'URL', 'Check of the benchmark', array[$3], 1, 60, 0, now() + interval '1 day', '{}'::jsonb
     from unnest($1::uuid[]) as item (id)`,
    [ids, accountId, slug],
  );
  const lines = createWriteStream(jobsFile);
  const end = Math.floor(Date.now() / 60_000) * 60_000;
  const later = new Date(end + 86_400_000);
  for (let minute = 0; minute < minutes; minute += 1) {
    const at = end - (minutes - minute) * 60_000;
    const jobs = ids.map((checkId) => ({
      id: uuidv7(at),
      accountId,
      checkId,
      runId: uuidv7(at),
      sequenceId: uuidv7(at),
      locationId: location?.id ?? '',
      runLocation: slug,
      runSource: 'SCHEDULER',
      runParallel: false,
      checkType: 'URL',
      runtimeId: null,
      lane: 'uptime',
      dueAt: new Date(at),
      expiresAt: later,
      claimWindowSeconds: 86_400,
    }));
    await insertJobs(database, jobs);
    for (const { id, checkId, runId } of jobs) {
      lines.write(`${JSON.stringify({ id, token: id, checkId, runId, at, location: slug })}\n`);
    }
  }
  // Each has had one lease, whose token is its id, and waits for nobody.
  await database.query(`update jobs set past_tokens = array[id], not_before = $1`, [later]);
  await database.exec('analyze jobs');
  lines.end();
  await once(lines, 'finish');
}
