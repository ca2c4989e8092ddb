import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { makeRollupPartition } from '../../../src/service/analytics/rollup-statements.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** What a status page says of its services: their checks, their uptime, their days; its look, its badge, its refusals. */

const start = '2026-03-04T12:00:00.000Z';
const hour = 3_600_000;
const day = 24 * hour;

let db: Db;
let service: TestService;
const clock = createClock(start);
beforeAll(async () => {
  db = await anyDatabase.open();
  service = await startTestService(db, { now: clock.now });
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

async function made(path: string, body: Fields): Promise<Fields & { id: string }> {
  const answer = await service.call<Fields & { id: string }>('POST', path, { body });
  expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body;
}
async function read(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${service.url}${path}`, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
const textOf = (html: string) =>
  html
    .replaceAll(/<svg.*?<\/svg>/gs, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
const newCheck = () =>
  addCheck(db, { accountId: service.account.id, locations: ['eu-west-1'], now: clock.now() });
const setStatus = (checkId: string, status: string) =>
  db.query(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_started_at)
     values ($1, $2, $3, false, false, false, $4) on conflict (check_id) do update set status = excluded.status`,
    [checkId, service.account.id, status, new Date(clock.now())],
  );
async function addPage(url: string, checkIds: string[], rest: Fields = {}) {
  const { id: serviceId } = await made('/v1/status-pages/services', { name: 'Shop', checkIds });
  const page = await made('/v1/status-pages', {
    name: 'Acme',
    url,
    cards: [{ name: 'Web', services: [{ serviceId }] }],
    ...rest,
  });
  return { serviceId, pageId: page.id };
}

describe('services with checks', () => {
  test('are degraded or down by the statuses of their checks, without an incident', async () => {
    const [first, second] = [await newCheck(), await newCheck()];
    await addPage('checked', [first, second]);
    const shown = async () => textOf((await read('/status/checked')).text);
    expect(await shown()).toContain('All systems operational Web Shop Operational');
    await setStatus(first, 'passed');
    await setStatus(second, 'degraded');
    expect(await shown()).toContain('Some systems are degraded Web Shop Degraded');
    await setStatus(second, 'failed');
    expect(await shown()).toContain('Some systems are down Web Shop Partial outage');
    await setStatus(first, 'failed');
    expect(await shown()).toContain('Some systems are down Web Shop Down');
    // The agent could not measure: that says nothing about the service.
    await setStatus(first, 'errored');
    await setStatus(second, 'errored');
    expect(await shown()).toContain('All systems operational Web Shop Operational');
    await setStatus(first, 'failed');
    await db.query('update checks set activated = false where id = $1', [first]);
    expect(await shown()).toContain('All systems operational');
  });

  test('are expected to fail during maintenance', async () => {
    const check = await newCheck();
    const { serviceId } = await addPage('maintained', [check]);
    await setStatus(check, 'failed');
    await made('/v1/maintenance-windows', {
      name: 'Move',
      startsAt: new Date(clock.now() - hour).toISOString(),
      endsAt: new Date(clock.now() + hour).toISOString(),
      statusPageVisibility: { enabled: true, serviceIds: [serviceId] },
    });
    expect(textOf((await read('/status/maintained')).text)).toMatch(/Web Shop Under maintenance/);
  });

  test('have an uptime by the runs of their checks, and empty days before the first run', async () => {
    const check = await newCheck();
    await addPage('uptime', [check]);
    const days = [
      { at: clock.now() - 2 * day, runs: 1000, up: 1000 },
      { at: clock.now() - day, runs: 1000, up: 900 },
    ];
    for (const { at } of days) await makeRollupPartition(db, new Date(at));
    for (const { at, runs, up } of days)
      await db.query(
        `insert into report_days (check_id, day, runs, up, count, sum, bucket_keys, bucket_counts)
         values ($1, date_trunc('day', $2::timestamptz, 'UTC'), $3, $4, 0, 0, '{}', '{}')`,
        [check, new Date(at), runs, up],
      );
    const { text } = await read('/status/uptime');
    expect(textOf(text)).toContain('Shop 95 % uptime');
    expect(text).toContain('aria-label="Trouble on 1 of the past 3 days"');
    const bars = [...text.matchAll(/<rect class="(\w+)"/g)].map(([, state]) => state);
    expect([bars.length, bars.slice(0, 87).every((state) => state === 'unknown')]).toEqual([90, true]);
    expect(bars.slice(87)).toEqual(['operational', 'major', 'operational']);
  });

  test('name only checks of the account, and forget deleted ones', async () => {
    const check = await newCheck();
    const other = await service.call<Fields>('POST', '/v1/status-pages/services', {
      key: service.foreign.key,
      body: { name: 'Shop', checkIds: [check] },
    });
    expect([other.status, other.body['attributes']]).toEqual([
      400,
      { 'checkIds.0': [`names no check of this account (${check})`] },
    ]);
    const { serviceId } = await addPage('forgets', [check]);
    const path = `/v1/status-pages/services/${serviceId}`;
    const { body } = await service.call('PUT', path, { body: { name: 'Till' } });
    expect(body).toMatchObject({ name: 'Till', checkIds: [check] });
    await db.query('delete from checks where id = $1', [check]);
    expect((await service.call('GET', path)).body).toMatchObject({ checkIds: [] });
  });
});

test('a service without checks has the uptime of its incidents', async () => {
  const { serviceId } = await addPage('incidents', []);
  expect(textOf((await read('/status/incidents')).text)).not.toContain('uptime');
  clock.advance(9 * hour);
  const incident = await made('/v1/status-pages/incidents', {
    name: 'Checkout fails',
    severity: 'MAJOR',
    services: [{ id: serviceId }],
    incidentUpdates: [{ status: 'INVESTIGATING', description: 'We look into it.' }],
  });
  clock.advance(hour);
  await made(`/v1/status-pages/incidents/${incident.id}/incident-updates`, {
    status: 'RESOLVED',
    description: 'Over.',
  });
  expect(textOf((await read('/status/incidents')).text)).toContain('Shop 90 % uptime');
});

test('a page has a title and colours of its own, and only colours', async () => {
  const dark = { accent: null, background: '#000000', card: null, text: null };
  const light = { accent: '#B00020', background: null, card: null, text: null };
  const { pageId } = await addPage('looks', [], { title: 'How <we> are', colors: { light, dark } });
  const { text } = await read('/status/looks');
  expect(text).toContain('<a href="/status/looks">How &lt;we&gt; are</a>');
  expect(text).toContain('<link rel="stylesheet" href="/status/looks/theme.css">');
  const style = await read('/status/looks/theme.css');
  expect([style.headers.get('content-type'), style.text]).toEqual([
    'text/css; charset=utf-8',
    ':root {\n  --light-accent: #B00020;\n  --dark-background: #000000;\n}\n',
  ]);
  for (const accent of ['red', '#12345', '#123456;}', 'url(x)']) {
    const body = { colors: { light: { ...light, accent }, dark } };
    const refused = await service.call<Fields>('PUT', `/v1/status-pages/${pageId}`, { body });
    expect(refused.status, accent).toBe(400);
  }
});

test('an unknown address and a private page have HTML for browsers, JSON for programs', async () => {
  for (const path of ['/status/none', '/status/None', '/status/none/more/parts']) {
    const { status, headers, text } = await read(path, { accept: 'text/html,*/*' });
    expect([status, headers.get('content-type')], path).toEqual([404, 'text/html; charset=utf-8']);
    expect(text).toContain('<h1>There is no status page at this address</h1>');
    expect(text).toMatch(/<link rel="stylesheet" href="\/assets\/status-\w+\.css">/);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  }
  const json = await read('/status/none', { accept: 'application/json' });
  expect(JSON.parse(json.text)).toMatchObject({ statusCode: 404 });
  await addPage('hidden', [], { isPrivate: true });
  const hidden = await read('/status/hidden');
  expect([hidden.status, hidden.headers.get('www-authenticate')?.slice(0, 5)]).toEqual([401, 'Basic']);
  expect(textOf(hidden.text)).toContain('This status page is private');
});

test('a badge shows the state and the uptime of a page; that of a private page needs a key', async () => {
  const check = await newCheck();
  await addPage('badge', [check], { name: 'Acme <shop>' });
  await setStatus(check, 'failed');
  const badge = await service.call<string>('GET', '/v1/badges/status-pages/badge', { key: null });
  expect(badge.headers.get('content-type')).toBe('image/svg+xml; charset=utf-8');
  expect(badge.body).toContain('<title>Acme &lt;shop&gt;: partial outage</title>');
  const private_ = await addPage('badge-private', [], { isPrivate: true });
  expect(private_.pageId).not.toBe('');
  const path = '/v1/badges/status-pages/badge-private';
  expect((await service.call('GET', path, { key: null })).status).toBe(404);
  expect((await service.call('GET', path, { key: service.foreign.key })).status).toBe(404);
  expect((await service.call('GET', path)).status).toBe(200);
  expect((await service.call('GET', '/v1/badges/status-pages/none', { key: null })).status).toBe(404);
});

test('the calendar has the occurrences of all windows', async () => {
  const at = (days: number) => new Date(clock.now() + days * day).toISOString();
  const { id } = await made('/v1/maintenance-windows', {
    name: 'Weekly',
    startsAt: at(30),
    endsAt: at(30.1),
    repeatInterval: 1,
    repeatUnit: 'WEEK',
  });
  const path = `/v1/maintenance-windows/occurrences?from=${at(29)}&to=${at(40)}`;
  const { body } = await service.call<Fields[]>('GET', path);
  expect(body.map(({ maintenanceWindowId, startsAt }) => [maintenanceWindowId, startsAt])).toEqual([
    [id, at(30)],
    [id, at(37)],
  ]);
  expect((await service.call('GET', path, { key: service.foreign.key })).body).toEqual([]);
});
