import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClock, encryption } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Previews of status pages that are not saved. */

let api: TestService;
let shopId: string;
let page: Fields;
const clock = createClock('2026-03-04T05:06:07.000Z');

beforeAll(async () => {
  api = await startTestService(await anyDatabase.open(), { encryption, now: clock.now });
  shopId = String((await made('/v1/status-pages/services', { name: 'Checkout' }))['id']);
  page = await made('/v1/status-pages', {
    name: 'Saved',
    url: 'saved',
    cards: [{ name: 'All', services: [{ serviceId: shopId }] }],
  });
  await made('/v1/incidents', {
    name: 'Slow page',
    severity: 'MINOR',
    dashboardId: page['id'],
    incidentUpdates: [{ status: 'INVESTIGATING', description: 'We look into it.' }],
  });
});
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
});

async function made(path: string, body: unknown): Promise<Fields> {
  const answer = await api.call('POST', path, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
const preview = (body: unknown, query = '') =>
  api.call('POST', `/v1/status-pages/previews${query}`, { body });
const read = (url: unknown, key: string | null = api.account.key) =>
  fetch(`${api.url}${String(url)}`, key === null ? {} : { headers: { authorization: `Bearer ${key}` } });

const body = {
  name: '<b>New</b>',
  url: 'saved',
  isPrivate: true,
  logo: 'https://cdn.example/logo.png',
  colors: { light: { accent: '#123456' }, dark: {} },
  cards: [{ name: 'Web', services: [] as { serviceId: string }[] }],
};

test('shows a body that is not saved, also of a private page, and stores nothing', async () => {
  const sent = { ...body, cards: [{ name: 'Web', services: [{ serviceId: shopId }] }] };
  const { status, body: made } = await preview(sent);
  expect(status).toBe(201);
  const answer = await read(made['url']);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none';.*; sandbox$/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const text = await answer.text();
  expect(text).toContain('<h1><a href="/status/saved">&lt;b&gt;New&lt;/b&gt;</a></h1>');
  for (const part of ['Web', 'Checkout', 'logo.png', 'All systems operational']) expect(text).toContain(part);
  const [, theme] = /href="(\/status-previews\/theme\.css[^"]*)"/.exec(text) ?? [];
  const css = await (await read(theme?.replaceAll('&amp;', '&'), null)).text();
  expect(css).toBe(':root {\n  --light-accent: #123456;\n}\n');
  const pages = await api.call<{ entries: Fields[] }>('GET', '/v1/status-pages');
  expect(
    pages.body.entries.map(({ name, cards }) => [name, (cards as Fields[]).map((card) => card['name'])]),
  ).toEqual([['Saved', ['All']]]);
});

test('shows the incidents of the stored page that the body would replace', async () => {
  const { body: made } = await preview(body, `?id=${String(page['id'])}`);
  expect(await (await read(made['url'])).text()).toContain('Slow page');
  expect(await (await read((await preview(body)).body['url'])).text()).not.toContain('Slow page');
  expect((await (await fetch(`${api.url}/status/saved`)).text()).includes('Saved')).toBe(true);
});

test('is for keys of the account only, and expires', async () => {
  const { body: made } = await preview(body);
  expect((await read(made['url'], null)).status).toBe(401);
  const reader = await api.call('POST', '/v1/api-keys', { body: { name: 'r', role: 'READ_ONLY' } });
  expect((await read(made['url'], String(reader.body['rawKey']))).status).toBe(200);
  expect((await read(made['url'], api.foreign.key)).status).toBe(404);
  for (const token of ['x', 'sealed:1:00000000:AAAA', encryption.seal('{}'), encryption.seal('AAAA')])
    expect((await read(`/v1/status-pages/previews/page?token=${encodeURIComponent(token)}`)).status).toBe(
      404,
    );
  clock.advance(11 * 60_000);
  expect((await read(made['url'])).status).toBe(404);
});

test('refuses what a page is refused for, and bodies that an address cannot hold', async () => {
  expect((await preview({ ...body, url: 'Not a name' })).status).toBe(400);
  expect(
    (await preview({ ...body, cards: [{ name: 'A', services: [{ serviceId: 'x' }] }] })).body,
  ).toMatchObject({
    attributes: { 'cards.0.services.0.serviceId': [expect.stringContaining('names no service')] },
  });
  expect((await preview(body, '?id=0198f0a0-0000-7000-8000-000000000000')).status).toBe(404);
  const noise = Array.from({ length: 50 }, () => ({
    name: Array.from({ length: 250 }, () => String.fromCharCode(33 + Math.floor(Math.random() * 90))).join(
      '',
    ),
    services: [],
  }));
  expect((await preview({ ...body, cards: noise })).body).toMatchObject({
    attributes: { cards: ['hold too much for a preview: save the page to see it'] },
  });
});

test('a style sheet has only colours', async () => {
  const css = await read('/status-previews/theme.css?light=}body{.x..%23000000&dark=abcdef.0.&dark=1', null);
  expect([css.status, await css.text()]).toEqual([200, ':root {\n\n}\n']);
});
