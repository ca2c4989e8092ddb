import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/log.ts';
import { registerAgentRoutes } from '../src/service/agents/routes.ts';
import { bootstrap } from '../src/service/bootstrap.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import type { Db } from '../src/service/db/database.ts';
import { insertJobs } from '../src/service/scheduling/jobs.ts';
import { migrate } from '../src/service/db/migrate.ts';
import { createServer } from '../src/service/http/server.ts';
import { uuidv7 } from '../src/service/engine/ids.ts';
import { createRetention } from '../src/service/retention.ts';

/**
 * Results per second that a service with the embedded database (on disk) stores. One agent in another process claims jobs and
 * reports results over HTTP. Runs of 2,000 checks are queued in advance, as the scheduler would do.
 */
const limit = 2_000;
const checks = 2_000;
const seconds = 15;
const jobsReady = 60_000;

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  const slow = { longest: 0, sql: '', over20: 0, count: 0 };
  let observing = false;
  const db = await openDatabase({
    databaseUrl: null,
    dataDir,
    onStatement: ({ sql, milliseconds }) => {
      if (!observing) return;
      slow.count++;
      if (milliseconds > 20) slow.over20++;
      if (milliseconds > slow.longest) Object.assign(slow, { longest: milliseconds, sql });
    },
  });
  await migrate(db);
  const nothing = {
    accountId: null,
    apiKey: null,
    locationSlug: null,
    locationKey: null,
    encryptionKey: null,
  };
  const config = { ...nothing, databaseUrl: null, dataDir };
  const { accountId, keys, encryption } = await bootstrap({ db, config, now: Date.now });
  await fill(db, accountId);

  const app = await createServer({});
  const log = createLog({ level: 'WARN', scrub: (line) => line });
  await registerAgentRoutes(app, {
    db,
    encryption,
    now: Date.now,
    random: Math.random,
    log,
    files: null,
  });
  const retention = createRetention({ db, now: Date.now, log });
  retention.start();
  const url = await app.listen({ port: 0, host: '127.0.0.1' });

  observing = true;
  const cpuBefore = process.cpuUsage();
  const agent = fork(fileURLToPath(new URL('./lib/results-agent.js', import.meta.url)), [], {
    env: { URL: url, KEY: keys?.locationKey ?? '', SECONDS: String(seconds) },
  });
  const report = await new Promise<{ stored: number; seconds: number; claimed: number; bytes: number }>(
    (resolve, reject) => {
      agent.once('message', (message) => resolve(message as never)); // what results-agent.ts sends
      agent.once('exit', (code) => reject(new Error(`the agent exited with ${code}`)));
    },
  );
  observing = false;
  const cpu = process.cpuUsage(cpuBefore);
  const [row] = await db.query<{ stored: number }>('select count(*) as stored from check_results');
  const ours = Math.round(report.stored / report.seconds);
  console.log(
    `stored ${report.stored} results (${row?.stored} rows) of ${report.claimed} jobs in ${report.seconds.toFixed(1)} s`,
  );
  console.log(`bytes per result                ${Math.round(report.bytes / report.stored)}`);
  console.log(
    `service CPU per result          ${((cpu.user + cpu.system) / 1000 / report.stored).toFixed(3)} ms`,
  );
  console.log(`statements                      ${slow.count}, ${slow.over20} over 20 ms`);
  console.log(
    `longest statement               ${slow.longest.toFixed(1)} ms: ${slow.sql.replace(/\s+/g, ' ').slice(0, 100)}`,
  );
  console.log(`memory of the service           ${Math.round(process.memoryUsage().rss / 1e6)} MB`);
  console.log(`results per second              ${ours} (limit: at least ${limit})`);
  await app.close();
  await retention.stop();
  await db.close();
  await rm(dataDir, { recursive: true });
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`;
  const ratio = Number((ours / limit).toFixed(2));
  console.log(
    JSON.stringify({ name: 'service-results', unit: 'results/s', ours, peer: null, limit, ratio, machine }),
  );
  process.exitCode = ours >= limit ? 0 : 1;
}

/** Creates checks, and due runs of each. */
async function fill(db: Db, accountId: string): Promise<void> {
  const [location] = await db.query<{ id: string; slug: string }>(
    'select id, slug_name as slug from locations',
  );
  const ids = Array.from({ length: checks }, () => uuidv7());
  const assertions = [
    { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200', property: '', regex: null },
  ];
  const definition = {
    request: {
      method: 'GET',
      url: 'https://shop.example.com/api/v1/health?full=1',
      followRedirects: true,
      skipSSL: false,
      ipFamily: 'IPv4',
      assertions,
    },
    degradedResponseTime: 3000,
    maxResponseTime: 5000,
    doubleCheck: true,
    retryStrategy: null,
    environmentVariables: [],
    description: 'A check of the benchmark, as long as descriptions tend to be',
  };
  await db.query(
    `insert into checks (id, account_id, check_type, name, private_locations, frequency, interval_seconds, offset_seconds, definition)
     select id, $2, 'URL', 'Check of the benchmark', $3, 1, 60, 0, $4::jsonb from unnest($1::uuid[]) as item (id)`,
    [ids, accountId, [location?.slug], JSON.stringify(definition)],
  );
  const due = Date.now() - 1000;
  for (let from = 0; from < jobsReady; from += 1000) {
    const jobs = Array.from({ length: 1000 }, (_, n) => ({
      id: uuidv7(due),
      accountId,
      checkId: ids[(from + n) % checks] ?? '',
      runId: uuidv7(due),
      sequenceId: uuidv7(due),
      locationId: location?.id ?? '',
      runLocation: location?.slug ?? '',
      runSource: 'SCHEDULER',
      runParallel: false,
      checkType: 'URL',
      runtimeId: null,
      lane: 'uptime',
      dueAt: new Date(due),
      expiresAt: new Date(due + 3_600_000),
      claimWindowSeconds: 360,
    }));
    await insertJobs(db, jobs);
  }
}

await main();
