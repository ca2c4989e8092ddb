import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  addLocation,
  connectAgent,
  createAgentService,
  encryption,
  resultOf,
  type AgentService,
  type TestAgent,
} from '../../helpers/service/agent-service.ts';
import { anyDatabase, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Runs of checks before they are saved. */

let api: TestService;
let agents: AgentService;
let agent: TestAgent;

beforeAll(async () => {
  const db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  agents = await createAgentService(db, { now: () => api.now() });
});
beforeEach(async () => {
  await emptyTables(api.db, 'check_sessions, check_groups, checks, locations');
  await api.renewAccounts();
  const office = await addLocation(api.db, { accountId: api.account.id, slug: 'office' });
  agent = await connectAgent(agents.app, office);
});
afterAll(async () => {
  await agents.app.close();
  await api.close();
  await anyDatabase.close();
});

const place = { privateLocations: ['office'] };
const url = 'https://shop.example/';
const body = { name: 'Tried', ...place, request: { url } };
const attempt = (type: string, sent: unknown, query = '') =>
  api.call('POST', `/v1/checks/${type}/try${query}`, { body: sent });
async function made(path: string, sent: unknown): Promise<Fields> {
  const answer = await api.call('POST', path, { body: sent });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}

test('runs a body once, and stores no check', async () => {
  const started = await attempt('url', body);
  expect([started.status, started.body]).toEqual([
    201,
    expect.objectContaining({ name: 'Test run of Tried', status: 'RUNNING', runLocations: ['office'] }),
  ]);
  const [job] = await agent.claim();
  if (job === undefined) throw new Error('no job');
  expect(job).toMatchObject({ checkType: 'URL', request: { url } });
  await agent.report(resultOf(job, api.now()));
  const session = await api.call<{ status: string; results: Fields[] }>(
    'GET',
    `/v1/test-sessions/${String(started.body['testSessionId'])}`,
  );
  expect(session.body).toMatchObject({ status: 'PASSED', results: [{ checkId: job.checkId }] });
  const [result] = session.body.results;
  const path = `/v1/check-results/${String(result?.['checkId'])}/${String(result?.['checkResultId'])}`;
  expect((await api.call('GET', path)).body).toMatchObject({ status: 'passed' });
  expect((await api.call('GET', '/v1/checks')).body).toEqual([]);
  expect((await api.call('GET', '/v1/check-statuses')).body).toEqual([]);
  expect((await api.call('GET', '/v1/checks-overview')).body).toMatchObject({ totals: { all: 0 } });
  expect(
    (await api.call('DELETE', `/v1/test-sessions/${String(started.body['testSessionId'])}`)).status,
  ).toBe(204);
  expect(await api.db.query('select 1 from checks')).toEqual([]);
});

test('with an id, stored secrets count, and so do those of the group and the account', async () => {
  const group = await made('/v2/check-groups', {
    name: 'All',
    environmentVariables: [{ key: 'G', value: 'secret-of-group', secret: true }],
  });
  await made('/v1/variables', { key: 'A', value: 'secret-of-account', secret: true });
  const stored = await made('/v1/checks/api', {
    ...body,
    groupId: group['id'],
    environmentVariables: [{ key: 'C', value: 'secret-of-check', secret: true }],
  });
  const changed = {
    ...body,
    groupId: group['id'],
    environmentVariables: [{ key: 'C', value: '', secret: true }],
    request: { url: `${url}?{{C}}{{G}}{{A}}` },
  };
  expect((await attempt('api', changed, `?id=${String(stored['id'])}`)).status).toBe(201);
  const [job] = await agent.claim();
  const text = JSON.stringify(job);
  for (const secret of ['secret-of-check', 'secret-of-group', 'secret-of-account'])
    expect(text).toContain(secret);
  expect(text).toContain('?{{C}}{{G}}{{A}}');
  // What waits for the agent is encrypted, and the stored check is as it was.
  expect(JSON.stringify(await api.db.query('select * from checks'))).not.toContain('secret-of');
  expect((await api.call('GET', `/v1/checks/${String(stored['id'])}`)).body).toMatchObject({
    request: { url },
  });
  expect((await api.call<Fields[]>('GET', '/v1/checks')).body).toHaveLength(1);
});

test('refuses what a new check is refused for, and ids of other checks', async () => {
  const wrong = { name: 'Tried', request: { url } };
  const [tried, created] = [
    await attempt('url', wrong),
    await api.call('POST', '/v1/checks/url', { body: wrong }),
  ];
  expect([tried.status, tried.body]).toEqual([created.status, created.body]);
  expect((await attempt('url', { ...body, privateLocations: ['mars'] })).body).toMatchObject({
    attributes: { 'privateLocations.0': [expect.stringContaining('mars')] },
  });
  expect((await attempt('url', body, '?runLocation=mars')).body).toMatchObject({
    attributes: { runLocation: ['is not a location of this account'] },
  });
  const other = await made('/v1/checks/tcp', { ...body, request: { hostname: 'db.example', port: 1 } });
  for (const id of [String(other['id']), '0198f0a0-0000-7000-8000-000000000000', 'x'])
    expect((await attempt('url', body, `?id=${id}`)).status).toBe(404);
  expect(
    (await attempt('heartbeat', { name: 'B', heartbeat: { period: 1, periodUnit: 'hours' } })).status,
  ).toBe(405);
  expect(await agent.claim()).toEqual([]);
});

test('says why a check cannot be run', async () => {
  expect(
    (await attempt('url', { ...body, privateLocations: [], locations: ['eu-west-1'] })).body,
  ).toMatchObject({
    attributes: { locations: ['has a location that no agent has joined yet'] },
  });
  const group = await made('/v2/check-groups', { name: 'Nowhere' });
  expect((await attempt('url', { name: 'T', groupId: group['id'], request: { url } })).body).toMatchObject({
    attributes: { locations: ['has no location'] },
  });
});

test('keys that may only run checks cannot try definitions, which could send secrets anywhere', async () => {
  const runner = await made('/v1/api-keys', { name: 'runner', role: 'READ_RUN' });
  const answer = await api.call('POST', '/v1/checks/url/try', { body, key: String(runner['rawKey']) });
  expect(answer.status).toBe(403);
});
