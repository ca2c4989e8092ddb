import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createBackground } from '../../../src/service/engine/background.ts';
import { handleMaintenanceEvents } from '../../../src/service/maintenance/events.ts';
import { createClock, silent } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Maintenance windows and their occurrences, as clients see them. */

const start = '2026-03-04T05:06:07.000Z';
const path = '/v1/maintenance-windows';

const minimal = {
  name: 'Upgrade of the database',
  startsAt: '2026-03-10T01:00:00.000Z',
  endsAt: '2026-03-10T02:00:00.000Z',
};
const visibility = {
  enabled: false,
  affectAllServices: false,
  suppressAutoIncidents: false,
  notifyOnStart: false,
  notifyOnEnd: false,
  autoStart: true,
  autoEnd: true,
  reminderMinutesBefore: [],
  statusPageIds: [],
  serviceIds: [],
};
const defaults = {
  description: null,
  timezone: 'UTC',
  repeatInterval: null,
  repeatUnit: null,
  repeatEndsAt: null,
  pauseAllChecks: false,
  tags: [],
  silenceAllAlerts: false,
  silenceAlertsTags: [],
  statusPageVisibility: visibility,
};

type Window = Fields & { id: number; attributes?: Fields };
type Occurrence = Fields & { id: string; startsAt: string; status: string; updates: Fields[] };

