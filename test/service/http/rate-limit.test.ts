import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { readServiceConfig } from '../../../src/config/service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Requests of one API key in a minute. */

const unknown = '01890000-0000-7000-8000-000000000001';
let service: TestService;

beforeAll(async () => {
  service = await startTestService(await anyDatabase.open(), { rateLimit: 40 });
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});
beforeEach(() => service.renewAccounts());

describe('rate limits', () => {
  test('a response has the number of remaining requests; each key has its own limit', async () => {
    const { headers } = await service.call('GET', '/v1/variables');
    expect(headers.get('x-ratelimit-limit')).toBe('40');
    expect(Number(headers.get('x-ratelimit-remaining'))).toBe(39);
    expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(0);
    const foreign = await service.call('GET', '/v1/snippets', { key: service.foreign.key });
    expect(foreign.headers.get('x-ratelimit-remaining')).toBe('39');
  });

  test('a key counts as the same however its header is spelled', async () => {
    const { key } = service.account;
    const spellings = ['Bearer ', 'bearer ', 'BEARER ', 'bEaReR ', 'Bearer  ', 'Bearer     '];
    const passed: number[] = [];
    for (let made = 0; made < 60; made++) {
      const authorization = `${spellings[made % spellings.length] ?? ''}${key}${' '.repeat(made % 3)}`;
      const { status } = await service.call('GET', '/v1/variables', {
        key: null,
        headers: { authorization },
      });
      if (status === 200) passed.push(made);
    }
    expect(passed).toHaveLength(40);
  });

  test('requests by the cookie of a session count as those of its key', async () => {
    const body = { apiKey: service.account.key };
    const { headers } = await service.call('POST', '/v1/sign-in', { key: null, body });
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
    await service.call('GET', '/v1/variables');
    const read = await service.call('GET', '/v1/variables', { key: null, headers: { cookie } });
    expect([read.status, read.headers.get('x-ratelimit-remaining')]).toEqual([200, '38']);
  });

  test('routes that cost more take fewer, counted by themselves', async () => {
    for (let made = 1; made <= 31; made++) {
      const { status, headers } = await service.call('POST', '/v1/analytics/checks', {
        body: { checkIds: [unknown] },
      });
      expect([made, status, headers.get('x-ratelimit-limit')]).toEqual([made, made <= 30 ? 404 : 429, '30']);
    }
    const results = await service.call('GET', `/v2/check-results/${unknown}`);
    expect(results.headers.get('x-ratelimit-limit')).toBe('60');
    const metrics = await service.call('GET', `/v1/private-locations/${unknown}/metrics?from=1&to=2`);
    expect(metrics.headers.get('x-ratelimit-limit')).toBe('300');
  });

  test('429 has the reason and Retry-After; wrong keys, other keys and other routes are not affected', async () => {
    let last = await service.call('GET', '/v1/variables');
    for (let made = 0; made < 40 && last.status === 200; made++) {
      last = await service.call('GET', '/v1/variables');
    }
    expect([last.status, last.body]).toEqual([
      429,
      {
        ...statusFields(429),
        message: expect.stringMatching(
          /^Too many requests with this API key \(at most 40\): try again in \d+ s\.$/,
        ),
        attributes: {},
      },
    ]);
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(last.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect((await service.call('POST', '/v1/snippets', { body: {} })).status).toBe(429);
    expect((await service.call('GET', '/v1/variables', { key: 'sk_wrong' })).status).toBe(401);
    expect((await service.call('GET', '/v1/variables', { key: service.foreign.key })).status).toBe(200);
    expect((await service.call('GET', '/')).status).toBe(200);
    expect((await service.call('GET', '/health')).status).toBe(200);
  });

  test('SERVICE_RATE_LIMIT: 600 by default, 0 = no limit', () => {
    expect(readServiceConfig({}).rateLimit).toBe(600);
    expect(readServiceConfig({ SERVICE_RATE_LIMIT: '0' }).rateLimit).toBe(0);
    expect(() => readServiceConfig({ SERVICE_RATE_LIMIT: '-1' })).toThrow(
      'SERVICE_RATE_LIMIT must be a whole number from 0 to 1000000',
    );
  });
});
