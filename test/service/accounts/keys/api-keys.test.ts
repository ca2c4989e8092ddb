import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createClock } from '../../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../../helpers/service/service.ts';

/** The account's API keys: made, shown once, renamed, ended. */

const start = '2026-03-04T05:06:07.000Z';
const clock = createClock(start);
let service: TestService;

beforeAll(async () => {
  service = await startTestService(await anyDatabase.open(), { now: clock.now });
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});
beforeEach(async () => {
  clock.set(start);
  await service.renewAccounts();
  // The database's clock has given the accounts' own keys their times: here they are older than all others.
  await service.db.query('update api_keys set created_at = $1', [new Date(clock.now() - 1000)]);
});

type Key = Fields & { id: string; rawKey: string; name: string };
const path = '/v1/api-keys';

async function make(body: Fields): Promise<Key> {
  const answer = await service.call<Key>('POST', path, { body });
  expect(answer.status).toBe(201);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  return answer.body;
}
const statusWith = async (key: string) => (await service.call('GET', '/v1/accounts/me', { key })).status;
const reasonWith = async (key: string) =>
  (await service.call<{ attributes: Fields }>('GET', '/v1/accounts/me', { key })).body.attributes;

test('a key is shown once, stored as a hash, and works', async () => {
  const { rawKey, ...key } = await make({ name: 'CI' });
  expect(rawKey).toMatch(/^sk_[0-9a-f]{48}$/);
  expect(key).toEqual({
    id: expect.any(String) as unknown,
    name: 'CI',
    role: 'ADMIN',
    maskedKey: `...${rawKey.slice(-4)}`,
    expiresAt: null,
    lastUsedAt: null,
    created_at: start,
    updated_at: null,
  });
  const rows = await service.db.query('select *, encode(key_hash, $1) from api_keys', ['escape']);
  expect(JSON.stringify(rows)).not.toContain(rawKey);
  expect((await service.call('GET', `${path}/${key.id}`)).body).toEqual(key);

  clock.advance(61_000);
  expect(await statusWith(rawKey)).toBe(200);
  const listed = (await service.call<Key[]>('GET', path)).body;
  expect(listed).toHaveLength(2);
  expect(listed[1]).toEqual({ ...key, lastUsedAt: new Date(clock.now()).toISOString() });
  expect((await service.call<Key[]>('GET', `${path}?limit=1&page=2`)).body).toEqual([listed[1]]);
});

test('an expiry takes effect at once, and is returned', async () => {
  const ends = new Date(clock.now() + 60_000).toISOString();
  const { id, rawKey } = await make({ name: 'Visitor', expiresAt: ends });
  expect(await statusWith(rawKey)).toBe(200);
  clock.advance(60_000);
  expect(await reasonWith(rawKey)).toEqual({ authorization: ['has expired'] });
  // What was read can be sent back, and the key be prolonged.
  const read = (await service.call('GET', `${path}/${id}`)).body;
  expect((await service.call('PUT', `${path}/${id}`, { body: read })).body).toMatchObject({
    expiresAt: ends,
  });
  const later = new Date(clock.now() + 3_600_000).toISOString();
  const put = await service.call('PUT', `${path}/${id}`, { body: { name: 'Guest', expiresAt: later } });
  expect(put.body).toMatchObject({ name: 'Guest', expiresAt: later, updated_at: expect.any(String) });
  clock.advance(5001);
  expect(await statusWith(rawKey)).toBe(200);
  for (const expiresAt of [start, '9999-12-31T23:59:59.999Z']) {
    const answer = await service.call('POST', path, { body: { name: 'x', expiresAt } });
    expect([answer.status, answer.body['attributes']]).toEqual([
      400,
      { expiresAt: ['must be later than now; delete the key to end it at once'] },
    ]);
  }
  expect((await service.call('POST', path, { body: { name: 'x', expiresAt: 'soon' } })).status).toBe(400);
});

