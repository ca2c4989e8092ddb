import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWrongKeys, wrongKeysPerMinute } from '../../../src/service/http/wrong-keys.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Requests with wrong keys, by the address that they come from. */

let time = Date.parse('2026-03-04T05:06:07.000Z');
let service: TestService;
/** Searches for a key in the database. */
let searches = 0;

beforeAll(async () => {
  const db = await anyDatabase.open();
  const counting = {
    ...db,
    query: ((text: string, values?: unknown[]) => {
      if (/from api_keys/.test(text)) searches += 1;
      return db.query(text, values);
    }) as typeof db.query,
  };
  const now = () => time;
  service = await startTestService(counting, {
    now,
    wrongKeys: createWrongKeys({ now }),
    trustedProxies: ['127.0.0.1'],
  });
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});
beforeEach(() => {
  time += 120_000;
  searches = 0;
});

const call = async (key: string, from: string, headers: Record<string, string> = {}) =>
  service.call('GET', '/v1/variables', { key, headers: { 'x-forwarded-for': from, ...headers } });
const statusOf = async (...of: Parameters<typeof call>) => (await call(...of)).status;

async function guess(from: (guessed: number) => string, times: number): Promise<number[]> {
  const seen: number[] = [];
  for (let made = 0; made < times; made++) seen.push(await statusOf(`sk_wrong_${made}`, from(made)));
  return seen;
}

test('an address with too many wrong keys gets 429, and after a minute 401 again', async () => {
  const seen = await guess(() => '192.0.2.1', wrongKeysPerMinute + 20);
  expect(seen).toEqual([
    ...Array.from({ length: wrongKeysPerMinute }, () => 401),
    ...Array.from({ length: 20 }, () => 429),
  ]);
  expect(searches).toBe(wrongKeysPerMinute + 20);
  const { body, headers } = await call('sk_wrong', '192.0.2.1');
  expect(body['message']).toBe(
    'Too many requests with wrong keys from your address (at most 60 in a minute): try again in 60 s.',
  );
  expect(headers.get('retry-after')).toBe('60');
  expect(await statusOf('sk_wrong', '192.0.2.2')).toBe(401);
  time += 60_000;
  expect(await statusOf('sk_wrong', '192.0.2.1')).toBe(401);
});

test('an IPv6 network counts as one address', async () => {
  const seen = await guess((made) => `2001:db8:1:2::${made + 1}`, wrongKeysPerMinute + 1);
  expect(seen.at(-1)).toBe(429);
  expect(await statusOf('sk_wrong', '2001:db8:1:3::1')).toBe(401);
});

test('right keys keep working at that address, also those that this replica has never seen', async () => {
  expect(await statusOf(service.account.key, '192.0.2.3')).toBe(200);
  await guess(() => '192.0.2.3', wrongKeysPerMinute + 1);
  // Longer than a key is remembered without a search.
  time += 10_000;
  expect(await statusOf(service.account.key, '192.0.2.3')).toBe(200);
  // Many clients may share an address, for example behind a load balancer.
  expect(await statusOf(service.foreign.key, '192.0.2.3')).toBe(200);
});

test('a right key with accounts of others counts too', async () => {
  const seen: number[] = [];
  for (let made = 0; made <= wrongKeysPerMinute; made++) {
    const other = { 'x-service-account': `0198c0de-0000-7000-8000-0000000000${made + 10}` };
    seen.push(await statusOf(service.account.key, '192.0.2.5', other));
  }
  expect(seen).toEqual([...Array.from({ length: wrongKeysPerMinute }, () => 403), 429]);
});
