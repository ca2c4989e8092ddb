import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAgentCallLimits } from '../../../src/service/agents/call-limits.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import {
  addAccount,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
  type AgentService,
} from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';

/** What one location's key may cost the service: hellos and events. */

const clock = createClock('2026-03-04T05:06:07.000Z');
const location = (locationId: string) => ({ locationId, accountId: 'a', name: 'n', slugName: 's' });
const errorOf = (work: () => void): unknown => {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
};

let db: Db;
let service: AgentService;
let office: { key: string };
let branch: { key: string };

beforeAll(async () => {
  db = await anyDatabase.open();
});
afterAll(() => anyDatabase.close());
beforeEach(async () => {
  await emptyAccounts(db);
  service = await createAgentService(db, clock, null, undefined, createAgentCallLimits(clock));
  const accountId = await addAccount(db);
  office = await addLocation(db, { accountId, slug: 'office' });
  branch = await addLocation(db, { accountId, slug: 'branch' });
  return () => service.app.close();
});

test('20 agents of a location that start together are accepted, and so is each again', async () => {
  for (let round = 0; round < 2; round++) {
    const agents = await Promise.all(Array.from({ length: 20 }, () => connectAgent(service.app, office)));
    expect(new Set(agents.map(({ agentId }) => agentId)).size).toBe(20);
  }
});

test('above 300 hellos in a minute a location gets 429 with Retry-After; others do not', () => {
  const limits = createAgentCallLimits(clock);
  const hello = (of: string) => errorOf(() => limits.countCall('hello', location(of), 100));
  const answers = Array.from({ length: 965 }, () => hello('one'));
  expect(answers.filter((error) => error === null)).toHaveLength(300);
  expect(answers.at(-1)).toMatchObject({ statusCode: 429, retryAfterSeconds: 60 });
  expect(hello('two')).toBeNull();
  clock.set(clock.now() + 60_000);
  expect(hello('one')).toBeNull();
});

test('calls for jobs, leases and results are not counted', () => {
  const limits = createAgentCallLimits(clock);
  for (const route of ['claim', 'renew', 'results', 'release', 'artifactStates']) {
    for (let made = 0; made < 1000; made++) limits.countCall(route, location('one'), 1e6);
  }
});

test('events are limited by the bytes that are sent, before they are read, and by those that are stored', async () => {
  const { agentId } = await connectAgent(service.app, office);
  const other = await connectAgent(service.app, branch);
  const event = {
    time: '2026-03-04T05:06:07.000Z',
    message: 'm'.repeat(4096),
    stack: 's'.repeat(16_384),
    version: '1',
    platform: 'linux',
    runtime: 'node',
  };
  const body = (of: string) =>
    JSON.stringify({ agentId: of, events: Array.from({ length: 100 }, () => event) });
  const send = (by: { key: string }, payload: Buffer | string, headers: object = {}) =>
    service.app.inject({
      method: 'POST',
      url: '/agent/v1/events',
      headers: { authorization: `Bearer ${by.key}`, 'content-type': 'application/json', ...headers },
      payload,
    });
  // Small on the wire, 2 MB when stored: four fit.
  const packed = gzipSync(body(agentId));
  expect(packed.length).toBeLessThan(50_000);
  const statuses: number[] = [];
  for (let made = 0; made < 8; made++) {
    const answer = await send(office, packed, { 'content-encoding': 'gzip' });
    statuses.push(answer.statusCode);
    if (answer.statusCode === 429) {
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.json()).toMatchObject({ message: expect.stringContaining('bytes of events') });
    }
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
  const [stored] = await db.query<{ count: number }>('select count(*)::int as count from agent_events');
  expect(stored?.count).toBe(300);
  // As it is: the fourth is refused before its body is parsed, so that its content does not matter.
  const plain: number[] = [];
  for (let made = 0; made < 4; made++) plain.push((await send(branch, body(other.agentId))).statusCode);
  expect(plain).toEqual([200, 200, 200, 429]);
  expect((await send(branch, 'x'.repeat(2_100_000))).json()).toMatchObject({
    message: expect.stringContaining('bytes of events'),
  });
  expect((await send(branch, JSON.stringify({ agentId: uuidv7(), events: [event] }))).statusCode).toBe(429);
});
