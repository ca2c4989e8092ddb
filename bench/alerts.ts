import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../src/log.ts';
import { Secret } from '../src/secrets/secret.ts';
import { createAlertFollower } from '../src/service/alerting/follow-alerts.ts';
import { createBackground } from '../src/service/engine/background.ts';
import { migrate } from '../src/service/db/migrate.ts';
import type { Db } from '../src/service/db/database.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { createFinishedRuns } from '../src/service/results/finished-runs.ts';
import { uuidv7 } from '../src/service/engine/ids.ts';
import { notificationsQueue } from '../src/service/alert-channels/queue.ts';

/**
 * Finished runs per second that the alert follower processes: 10,000 checks that pass, then 1,000 that start to fail and recover,
 * each with an alert. Uses the embedded database on disk, or the PostgreSQL of BENCH_DATABASE_URL (an empty database).
 */
const checks = 10_000;
const failing = 1_000;
const log = createLog({ level: 'WARN', scrub: (line) => line });

async function fill(db: Db): Promise<void> {
  const accountId = uuidv7();
  await db.query(`insert into accounts (id, name) values ($1, 'bench')`, [accountId]);
  await db.query(
    `insert into checks (id, account_id, check_type, name, frequency, interval_seconds, offset_seconds, definition)
     select id, $2, 'URL', 'check', 1, 60, 0, '{}' from unnest($1::uuid[]) as item (id)`,
    [Array.from({ length: checks }, () => uuidv7()), accountId],
  );
  await db.exec(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_started_at,
       ssl_days_remaining)
     select id, account_id, 'passed', false, false, false, now(), 80 from checks`,
  );
}

/** Creates one run for each of `count` checks and finishes it at once. */
async function endRuns(db: Db, status: string, count: number): Promise<void> {
  await db.query(
    `insert into finished_runs (account_id, check_id, run_id, result_id, started_at, run_location, status)
     select account_id, id, gen_random_uuid(), gen_random_uuid(), now(), 'here', $1 from checks order by id limit $2`,
    [status, count],
  );
}

async function measure(db: Db, count: number, follow: () => Promise<void>) {
  const started = performance.now();
  let longest = 0;
  for (;;) {
    const [left] = await db.query<{ count: number }>('select count(*)::integer as count from finished_runs');
    if ((left?.count ?? 0) === 0) break;
    const before = performance.now();
    await follow();
    longest = Math.max(longest, performance.now() - before);
  }
  const seconds = (performance.now() - started) / 1000;
  return { runsPerSecond: Math.round(count / seconds), longestBatchMs: Math.round(longest) };
}

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  const url = process.env['BENCH_DATABASE_URL'];
  const db = await openDatabase({ databaseUrl: url === undefined ? null : new Secret(url), dataDir });
  await migrate(db);
  const background = createBackground({ db, log });
  const queue = { retryLimit: 0, retryDelaySeconds: 0, expireSeconds: 60, concurrency: 1 };
  background.handle({ name: notificationsQueue, ...queue }, async () => undefined);
  await background.prepare();
  const follower = createAlertFollower({ background, incidents: null, now: Date.now });
  const loop = createFinishedRuns({ db, followers: [follower], now: Date.now, log });
  const queueAlone = createFinishedRuns({ db, followers: [], now: Date.now, log });
  await fill(db);
  const rounds: [string, string, number, () => Promise<void>][] = [
    ['newChecks', 'passed', checks, loop.tick],
    ['queueAlone', 'passed', checks, queueAlone.tick],
    ['passing', 'passed', checks, loop.tick],
    ['beginningToFail', 'failed', failing, loop.tick],
    ['failingOn', 'failed', failing, loop.tick],
    ['recovering', 'passed', failing, loop.tick],
  ];
  const figures: Record<string, unknown> = { bench: 'alerts', database: db.kind };
  for (const [name, status, count, follow] of rounds) {
    await endRuns(db, status, count);
    figures[name] = await measure(db, count, follow);
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  await background.stop();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
}

await main();
