import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Secret } from '../src/secrets/secret.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { startBalancer } from './lib/balancer.ts';
import {
  cpuMs,
  makeCertificates,
  report,
  rssMb,
  startChild,
  stopChild,
  temporaryFolder,
  treeCpuMs,
} from './lib/processes.ts';
import { addChecks, intervalMs, nodeOptions, startReplica } from './lib/scheduled-checks.ts';
import type { TimerFigures } from './lib/timer-loop.ts';

/**
 * One-minute checks that agents hold, all of it real and on one machine: PostgreSQL, two replicas behind a balancer, agents, and a
 * target that answers at once. Midway a replica and an agent are killed (SIGKILL) and restarted. Measured: start of runs after
 * their due time, lost and doubled runs, memory of the agents, and how late a bare timer loop is meanwhile.
 *
 * Arguments: full minutes to measure (default 5), number of checks (default 10000), agents (default 2; one alone is not killed),
 * and `calm` = nothing is killed.
 */
const minutes = Math.max(1, Number(process.argv[2] ?? 5));
const checks = Number(process.argv[3] ?? 10_000);
const agentCount = Number(process.argv[4] ?? 2);
const kills = agentCount > 1 && process.argv[5] !== 'calm';
const limitMs = checks > 10_000 ? 250 : 30;
const timerLimit = 1.2;
/** Of an agent with 10,000 checks. */
const memoryLimitMb = 150;
/** After a kill, the runs of this time are late. */
const troubleMs = 45_000;
const downMs = 5_000;
const key = 'pl_a_key_of_the_benchmark';
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

const binaries = await postgresBinaries();
if (binaries === null) throw new Error('this benchmark needs PostgreSQL: apt-get install postgresql');
const folder = temporaryFolder();
const certificates = makeCertificates(folder);
const targets = await startChild<{ http: number }>(
  fileURLToPath(new URL('./lib/targets-process.js', import.meta.url)),
  [certificates.cert, certificates.key],
);
// As in production, every commit is written to disk: the test server runs without fsync, so turn it on.
const postgres = await startPostgres(binaries, ['fsync=on', 'shared_buffers=256MB', 'max_wal_size=2GB']);
const db = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
const env = (name: string) => ({
  DATABASE_URL: postgres.url('postgres'),
  SERVICE_DATA_DIR: join(folder, name),
  SERVICE_ENCRYPTION_KEY: 'a passphrase of the benchmark',
  SERVICE_LOCATION_KEY: key,
  SERVICE_ASSIGNMENTS: 'true',
});
const replicas = [await startReplica(env('one')), await startReplica(env('two'))];
const portOf = (url: string) => new URL(url).port;
const balancer = await startBalancer(replicas.map(({ url }) => Number(portOf(url))));

const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
function startAgent(index: number): ChildProcess {
  return spawn(process.execPath, [...nodeOptions, main, 'start'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      API_KEY: key,
      SERVICE_URL: balancer.url,
      UPTIME_CONCURRENCY: '1000',
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder, `agent-${index}`),
      LOG_LEVEL: process.env['BENCH_LOG_LEVEL'] ?? 'ERROR',
      NODE_ENV: 'production',
    },
  });
}
const agents = Array.from({ length: agentCount }, (_, index) => startAgent(index));
const [{ accountId }] = replicas as [(typeof replicas)[number]];
await addChecks(db, { accountId, count: checks, url: `http://127.0.0.1:${targets.hello.http}/` });

