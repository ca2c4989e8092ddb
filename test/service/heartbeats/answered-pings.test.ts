import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDatabase, type ChaosDatabase } from '../../chaos/database.ts';
import { openDatabase } from '../../../src/service/db/open-database.ts';
import { apiOf, killAll, readyLine, startProgram, type Program } from '../../e2e/program.ts';
import { builtProgram } from '../../helpers/build.ts';
import { postgresBinaries } from '../../helpers/service/postgres.ts';

/**
 * A ping that was answered with 200 has its result, whatever dies between the answer and the moment at which somebody
 * looks. Each ping names itself in its User-Agent, which its result keeps.
 */

const apiKey = 'sk_a_key_of_the_answered_pings';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** A ping URL takes one ping a second. */
const heartbeats = 30;
const betweenPingsMs = 1_100;

type Service = { url: string; kill: () => Promise<void>; start: () => Promise<void> };

async function startService(env: Record<string, string>): Promise<Service> {
  const main = await builtProgram();
  let program: Program;
  const service: Service = {
    url: '',
    start: async () => {
      const port = service.url === '' ? '0' : new URL(service.url).port;
      program = startProgram(main, ['service'], {
        SERVICE_API_KEY: apiKey,
        SERVICE_RATE_LIMIT: '0',
        SERVICE_ENCRYPTION_KEY: 'a passphrase of the answered pings',
        LOG_LEVEL: 'ERROR',
        ...env,
        SERVICE_PORT: port,
      });
      ({ serviceUrl: service.url } = await readyLine(program));
    },
    kill: async () => {
      program.kill('SIGKILL');
      await program.exited;
    },
  };
  await service.start();
  return service;
}

async function makeHeartbeats(service: Service): Promise<string[]> {
  const paths: string[] = [];
  for (let index = 0; index < heartbeats; index++) {
    const { status, body } = await apiOf(service.url, apiKey)<{ heartbeat: { pingUrl: string } }>(
      'POST',
      '/v1/checks/heartbeat',
      { name: `job ${index}`, heartbeat: { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'hours' } },
    );
    expect(status).toBe(201);
    paths.push(new URL(body.heartbeat.pingUrl).pathname);
  }
  return paths;
}

/** Pings all the time. Returns how to stop, and the names of the pings that were answered with 200. */
function startPings(service: Service, paths: readonly string[]) {
  const answered: string[] = [];
  let isOn = true;
  let count = 0;
  const loops = paths.map(async (path, index) => {
    await pause((index * betweenPingsMs) / paths.length);
    while (isOn) {
      const began = performance.now();
      const name = `ping/${++count}`;
      const answer = await fetch(`${service.url}${path}`, {
        headers: { 'user-agent': name },
        signal: AbortSignal.timeout(5_000),
      }).catch(() => null);
      await answer?.text().catch(() => null);
      if (answer?.status === 200) answered.push(name);
      await pause(Math.max(0, betweenPingsMs - (performance.now() - began)));
    }
  });
  return {
    answered,
    stop: async () => {
      isOn = false;
      await Promise.all(loops);
    },
  };
}

/** How many results each ping has. */
const storedPings = `select body->'details'->>'userAgent' as name, count(*)::integer as count from check_results group by 1`;
const countsOf = (rows: readonly { name: string; count: number }[]) =>
  new Map(rows.map(({ name, count }) => [name, count]));

afterAll(killAll);

describe.each([
  { commits: 'flushed by the server', settings: [] },
  // The server then answers a commit before it is written; everything that it still holds is lost when it is killed.
  {
    commits: 'not flushed by the server',
    settings: ['synchronous_commit=off', 'wal_writer_delay=10000', 'wal_writer_flush_after=1GB'],
  },
])('on PostgreSQL, with commits that are $commits', async ({ settings }) => {
  const isMissing = (await postgresBinaries()) === null;
  let database: ChaosDatabase;
  let service: Service;
  beforeAll(async () => {
    if (isMissing) return;
    database = await startDatabase({ settings });
    service = await startService({ DATABASE_URL: database.url });
  }, 120_000);
  afterAll(async () => {
    if (isMissing) return;
    await service.kill();
    await database.stop();
  });

  test.skipIf(isMissing)('every answered ping has its result', { timeout: 240_000 }, async () => {
    const pings = startPings(service, await makeHeartbeats(service));
    const enough = async (more: number) => {
      const wanted = pings.answered.length + more;
      await expect.poll(() => pings.answered.length, { timeout: 60_000 }).toBeGreaterThan(wanted);
    };
    for (let round = 0; round < 3; round++) {
      await enough(40);
      database.kill();
      await database.restart();
      await enough(20);
      await service.kill();
      await service.start();
      await enough(20);
      await database
        .query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where backend_type = 'client backend' and pid <> pg_backend_pid()`,
        )
        .catch(() => undefined);
      await enough(20);
      await database.restart();
    }
    await enough(20);
    await pings.stop();
    await service.kill();
    const counts = countsOf(await database.query(storedPings));
    expect(pings.answered.filter((name) => counts.get(name) !== 1)).toEqual([]);
    expect(pings.answered.length).toBeGreaterThan(300);
  });
});

describe('on the embedded database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'location-agent-answered-pings-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('every answered ping has its result', { timeout: 240_000 }, async () => {
    const service = await startService({ SERVICE_DATA_DIR: folder });
    const pings = startPings(service, await makeHeartbeats(service));
    for (let round = 0; round < 4; round++) {
      const wanted = pings.answered.length + 40;
      await expect.poll(() => pings.answered.length, { timeout: 60_000 }).toBeGreaterThan(wanted);
      await service.kill();
      await service.start();
    }
    await pings.stop();
    await service.kill();
    const db = await openDatabase({ databaseUrl: null, dataDir: folder });
    const counts = countsOf(await db.query(storedPings));
    await db.close();
    expect(pings.answered.filter((name) => counts.get(name) !== 1)).toEqual([]);
    expect(pings.answered.length).toBeGreaterThan(150);
  });
});
