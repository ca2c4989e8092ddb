import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readServiceConfig } from '../../src/config/service.ts';
import { Secret } from '../../src/secrets/secret.ts';
import { openDatabase } from '../../src/service/db/open-database.ts';
import type { Db } from '../../src/service/db/database.ts';
import { uuidv7 } from '../../src/service/engine/ids.ts';
import { startService, type RunningService } from '../../src/service/service.ts';
import { killAll, readyLine, startProgram } from '../e2e/program.ts';
import { silent, urlRequest } from '../helpers/service/agent-service.ts';
import { builtProgram } from '../helpers/build.ts';
import { copyFolder, migratedDatabase, serverTemplate } from '../helpers/service/database-templates.ts';
import { postgresBinaries, startPostgres, type Postgres } from '../helpers/service/postgres.ts';
import { startProtocolAgents, type ProtocolAgents } from '../helpers/service/protocol-agents.ts';

/** Several replicas over one PostgreSQL: due work is created and done once, whatever exits in between. */

const binaries = await postgresBinaries();
const intervalSeconds = 2;
const checkCount = 24;
const locationKey = 'pl_a_key_of_the_tests_of_replicas';
const common = {
  SERVICE_ENCRYPTION_KEY: 'a passphrase for tests of replicas',
  SERVICE_LOCATION_KEY: locationKey,
  SERVICE_PORT: '0',
  // Tests ask again and again.
  SERVICE_RATE_LIMIT: '0',
};