// Every check has run twice, so that the figures are those of uneventful runs.
const from = Date.now() + 2.2 * intervalMs;
const to = from + minutes * intervalMs;
await sleep(from - Date.now());
const pids = () => replicas.map(({ child }) => child.pid ?? 0);
const before = { service: pids().map(cpuMs), database: treeCpuMs(postgres.pid()) };
const loop = spawn(process.execPath, [
  fileURLToPath(new URL('./lib/timer-loop.js', import.meta.url)),
  String(Math.ceil(checks / agentCount)),
  String(intervalMs),
]);
let timer: TimerFigures | null = null;
createInterface({ input: loop.stdout }).on('line', (line) => {
  const figures = JSON.parse(line) as Partial<TimerFigures>;
  if (figures.p99 !== undefined) timer = figures as TimerFigures;
});
let memory = 0;
/** Processor time of each process since its start, in milliseconds. */
const usedBy = (pid: number): number => {
  try {
    return cpuMs(pid);
  } catch {
    return 0; // killed
  }
};
const loads: { at: number; used: number[] }[] = [];
const sample = setInterval(() => {
  for (const { pid, exitCode, signalCode } of agents) {
    // A process that has just been killed uses none.
    if (exitCode === null && signalCode === null) memory = Math.max(memory, rssMb(pid ?? 0) || 0);
  }
  const used = [
    ...agents.map(({ pid }) => usedBy(pid ?? 0)),
    ...pids().map(usedBy),
    treeCpuMs(postgres.pid()),
    cpuMs(targets.child.pid ?? 0),
  ];
  loads.push({ at: Date.now(), used });
}, 2_000);

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  await sleep(downMs);
}
const half = from + (to - from) / 2;
await sleep(half - Date.now());
// The processor time of a killed process is not in that of its successor.
const cost = {
  service: pids().reduce((sum, pid, index) => sum + cpuMs(pid) - (before.service[index] ?? 0), 0),
  database: treeCpuMs(postgres.pid()) - before.database,
};
const runsOfHalf = ((Date.now() - from) / intervalMs) * checks;
const troubles: number[] = [];
if (kills) {
  const [first] = replicas as [(typeof replicas)[number]];
  troubles.push(Date.now());
  await kill(first.child);
  replicas[0] = await startReplica({ ...env('one'), SERVICE_PORT: portOf(first.url) });
  console.log('one replica killed and restarted');
  await sleep(2_000);
  troubles.push(Date.now());
  await kill(agents[0] as ChildProcess); // there are two
  agents[0] = startAgent(0);
  console.log('one agent killed and restarted');
}
await sleep(to - Date.now());
loop.stdin.end();
clearInterval(sample);
await once(loop, 'exit');
// Let the last runs finish, and what the dead agent left behind.
await sleep(kills ? 10_000 : 5_000);
for (const agent of agents) await stopChild(agent);
for (const { child } of replicas) await stopChild(child);
balancer.close();
await stopChild(targets.child);