test('a key is deleted by another key, and the last key without expiry is kept', async () => {
  const [own] = (await service.call<Key[]>('GET', path)).body;
  const ownPath = `${path}/${own?.id ?? ''}`;
  const { id, rawKey } = await make({ name: 'Second' });
  const refused = await service.call('DELETE', ownPath);
  expect([refused.status, refused.body['attributes']]).toEqual([
    409,
    { id: ['names the key of this request'] },
  ]);
  expect(await statusWith(rawKey)).toBe(200);
  const soon = new Date(clock.now() + 60_000).toISOString();
  expect((await service.call('PUT', ownPath, { body: { expiresAt: soon } })).status).toBe(200);
  // Now the second one is the only one that stays.
  const last = await service.call('PUT', `${path}/${id}`, { body: { expiresAt: soon } });
  expect([last.status, Object.keys(last.body['attributes'] as object)]).toEqual([409, ['expiresAt']]);
  expect((await service.call('DELETE', `${path}/${id}`)).status).toBe(409);
  expect((await service.call('PUT', ownPath, { body: { expiresAt: null } })).status).toBe(200);
  expect((await service.call('DELETE', `${path}/${id}`)).status).toBe(204);
  clock.advance(5001);
  expect(await reasonWith(rawKey)).toEqual({ authorization: ['is not valid'] });
  expect((await service.call('DELETE', `${path}/${id}`)).status).toBe(404);
});

test('a role can be read and changed, and one ADMIN key without expiry is kept', async () => {
  const [own] = (await service.call<Key[]>('GET', path)).body;
  const ownPath = `${path}/${own?.id ?? ''}`;
  const { id } = await make({ name: 'Reader', role: 'READ_ONLY' });
  expect((await service.call('GET', `${path}/${id}`)).body).toMatchObject({ role: 'READ_ONLY' });
  const refused = await service.call('PUT', ownPath, { body: { role: 'READ_WRITE' } });
  expect([refused.status, Object.keys(refused.body['attributes'] as object)]).toEqual([409, ['role']]);
  const soon = new Date(clock.now() + 60_000).toISOString();
  expect((await service.call('PUT', ownPath, { body: { expiresAt: soon } })).status).toBe(409);
  const read = (await service.call('GET', `${path}/${id}`)).body;
  const changed = await service.call('PUT', `${path}/${id}`, { body: { ...read, role: 'ADMIN' } });
  expect(changed.body).toMatchObject({ name: 'Reader', role: 'ADMIN' });
  expect((await service.call('PUT', ownPath, { body: { role: 'READ_WRITE' } })).body).toMatchObject({
    role: 'READ_WRITE',
  });
  expect((await service.call('POST', path, { body: { name: 'x', role: 'OWNER' } })).status).toBe(400);
});

test('another account neither finds nor counts them', async () => {
  const { id } = await make({ name: 'Mine' });
  const key = service.foreign.key;
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const body = method === 'PUT' ? { body: { name: 'Theirs' } } : {};
    expect((await service.call(method, `${path}/${id}`, { key, ...body })).status).toBe(404);
  }
  expect((await service.call<Key[]>('GET', path, { key })).body).toHaveLength(1);
});

test('if two keys delete each other at the same time, one is kept', async () => {
  const first = service.foreign.key;
  const made = await service.call<Key>('POST', path, { key: first, body: { name: 'Second' } });
  const second = made.body.rawKey;
  const all = (await service.call<Key[]>('GET', path, { key: first })).body;
  const firstId = all.find(({ id }) => id !== made.body.id)?.id ?? '';
  expect(all).toHaveLength(2);
  expect(await statusWith(second)).toBe(200); // known from now on
  const answers = await Promise.all([
    service.call('DELETE', `${path}/${made.body.id}`, { key: first }),
    service.call('DELETE', `${path}/${firstId}`, { key: second }),
  ]);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204, 409]));
  const isFirst = answers[0].status === 204;
  const left = (await service.call<Key[]>('GET', path, { key: isFirst ? first : second })).body;
  expect(left.map(({ id }) => id)).toEqual([isFirst ? firstId : made.body.id]);
});