describe('maintenance windows', () => {
  const clock = createClock(start);
  let service: TestService;
  beforeAll(async () => {
    const db = await anyDatabase.open();
    const background = createBackground({ db, log: silent });
    handleMaintenanceEvents(background, { db, now: clock.now, followers: [] });
    await background.prepare();
    service = await startTestService(db, { now: clock.now, background });
  });
  afterAll(async () => {
    await service.close();
    await service.background.stop();
    await anyDatabase.close();
  });
  beforeEach(async () => {
    clock.set(start);
    await service.renewAccounts();
  });

  const call = <Body = Window>(method: string, url: string, body?: unknown, key?: string) =>
    service.call<Body>(method, url, {
      ...(body === undefined ? {} : { body }),
      ...(key === undefined ? {} : { key }),
    });
  async function create(fields: Fields = {}): Promise<Window> {
    const { status, body } = await call('POST', path, { ...minimal, ...fields });
    expect([status, body.attributes]).toEqual([201, undefined]);
    return body;
  }
  const occurrences = async (id: number, query = '') =>
    (await call<Occurrence[]>('GET', `${path}/${id}/occurrences${query}`)).body;
  const remove = (id: number) => call('DELETE', `${path}/${id}`);

  test('one is created, read, listed, changed and deleted', async () => {
    const created = await call('POST', path, minimal);
    const { id } = created.body;
    const window = { id, ...minimal, ...defaults, created_at: start.slice(0, 10), updated_at: null };
    expect([created.status, created.body]).toEqual([201, window]);
    expect((await call('GET', `${path}/${id}`)).body).toEqual(window);
    expect((await call<Window[]>('GET', path)).body).toEqual([window]);
    // What was read may be sent back.
    expect((await call('PUT', `${path}/${id}`, window)).body).toEqual({
      ...window,
      updated_at: start.slice(0, 10),
    });
    const { body: shop } = await call('POST', '/v1/status-pages/services', { name: 'Shop' });
    const fields = {
      name: 'Longer',
      endsAt: '2026-03-10T03:00:00.000Z',
      description: 'It takes longer.',
      repeatInterval: 1,
      repeatUnit: 'WEEK',
      repeatEndsAt: '2026-06-01T00:00:00.000Z',
      pauseAllChecks: true,
      tags: ['database'],
      silenceAllAlerts: true,
      silenceAlertsTags: ['web'],
      statusPageVisibility: {
        ...visibility,
        reminderMinutesBefore: [60, 1440, 10_080],
        serviceIds: [shop.id],
      },
    };
    const changed = { ...window, ...fields, updated_at: start.slice(0, 10) };
    expect((await call('PUT', `${path}/${id}`, fields)).body).toEqual(changed);
    expect((await call('PUT', `${path}/${id}`, {})).body).toEqual(changed);
    expect((await remove(id)).status).toBe(204);
    for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const) {
      expect((await call(method, `${path}/${id}`, body)).status).toBe(404);
    }
  });

  test('status pages and services that it names are of the account', async () => {
    const { body: shop } = await call('POST', '/v1/status-pages/services', { name: 'Shop' });
    const { body: page } = await call('POST', '/v1/status-pages', { name: 'Acme', url: 'acme' });
    const key = service.foreign.key;
    const { body: theirs } = await call('POST', '/v1/status-pages/services', { name: 'Shop' }, key);
    const named = (statusPageIds: unknown[], serviceIds: unknown[]) => ({
      statusPageVisibility: { enabled: true, statusPageIds, serviceIds },
    });
    const { id } = await create(named([page.id], [shop.id]));
    const wrong = named([page.id, shop.id], ['one', theirs.id]);
    for (const [method, url, body] of [
      ['POST', path, { ...minimal, ...wrong }],
      ['PUT', `${path}/${id}`, wrong],
    ] as const) {
      const answer = await call(method, url, body);
      expect([answer.status, answer.body.attributes]).toEqual([
        400,
        {
          'statusPageVisibility.statusPageIds.1': [
            `names no status page of this account (${String(shop.id)})`,
          ],
          'statusPageVisibility.serviceIds.0': ['names no status-page service of this account (one)'],
          'statusPageVisibility.serviceIds.1': [
            `names no status-page service of this account (${String(theirs.id)})`,
          ],
        },
      ]);
    }
    // What was read may be sent back, though it is gone since.
    expect((await call('DELETE', `/v1/status-pages/${String(page.id)}`)).status).toBe(204);
    const { body: read } = await call('GET', `${path}/${id}`);
    expect((await call('PUT', `${path}/${id}`, read)).status).toBe(200);
    await remove(id);
  });

  test('another account cannot see it', async () => {
    const { id } = await create();
    const [first] = await occurrences(id);
    const of = `${path}/${id}/occurrences/${first?.id}`;
    const { body: update } = await call('POST', `${of}/updates`, { description: 'Soon' });
    const key = service.foreign.key;
    for (const [method, url, body] of [
      ['GET', `${path}/${id}`],
      ['PUT', `${path}/${id}`, {}],
      ['DELETE', `${path}/${id}`],
      ['GET', `${path}/${id}/occurrences`],
      ['GET', of],
      ['POST', `${of}/cancel`, {}],
      ['POST', `${of}/updates`, { description: 'x' }],
      ['PUT', `${of}/updates/${update.id}`, { description: 'x' }],
      ['DELETE', `${of}/updates/${update.id}`],
    ] as const) {
      expect([method, url, (await call(method, url, body, key)).status]).toEqual([method, url, 404]);
    }
    expect((await call<Window[]>('GET', path, undefined, key)).body).toEqual([]);
    await remove(id);
  });

  test('times may be of the clocks of a zone', async () => {
    const window = await create({
      timezone: 'Europe/Berlin',
      startsAt: '2026-03-22T02:00',
      endsAt: '2026-03-22T06:00:00+02:00',
      repeatInterval: 1,
      repeatUnit: 'WEEK',
      repeatEndsAt: '2026-04-05',
    });
    expect([window['startsAt'], window['endsAt'], window['repeatEndsAt']]).toEqual([
      '2026-03-22T01:00:00.000Z',
      '2026-03-22T04:00:00.000Z',
      '2026-04-05T21:59:59.999Z',
    ]);
    const begins = (await occurrences(window.id)).map(({ startsAt }) => startsAt);
    expect(begins).toEqual([
      '2026-03-22T01:00:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-04-05T00:00:00.000Z',
    ]);
    const days = await create({ startsAt: '2026-03-10', endsAt: '2026-03-12' });
    expect([days['startsAt'], days['endsAt']]).toEqual([
      '2026-03-10T00:00:00.000Z',
      '2026-03-12T00:00:00.000Z',
    ]);
    for (const { id } of [window, days]) await remove(id);
  });

  test.each<[string, Fields]>([
    ['name', { name: undefined }],
    ['name', { name: '' }],
    ['unknown', { unknown: 1 }],
    ['startsAt', { startsAt: undefined }],
    ['startsAt', { startsAt: 'tomorrow' }],
    ['startsAt', { startsAt: '2026-02-30' }],
    ['startsAt', { startsAt: '1969-12-31' }],
    ['endsAt', { endsAt: '3000-01-01' }],
    ['endsAt', { endsAt: minimal.startsAt }],
    ['endsAt', { endsAt: null }],
    ['timezone', { timezone: 'Mars/Olympus' }],
    ['repeatUnit', { repeatInterval: 1 }],
    ['repeatInterval', { repeatUnit: 'DAY' }],
    ['repeatInterval', { repeatUnit: 'DAY', repeatInterval: 0 }],
    ['repeatInterval', { repeatUnit: 'DAY', repeatInterval: 1.5 }],
    ['repeatUnit', { repeatUnit: 'YEAR', repeatInterval: 1 }],
    ['repeatEndsAt', { repeatEndsAt: '2026-06-01' }],
    ['repeatEndsAt', { repeatEndsAt: '2026-03-09', repeatUnit: 'DAY', repeatInterval: 1 }],
    ['endsAt', { endsAt: '2026-03-11T01:01:00Z', repeatUnit: 'DAY', repeatInterval: 1 }],
    ['endsAt', { endsAt: '2026-03-24T01:01:00Z', repeatUnit: 'WEEK', repeatInterval: 2 }],
    ['endsAt', { endsAt: '2026-04-07T01:01:00Z', repeatUnit: 'MONTH', repeatInterval: 1 }],
    ['pauseAllChecks', { pauseAllChecks: 'yes' }],
    ['tags.0', { tags: [1] }],
    ['silenceAlertsTags', { silenceAlertsTags: 'web' }],
    ['statusPageVisibility', { statusPageVisibility: null }],
    ['statusPageVisibility.enabled', { statusPageVisibility: { enabled: 1 } }],
    ['statusPageVisibility.unknown', { statusPageVisibility: { unknown: true } }],
    [
      'statusPageVisibility.reminderMinutesBefore.0',
      { statusPageVisibility: { reminderMinutesBefore: [59] } },
    ],
    [
      'statusPageVisibility.reminderMinutesBefore.0',
      { statusPageVisibility: { reminderMinutesBefore: [10_081] } },
    ],
    [
      'statusPageVisibility.reminderMinutesBefore',
      { statusPageVisibility: { reminderMinutesBefore: [60, 61, 62, 63] } },
    ],
    [
      'statusPageVisibility.reminderMinutesBefore',
      { statusPageVisibility: { reminderMinutesBefore: [60, 60] } },
    ],
  ])('%s is refused in %j', async (field, fields) => {
    const { status, body } = await call('POST', path, { ...minimal, ...fields });
    expect([status, Object.keys(body.attributes ?? {})]).toEqual([400, [field]]);
    expect((await call<Window[]>('GET', path)).body).toEqual([]);
  });

  test('a change is validated together with the stored fields', async () => {
    const { id } = await create({ repeatInterval: 1, repeatUnit: 'DAY' });
    const refused = async (fields: Fields) =>
      Object.keys((await call('PUT', `${path}/${id}`, fields)).body.attributes ?? {});
    expect(await refused({ startsAt: '2026-03-10T02:00:00Z' })).toEqual(['endsAt']);
    expect(await refused({ endsAt: '2026-03-12T02:00:00Z' })).toEqual(['endsAt']);
    expect(await refused({ repeatUnit: null })).toEqual(['repeatUnit']);
    expect(await refused({ repeatEndsAt: '2026-03-01' })).toEqual(['repeatEndsAt']);
    expect((await call('PUT', `${path}/${id}`, { repeatUnit: null, repeatInterval: null })).status).toBe(200);
    await remove(id);
  });

  test('the list has pages and filters of times', async () => {
    const made = [];
    for (const day of ['10', '11', '12']) {
      made.push(await create({ startsAt: `2026-03-${day}T01:00:00Z`, endsAt: `2026-03-${day}T02:00:00Z` }));
    }
    const days = async (query: string) => {
      const { status, body } = await call<Window[]>('GET', `${path}?${query}`);
      return status === 200
        ? body.map(({ startsAt }) => String(startsAt).slice(8, 10))
        : Object.keys((body as unknown as Window).attributes ?? {});
    };
    expect(await days('limit=2')).toEqual(['10', '11']);
    expect(await days('limit=2&page=2')).toEqual(['12']);
    expect(await days('startsAt[gte]=2026-03-11T01:00:00Z')).toEqual(['11', '12']);
    expect(await days('startsAt[gt]=2026-03-11T01:00:00Z')).toEqual(['12']);
    expect(await days('startsAt[lt]=2026-03-11')).toEqual(['10']);
    expect(await days('endsAt[lte]=2026-03-11T02:00:00Z')).toEqual(['10', '11']);
    expect(await days('startsAt%5Bgte%5D=2026-03-11&endsAt[lt]=2026-03-12')).toEqual(['11']);
    expect(await days(`startsAt=${encodeURIComponent('{"gte":"2026-03-12"}')}`)).toEqual(['12']);
    expect(await days('startsAt[near]=2026-03-12')).toEqual(['startsAt.near']);
    expect(await days('startsAt[gte]=soon')).toEqual(['startsAt.gte']);
    expect(await days('startsAt=2026-03-12')).toEqual(['startsAt']);
    expect(await days('startsAt={')).toEqual(['startsAt']);
    expect(await days('startsAt={}')).toEqual(['startsAt']);
    expect(await days('startsAt[__proto__]=x')).toEqual(['startsAt.__proto__']);
    expect(await days('limit=101')).toEqual(['limit']);
    for (const { id } of made) await remove(id);
  });

  test('occurrences of a stretch of time have pages', async () => {
    const { id } = await create({ repeatInterval: 1, repeatUnit: 'DAY' });
    const days = async (query: string) =>
      (await occurrences(id, query)).map(({ startsAt }) => startsAt.slice(5, 10));
    expect(await days('?limit=2')).toEqual(['03-10', '03-11']);
    expect(await days('?limit=2&page=3')).toEqual(['03-14', '03-15']);
    expect(await days('?from=2026-05-01&to=2026-05-03')).toEqual(['05-01', '05-02']);
    expect(await days('?from=2026-01-01&to=2026-02-01')).toEqual([]);
    expect(await days('?from=2999-01-01&limit=1')).toEqual(['01-01']);
    expect(await days('?limit=100&page=4')).toHaveLength(61);
    expect(await days('?limit=100&page=1000000')).toEqual([]);
    for (const [query, field] of [
      ['from=x', 'from'],
      ['from=2026-05-01&to=2026-05-01', 'to'],
      ['from=2026-05-01&to=2027-05-03', 'to'],
    ] as const) {
      const { status, body } = await call('GET', `${path}/${id}/occurrences?${query}`);
      expect([status, Object.keys(body.attributes ?? {})]).toEqual([400, [field]]);
    }
    await remove(id);
  });

  test('an occurrence is scheduled, in progress and completed with its times', async () => {
    const { id } = await create();
    const statusAt = async (time: string) => {
      clock.set(time);
      const [one] = await occurrences(id, '?from=2026-03-01');
      return [one?.status, one?.['startedAt'], one?.['endedAt']];
    };
    const { startsAt, endsAt } = minimal;
    expect(await statusAt('2026-03-10T00:59:59Z')).toEqual(['SCHEDULED', null, null]);
    expect(await statusAt(startsAt)).toEqual(['IN_PROGRESS', startsAt, null]);
    expect(await statusAt(endsAt)).toEqual(['COMPLETED', startsAt, endsAt]);
    clock.set(start);
    await remove(id);
  });

  test('updates are written, changed and deleted, and give an occurrence its status', async () => {
    const { id } = await create({ repeatInterval: 1, repeatUnit: 'WEEK' });
    const [first] = await occurrences(id);
    const of = `${path}/${id}/occurrences/${first?.id}`;
    const write = (fields: Fields) => call<Fields & { id: string }>('POST', `${of}/updates`, fields);
    const note = await write({ description: 'We begin at one.' });
    expect([note.status, note.body]).toEqual([
      201,
      {
        id: expect.any(String) as string,
        status: 'SCHEDULED',
        description: 'We begin at one.',
        created_at: start,
        updated_at: null,
      },
    ]);
    for (const status of ['IN_PROGRESS', 'VERIFYING', 'IN_PROGRESS', 'COMPLETED', 'COMPLETED']) {
      const { body } = await write({ status, description: `It is ${status}.` });
      expect(body['status']).toBe(status);
    }
    const refused = await write({ status: 'IN_PROGRESS', description: 'Again' });
    expect([refused.status, refused.body['attributes']]).toEqual([
      409,
      { status: ['cannot follow COMPLETED'] },
    ]);
    expect((await write({ description: '' })).status).toBe(400);
    expect((await write({ description: 'x', status: 'OVER' })).status).toBe(400);
    const changed = await call('PUT', `${of}/updates/${note.body.id}`, {
      ...note.body,
      description: 'We begin at two.',
    });
    expect(changed.body).toEqual({ ...note.body, description: 'We begin at two.', updated_at: start });
    const { body } = await call<Occurrence>('GET', of);
    expect([body.status, body['startedAt'], body['endedAt']]).toEqual(['COMPLETED', start, start]);
    expect(body.updates).toHaveLength(6);
    expect((await call('DELETE', `${of}/updates/${note.body.id}`)).status).toBe(204);
    for (const unknown of [note.body.id, 'x']) {
      expect((await call('DELETE', `${of}/updates/${unknown}`)).status).toBe(404);
      expect((await call('PUT', `${of}/updates/${unknown}`, { description: 'x' })).status).toBe(404);
    }
    // The others of the window are as they were.
    expect((await occurrences(id, '?limit=3')).map(({ status }) => status)).toEqual([
      'COMPLETED',
      'SCHEDULED',
      'SCHEDULED',
    ]);
    await remove(id);
  });

  test('an occurrence is cancelled once', async () => {
    const { id } = await create();
    const [first] = await occurrences(id);
    const of = `${path}/${id}/occurrences/${first?.id}`;
    const cancelled = await call<Occurrence>('POST', `${of}/cancel`);
    expect([
      cancelled.status,
      cancelled.body.status,
      cancelled.body['startedAt'],
      cancelled.body['endedAt'],
    ]).toEqual([200, 'CANCELLED', null, start]);
    expect(cancelled.body.updates.map(({ description }) => description)).toEqual([
      'The maintenance is cancelled.',
    ]);
    expect((await call('POST', `${of}/cancel`, { description: 'Again' })).status).toBe(409);
    // Other times are another occurrence.
    await call('PUT', `${path}/${id}`, { startsAt: '2026-03-10T01:30:00Z' });
    expect((await occurrences(id)).map(({ startsAt, status }) => [startsAt.slice(11, 16), status])).toEqual([
      ['01:30', 'SCHEDULED'],
    ]);
    for (const unknown of ['x', first?.id, '0195b6b0-0000-7000-8000-000000000000']) {
      expect((await call('GET', `${path}/${id}/occurrences/${unknown}`)).status).toBe(404);
      expect((await call('POST', `${path}/${id}/occurrences/${unknown}/cancel`, {})).status).toBe(404);
    }
    await remove(id);
  });

  test('an account has a bounded number of them', async () => {
    await service.db.query(
      `insert into maintenance_windows (account_id, name, starts_at, ends_at, timezone, pause_all_checks, tags,
         silence_all_alerts, silence_alerts_tags, status_page_visibility, steps_done_until)
       select $1, 'one of many', now(), now() + interval '1 hour', 'UTC', false, '{}', false, '{}', '{}', now()
       from generate_series(1, 500)`,
      [service.account.id],
    );
    const { status, body } = await call('POST', path, minimal);
    expect([status, body.attributes]).toEqual([
      400,
      { name: ['an account has at most 500 maintenance windows'] },
    ]);
  });
});