/** SQL: when the run of a result was due, in milliseconds. Its job's id begins with it. */
const due = `('x' || left(replace(job_id::text, '-', ''), 12))::bit(48)::bigint`;
type Lags = { runs: number; stored: number; failed: number; p50: number; p99: number; worst: number };
async function lags(spans: readonly (readonly [number, number])[]): Promise<Lags | undefined> {
  const rows = await db.query<Lags>(
    `select count(distinct job_id)::integer as runs, count(*)::integer as stored,
       (count(*) filter (where status <> 'passed'))::integer as failed,
       percentile_disc(0.5) within group (order by lag) as p50, percentile_disc(0.99) within group (order by lag) as p99,
       max(lag) as worst
     from (select job_id, status, extract(epoch from started_at)::float8 * 1000 - ${due} as lag, ${due} as due
       from check_results where result_type = 'FINAL' and status <> 'missed' and started_at >= $1) as run
     join unnest($2::float8[], $3::float8[]) as span (since, until) on due >= since and due < until`,
    [new Date(from - 1_000), spans.map(([since]) => since), spans.map(([, until]) => until)],
  );
  return rows[0];
}
const all = await lags([[from, to]]);
const [begin = 0] = troubles;
const end = (troubles.at(-1) ?? 0) + troubleMs;
const calm = kills ? await lags([[from, begin - 1_000], [Math.min(to, end), to]]) : all; // prettier-ignore
if (process.env['BENCH_TIMELINE'] !== undefined) {
  const show = async (since: number, until: number): Promise<void> => {
    const { runs, failed, p50, p99, worst } = (await lags([[since, until]])) ?? ({} as Partial<Lags>);
    const at = ((since - from) / 1000).toFixed(0).padStart(4);
    const load = loads.filter((one) => one.at >= since && one.at < until);
    const [first, last] = [load[0], load.at(-1)];
    // A process that was killed has used less than before.
    const shares = last?.used.map((ms, index) =>
      Math.max(0, Math.round(((ms - (first?.used[index] ?? 0)) / (last.at - (first?.at ?? 0))) * 100)),
    );
    if (until - since >= 5_000)
      console.log(`       % of a core: agents, replicas, PostgreSQL, target: ${shares?.join(' ')}`);
    console.log(
      `  ${at} s: ${runs} runs, ${failed} did not pass, p50 ${p50?.toFixed(0)} ms, p99 ${p99?.toFixed(0)} ms, worst ${worst?.toFixed(0)} ms`,
    );
  };
  for (let at = from; at < to; at += 10_000) await show(at, Math.min(to, at + 10_000));
  for (const at of troubles) console.log(`  killed at ${((at - from) / 1000).toFixed(0)} s`);
  if (kills) for (let at = begin; at < end; at += 1_000) await show(at, at + 1_000);
  const reasons = await db.query<{ code: string; count: number; message: string }>(
    `select reason->>'code' as code, count(*)::integer as count, min(reason->>'message') as message from check_results
     where result_type = 'FINAL' and status <> 'passed' and started_at >= $1 group by 1 order by 2 desc`,
    [new Date(from)],
  );
  for (const { code, count, message } of reasons) console.log(`  ${count} ${code}, for example: ${message}`);
}
await db.close();
await postgres.stop();
rmSync(folder, { recursive: true, force: true });

const expected = minutes * checks;
const lost = expected - (all?.runs ?? 0);
const doubled = (all?.stored ?? 0) - (all?.runs ?? 0);
const shown = (figures: Lags | undefined) =>
  `p50 ${figures?.p50?.toFixed(0)} ms, p99 ${figures?.p99?.toFixed(0)} ms, worst ${figures?.worst?.toFixed(0)} ms`;
const bare = timer as TimerFigures | null; // set by the reader of its output
const ratio = (calm?.p99 ?? Number.NaN) / Math.max(1, bare?.p99 ?? Number.NaN);
console.log(
  `checks, agents, minutes         ${checks}, ${agentCount}, ${minutes}${kills ? '' : ', nothing killed'}`,
);
console.log(`runs due, lost, doubled         ${expected}, ${lost}, ${doubled} (${all?.failed} did not pass)`);
console.log(`start of run - due              ${shown(all)}`);
if (kills) console.log(`the same, without the kills     ${shown(calm)}`);
console.log(`bare timer loop                 p50 ${bare?.p50.toFixed(1)} ms, p99 ${bare?.p99.toFixed(1)} ms`);
console.log(`ratio at p99, without the kills ${ratio.toFixed(2)} (limit ${timerLimit})`);
console.log(`CPU per run, replicas           ${(cost.service / runsOfHalf).toFixed(3)} ms`);
console.log(`CPU per run, PostgreSQL         ${(cost.database / runsOfHalf).toFixed(3)} ms`);
console.log(
  `memory of an agent, most        ${memory.toFixed(0)} MB with ${Math.round(checks / agentCount)} checks (limit ${memoryLimitMb} MB with 10000)`,
);
const p99 = all?.p99 ?? Number.NaN;
report({ name: 'held-checks', unit: 'ms', ours: p99, peer: bare?.p99 ?? null, limit: limitMs, ratio });
const isGood =
  p99 <= limitMs && lost === 0 && doubled === 0 && ratio <= timerLimit && memory <= memoryLimitMb;
process.exitCode = isGood ? 0 : 1;
