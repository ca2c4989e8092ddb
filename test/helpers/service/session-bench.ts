import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import {
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  encryption,
  type AgentService,
  type TestAgent,
  type TestJob,
} from './agent-service.ts';
import { emptyTables, type TestDatabase } from './database.ts';
import { startTestService, type Fields, type TestService } from './service.ts';

/** A check session as `/v2/check-sessions` returns it. */
export type Session = Fields & {
  checkSessionId: string;
  checkId: string;
  status: string;
  stoppedAt: string | null;
  runLocations: string[];
  results: Fields[];
  inProgress: (Fields & { sequenceId: string; state: string; stage: string | null; log: string[] })[];
};

type Location = { id: string; slug: string; key: string };

export const start = '2026-03-04T05:06:07.000Z';
export const second = 1000;
const abilities = { checkTypes: ['URL', 'PLAYWRIGHT'] };

/** The fields of a cancelled run's result. */
export const cancelled = {
  status: 'cancelled',
  isCancelled: true,
  reason: { code: 'CANCELLED', owner: 'ours', message: 'cancelled' },
};

/**
 * Both sides of a service on one database (`api` for users, `agents` for agents), with the private locations `office` and
 * `home`. Registers the hooks: before each test, the tables are empty and the clock is at `start`.
 */
export function sessionBench(database: TestDatabase) {
  const clock = createClock(start);
  let db: Db;
  let folder: string;
  let agents: AgentService;
  let api: TestService;
  let office: Location;
  let home: Location;
  let bundle: string;

  beforeAll(async () => {
    db = await database.open();
    folder = mkdtempSync(join(tmpdir(), 'bundles-'));
    const bundles = createArtifactFiles(folder, { reserveBytes: 0 });
    agents = await createAgentService(db, clock, null, bundles);
    api = await startTestService(db, { now: clock.now, bundles, encryption });
  });
  beforeEach(async () => {
    clock.set(start);
    await emptyTables(
      db,
      'check_results, finished_jobs, check_sessions, run_logs, playwright_bundles, account_variables, check_groups, checks, locations',
    );
    // The retention of another test has dropped the partitions of this time.
    await createPartitions(db).make([clock.now()]);
    const { id: accountId } = api.account;
    office = await addLocation(db, { accountId, slug: 'office' });
    home = await addLocation(db, { accountId, slug: 'home' });
    bundle = (
      await api.call<{ key: string }>('POST', '/v1/playwright-bundles', {
        body: gzipSync('a project'),
        headers: { 'content-type': 'application/octet-stream' },
      })
    ).body.key;
  });
  afterAll(async () => {
    await agents.app.close();
    await api.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function create(path: string, body: Fields): Promise<string> {
    const answer = await api.call<{ id: string; attributes?: unknown }>('POST', path, { body });
    expect([path, answer.status, answer.body.attributes]).toEqual([path, 201, undefined]);
    return String(answer.body.id);
  }
  const suite = (fields: Fields = {}) =>
    create('/v1/checks/playwright', {
      name: 'Shop',
      codeBundlePath: bundle,
      privateLocations: ['office'],
      frequency: 60,
      ...fields,
    });
  const page = (fields: Fields = {}) =>
    create('/v1/checks/url', {
      name: 'Page',
      request: { url: 'https://shop.example/' },
      privateLocations: ['office'],
      frequency: 60,
      ...fields,
    });
  async function trigger(body: Fields = {}): Promise<Session[]> {
    const answer = await api.call<{ sessions: Session[] }>('POST', '/v2/check-sessions/trigger', { body });
    expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
    return answer.body.sessions;
  }
  async function triggerOne(checkId: string, body: Fields = {}): Promise<Session> {
    const [session, ...others] = await trigger({ target: { checkId: [checkId] }, ...body });
    expect(others).toEqual([]);
    if (session === undefined) throw new Error('no session');
    return session;
  }
  async function read({ checkSessionId }: Session, version = 'v2'): Promise<Session> {
    const answer = await api.call<Session>('GET', `/${version}/check-sessions/${checkSessionId}`);
    expect(answer.status).toBe(200);
    return answer.body;
  }
  const cancel = (id: string, body?: unknown) =>
    api.call('POST', `/v1/check-sessions/${id}/cancel`, body === undefined ? {} : { body });
  const connect = (location = office, checkTypes = abilities.checkTypes): Promise<TestAgent> =>
    connectAgent(agents.app, location, { checkTypes });
  async function claimSuite(agent: TestAgent): Promise<TestJob> {
    const [job, ...others] = await agent.claim(10, { lane: 'suite' });
    expect(others).toEqual([]);
    if (job === undefined) throw new Error('no job');
    return job;
  }

  return {
    clock,
    get db() {
      return db;
    },
    get agents() {
      return agents;
    },
    get api() {
      return api;
    },
    get home() {
      return home;
    },
    create,
    suite,
    page,
    trigger,
    triggerOne,
    read,
    cancel,
    connect,
    claimSuite,
  };
}