describe.skipIf(binaries === null)(binaries === null ? 'no PostgreSQL binaries' : 'replicas', () => {
  let postgres: Postgres;
  /** The compiled program. */
  let program: string;
  let made = 0;
  let admin: Db;
  const folders: string[] = [];
  const closers: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    if (binaries === null) return;
    const folder = await serverTemplate(binaries);
    [postgres, program] = await Promise.all([
      startPostgres(binaries, [], (dataDir, owner) => copyFolder(folder, dataDir, owner)),
      builtProgram(),
    ]);
  }, 120_000);
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    killAll();
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  afterAll(() => postgres?.stop());

  /** A new database, empty or migrated; the variables of a replica on it, each with its own folder. */
  async function newDatabase(template = ''): Promise<() => Record<string, string>> {
    const name = `replicas_${++made}`;
    const first = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
    await first.exec(`create database ${name} ${template}`);
    await first.close();
    admin = await openDatabase({ databaseUrl: new Secret(postgres.url(name)), dataDir: '', log: silent });
    closers.push(() => admin.close());
    return () => {
      const folder = mkdtempSync(join(tmpdir(), 'replica-'));
      folders.push(folder);
      return { ...common, DATABASE_URL: postgres.url(name), SERVICE_DATA_DIR: folder };
    };
  }

  async function startReplicas(env: () => Record<string, string>, count: number): Promise<RunningService[]> {
    const replicas = await Promise.all(
      Array.from({ length: count }, () => startService({ config: readServiceConfig(env()), log: silent })),
    );
    closers.push(() => Promise.all(replicas.map((replica) => replica.close())));
    return replicas;
  }

  /** Checks that are due every two seconds, spread over them; every eighth fails. */
  async function addChecks(
    accountId: string,
  ): Promise<{ ids: string[]; firstDueAt: number; fails: (id: string) => boolean }> {
    const ids = Array.from({ length: checkCount }, () => uuidv7());
    const firstDueAt = Math.ceil((Date.now() + 500) / 2000) * 2000;
    await admin.query(
      `insert into checks (id, account_id, check_type, name, private_locations, frequency, interval_seconds, offset_seconds,
         next_due_at, definition)
       select id, $2, 'URL', 'check', '{local}', 1, $3::integer, after, $4::timestamptz + make_interval(secs => after), $5::jsonb
       from unnest($1::uuid[], $6::float8[]) as item (id, after)`,
      [
        ids,
        accountId,
        intervalSeconds,
        new Date(firstDueAt),
        JSON.stringify({ request: urlRequest, doubleCheck: false }),
        ids.map((_, n) => (n * intervalSeconds) / checkCount),
      ],
    );
    return { ids, firstDueAt, fails: (id) => ids.indexOf(id) % 8 === 0 };
  }

  /** No moment before the last was made twice or is missing: it has a result, is recorded as missed, or is still a job. */
  async function account(firstDueAt: number): Promise<{ finals: number; missed: number; jobs: number }> {
    const [row] = await admin.query<{ finals: number; missed: number; jobs: number; expected: number }>(
      `select (select count(*) from check_results where result_type = 'FINAL' and status <> 'missed') as finals,
         (select coalesce(sum((body#>>'{details,count}')::integer), 0) from check_results where status = 'missed') as missed,
         (select count(*) from jobs where state <> 'abandoned') as jobs,
         (select sum(round((extract(epoch from next_due_at - $1::timestamptz) - offset_seconds) / $2::integer)) from checks) as expected`,
      [new Date(firstDueAt), intervalSeconds],
    );
    if (row === undefined) throw new Error('no row');
    const { expected, ...found } = row;
    expect(found.finals + found.missed + found.jobs).toBe(expected);
    const doubled = await admin.query(
      `select job_id from check_results where result_type = 'FINAL' and job_id is not null group by 1 having count(*) > 1`,
    );
    expect(doubled).toEqual([]);
    return found;
  }

  /** Each failing check has been followed once: one alert, and no run is left to follow. */
  async function checkAlerts(failing: number): Promise<void> {
    await expect
      .poll(() => admin.query('select 1 from finished_runs limit 1'), { timeout: 10_000 })
      .toEqual([]);
    const alerts = await admin.query<{ type: string; count: number }>(
      'select alert_type as type, count(*) as count from alerts group by check_id, alert_type',
    );
    expect(alerts).toEqual(Array.from({ length: failing }, () => ({ type: 'ALERT_FAILURE', count: 1 })));
  }

  const acknowledged = (agents: ProtocolAgents) =>
    agents.runs.filter(({ outcome }) => outcome === 'stored').length;
  const until = (agents: ProtocolAgents, more: number) => {
    const wanted = acknowledged(agents) + more;
    return expect.poll(() => acknowledged(agents), { timeout: 15_000, interval: 50 }).toBeGreaterThan(wanted);
  };

  test('replicas that start at the same time on an empty database agree; a database restart loses or duplicates nothing', async () => {
    const replicas = await startReplicas(await newDatabase(), 2);
    expect(new Set(replicas.map(({ accountId }) => accountId)).size).toBe(1);
    expect(replicas.filter(({ keysFile }) => keysFile !== null)).toHaveLength(1);
    const count = async (table: string) =>
      (await admin.query<{ n: number }>(`select count(*) as n from ${table}`))[0]?.n;
    expect([await count('accounts'), await count('api_keys'), await count('locations')]).toEqual([1, 1, 1]);
    const [queue] = await admin.query<{ doubled: number; queues: number }>(
      'select count(*) - count(distinct name) as doubled, count(*) as queues from background.queue',
    );
    expect(queue?.doubled).toBe(0);
    expect(queue?.queues).toBeGreaterThan(0);
    for (const { url } of replicas) expect((await fetch(`${url}/health`)).status).toBe(200);

    const checks = await addChecks(replicas[0]?.accountId ?? '');
    const agents = startProtocolAgents({
      urls: replicas.map(({ url }) => url),
      keys: [locationKey],
      count: 2,
      slots: 20,
      runMs: 20,
      statusOf: (id) => (checks.fails(id) ? 'failed' : 'passed'),
    });
    await until(agents, checkCount);
    await postgres.restart();
    await until(agents, checkCount);
    await agents.stop();
    for (const replica of replicas) expect((await fetch(`${replica.url}/health`)).status).toBe(200);
    await admin.query('update checks set activated = false');
    await checkAlerts(checkCount / 8);
    const { finals } = await account(checks.firstDueAt);
    expect(finals).toBe(agents.runs.length);
    expect(agents.runs.every(({ outcome }) => outcome === 'stored' || outcome === 'duplicate')).toBe(true);
  }, 60_000);

  test('a killed replica and a restarted one lose or duplicate nothing', async () => {
    const env = await newDatabase(`template ${migratedDatabase}`);
    const start = async () => {
      const replica = startProgram(program, ['service'], { ...env(), LOG_LEVEL: 'ERROR' });
      return { replica, ...(await readyLine(replica)) };
    };
    const [first, second] = await Promise.all([start(), start()]);
    const checks = await addChecks(first.accountId);
    const urls = [first.serviceUrl, second.serviceUrl];
    const agents = startProtocolAgents({
      urls,
      keys: [locationKey],
      count: 3,
      slots: 20,
      runMs: 20,
      statusOf: (id) => (checks.fails(id) ? 'failed' : 'passed'),
    });
    await until(agents, checkCount);
    first.replica.kill('SIGKILL');
    await first.replica.exited;
    await until(agents, checkCount);
    const back = await start();
    urls[0] = back.serviceUrl;
    await until(agents, checkCount);
    await agents.stop();
    await admin.query('update checks set activated = false');
    await checkAlerts(checkCount / 8);
    const { finals } = await account(checks.firstDueAt);
    expect(finals).toBe(agents.runs.length);
    for (const { replica } of [second, back]) replica.kill('SIGTERM');
    expect(await Promise.all([second.replica.exited, back.replica.exited])).toEqual([0, 0]);
  }, 60_000);
});
