import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  badgeSvg,
  badgeStyles,
  badgeThemes,
  stateOf,
  type Badge,
} from '../../../src/service/badges/badge.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import {
  insertResults,
  updateStatuses,
  type ResultToStore,
} from '../../../src/service/results/store-result.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Badges: what they show, that nothing breaks out of them, and who may see them. */

const badge: Badge = { name: 'Shop', state: 'passing', responseTime: null, availability: null };
const flat = { style: 'flat', theme: 'default' } as const;

describe('images', () => {
  const title = (svg: string) => /<title>(.*)<\/title>/.exec(svg)?.[1];

  test.each([
    [{}, 'Shop: passing'],
    [{ responseTime: 123.4 }, 'Shop: passing · 123 ms'],
    [{ availability: 99.98, responseTime: 5 }, 'Shop: passing · 99.98 % · 5 ms'],
    [
      { name: `<script>alert("1")</script>&'` },
      '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;: passing',
    ],
    [{ name: 'a\u0000\u001b\ud800b' }, 'a   b: passing'],
    [{ name: 'x'.repeat(61) }, `${'x'.repeat(59)}…: passing`],
  ])('%j', (fields, expected) => {
    expect(title(badgeSvg({ ...badge, ...fields }, flat))).toBe(expected);
  });

  test('every style and theme is one element, without scripts or external resources', () => {
    for (const style of badgeStyles) {
      for (const theme of badgeThemes) {
        const svg = badgeSvg({ ...badge, name: '"><image href="https://a.example"/>' }, { style, theme });
        expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^<>]*>[^]*<\/svg>\n$/);
        expect(svg).not.toMatch(/<image|<script|href="/);
        expect(svg.length).toBeLessThan(4096);
      }
    }
  });

  const check = (status: string | null, activated = true) => ({ status, activated });
  test.each([
    ['nothing', [], 'no data'],
    ['one that has not run', [check(null)], 'no data'],
    ['one that is off', [check('failed', false)], 'inactive'],
    ['one that passed, one that is off', [check('passed'), check('failed', false)], 'passing'],
    ['one degraded', [check('passed'), check('degraded')], 'degraded'],
    ['one failed', [check('degraded'), check('failed')], 'failing'],
    ['one errored', [check('passed'), check('errored')], 'failing'],
  ])('state of %s', (_what, checks, expected) => {
    expect(stateOf(checks)).toBe(expected);
  });
});

describe('routes', () => {
  const clock = createClock('2026-03-04T05:06:07.000Z');
  const [embedded] = databases;
  let service: TestService;
  let checkId: string;
  let groupId: number;

  beforeAll(async () => {
    if (embedded === undefined) throw new Error('no embedded database');
    service = await startTestService(await embedded.open(), { now: clock.now });
  });
  beforeEach(async () => {
    const group = await service.call<{ id: number }>('POST', '/v2/check-groups', { body: { name: 'All' } });
    groupId = group.body.id;
    const check = await service.call<{ id: string }>('POST', '/v1/checks/url', {
      body: {
        name: 'Shop & more',
        locations: ['eu-west-1'],
        request: { url: 'https://shop.example/' },
        groupId,
      },
    });
    checkId = check.body.id;
  });
  afterAll(async () => {
    await service.close();
    await embedded?.close();
  });

  async function store(status: 'passed' | 'failed', responseTime: number): Promise<void> {
    clock.advance(1000);
    const now = clock.now();
    const result: ResultToStore = {
      id: uuidv7(now),
      startedAt: now,
      stoppedAt: now,
      accountId: service.account.id,
      checkId,
      jobId: null,
      sequenceId: uuidv7(now),
      checkType: 'URL',
      runLocation: 'eu-west-1',
      resultType: 'FINAL',
      status,
      hasFailures: status === 'failed',
      hasErrors: false,
      isDegraded: false,
      overMaxResponseTime: false,
      isCancelled: false,
      responseTime,
      attempts: 0,
      reason: null,
      body: '{}',
      sslDaysRemaining: null,
    };
    const partitions = createPartitions(service.db);
    await partitions.make([now]);
    await service.db.tx(async (tx) => {
      await insertResults(tx, [result], new Date(now));
      await updateStatuses(tx, [result], new Date(now));
    });
  }
  async function image(url: string, headers: Record<string, string> = {}) {
    const response = await fetch(url.startsWith('/') ? `${service.url}${url}` : url, { headers });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      title: /<title>(.*)<\/title>/.exec(text)?.[1],
    };
  }

  test('a check badge is public by its id, and shows the requested metric', async () => {
    const path = `/v1/badges/checks/${checkId}`;
    expect((await image(path)).title).toBe('Shop &amp; more: no data');
    await store('failed', 900);
    await store('passed', 100);
    const { status, headers, title } = await image(
      `${path}?responseTime=true&availability=true&style=plastic`,
    );
    expect([status, title]).toEqual([200, 'Shop &amp; more: passing · 50 % · 100 ms']);
    expect(headers.get('content-type')).toBe('image/svg+xml; charset=utf-8');
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    const etag = headers.get('etag') ?? '';
    const again = `${path}?responseTime=true&availability=true&style=plastic`;
    expect((await image(again, { 'if-none-match': etag })).status).toBe(304);
    expect((await image(`${path}?style=round`)).status).toBe(400);
    expect((await image(`${path}?unknown=1`)).status).toBe(400);
    expect((await image('/v1/badges/checks/nothing')).status).toBe(404);
    const foreign = { authorization: `Bearer ${service.foreign.key}` };
    expect((await image(path, foreign)).status).toBe(404);
    const own = await service.call<{ url: string }>('GET', `${path}/url`);
    expect((await image(own.body.url)).title).toBe('Shop &amp; more: passing');
  });

  test('a group: with an API key, or with the key of its URL', async () => {
    const path = `/v1/badges/groups/${groupId}`;
    expect((await image(path)).status).toBe(404);
    const bearer = ({ key }: { key: string }) => ({ authorization: `Bearer ${key}` });
    expect((await image(path, bearer(service.account))).title).toBe('All: no data');
    await store('failed', 900);
    await store('passed', 100);
    expect((await image(path, bearer(service.account))).title).toBe('All: passing');
    expect((await image(path, bearer(service.foreign))).status).toBe(404);
    expect((await image(path, { authorization: 'Bearer wrong' })).status).toBe(401);
    const { body } = await service.call<{ url: string }>('GET', `${path}/url`);
    expect((await image(`${body.url}&availability=true`)).title).toBe('All: passing · 50 %');
    const key = new URL(body.url).searchParams.get('key') ?? '';
    const other = await service.call<{ id: number }>('POST', '/v2/check-groups', { body: { name: 'Other' } });
    for (const [id, text] of [
      [other.body.id, key],
      [groupId, 'x'],
      [groupId, `${key.slice(0, -4)}AAAA`],
      [groupId, service.encryption.seal('something else')],
    ] as const) {
      const url = `/v1/badges/groups/${id}?key=${encodeURIComponent(text)}`;
      expect((await image(url)).status).toBe(404);
    }
    const foreign = await service.call('GET', `${path}/url`, { key: service.foreign.key });
    expect(foreign.status).toBe(404);
  });
});
