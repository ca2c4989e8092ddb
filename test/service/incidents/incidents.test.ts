import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createBackground } from '../../../src/service/engine/background.ts';
import { createEncryption } from '../../../src/service/engine/encryption.ts';
import { handleSubscriberMails } from '../../../src/service/public-pages/subscriber-mails.ts';
import { createClock, silent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Services, status pages and both kinds of incidents, as clients see them. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
type Entry = Fields & { id: string };
type Page = { length: number; entries: Entry[]; nextId: string | null };

describe.each(databases)('status pages and incidents ($name)', (database) => {
  const clock = createClock(start);
  let service: TestService;
  beforeAll(async () => {
    if (database.unavailable !== null) return;
    const db = await database.open();
    const background = createBackground({ db, log: silent });
    const encryption = createEncryption('a key for tests alone');
    const sendMail = async () => ({ delivered: true, result: '' }) as const;
    handleSubscriberMails(background, {
      db,
      encryption,
      log: silent,
      sendMail,
      now: clock.now,
      publicUrl: () => 'https://status.example.com',
    });
    await background.prepare();
    service = await startTestService(db, { now: clock.now, background, encryption });
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await service.background.stop();
    await database.close();
  });

  const later = (minutes: number) => new Date(Date.parse(start) + minutes * minute).toISOString();
  async function made(path: string, body: Fields): Promise<Entry> {
    const answer = await service.call<Entry>('POST', path, { body });
    expect([answer.status, answer.body]).toEqual([
      path.endsWith('/services') ? 200 : 201,
      expect.objectContaining({ id: expect.any(String) as string }),
    ]);
    return answer.body;
  }
  const addService = (name: string) => made('/v1/status-pages/services', { name });
  const get = async <T = Fields>(path: string) => {
    const { status, body } = await service.call<T>('GET', path);
    expect(status).toBe(200);
    return body;
  };
  const attributes = async (method: string, path: string, body: Fields) => {
    const answer = await service.call(method, path, { body });
    return [answer.status, answer.body['attributes']];
  };
  const first = { status: 'INVESTIGATING', description: 'We look into it.' };

  describe.skipIf(database.unavailable)('with a database', () => {
    beforeEach(async () => {
      clock.set(start);
      await service.renewAccounts();
    });

    test('services: fields, changes, and sending back what was read', async () => {
      clock.set(start);
      const created = await addService('Shop');
      expect(created).toEqual({
        id: created.id,
        name: 'Shop',
        checkIds: [],
        accountId: service.account.id,
        created_at: '2026-03-04',
        updated_at: null,
      });
      const path = `/v1/status-pages/services/${created.id}`;
      expect((await service.call('PUT', path, { body: created })).body).toEqual({
        ...created,
        updated_at: '2026-03-04',
      });
      expect((await service.call('PUT', path, { body: { name: 'Store' } })).body['name']).toBe('Store');
      expect(await attributes('PUT', path, { name: '' })).toEqual([
        400,
        { name: ['must have 1 to 255 characters'] },
      ]);
      for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const) {
        const options = body === undefined ? {} : { body };
        const key = service.foreign.key;
        expect((await service.call(method, path, { ...options, key })).status).toBe(404);
      }
      expect((await service.call('DELETE', path)).status).toBe(204);
      expect((await service.call('DELETE', path)).status).toBe(404);
      expect((await service.call('GET', '/v1/status-pages/services/none')).status).toBe(404);
    });

    test('a list by cursor shows each item once, regardless of changes between pages', async () => {
      const names = Array.from({ length: 25 }, (_, index) => `Service ${index}`);
      const made = [];
      for (const name of names) {
        clock.advance(1);
        made.push(await addService(name));
      }
      const all = await get<Page>('/v1/status-pages/services?paginated=false&limit=1');
      expect([all.length, all.nextId, all.entries.map(({ id }) => id)]).toEqual([
        25,
        null,
        made.map(({ id }) => id),
      ]);
      const page1 = await get<Page>('/v1/status-pages/services');
      expect([page1.length, page1.entries.length]).toEqual([20, 20]);
      clock.advance(1);
      const added = await addService('Added');
      // The one that the cursor names, and one that has been shown.
      for (const index of [19, 3]) {
        const { id } = page1.entries[index] ?? { id: '' };
        expect((await service.call('DELETE', `/v1/status-pages/services/${id}`)).status).toBe(204);
      }
      const page2 = await get<Page>(`/v1/status-pages/services?nextId=${page1.nextId}`);
      expect([page2.length, page2.nextId]).toEqual([6, null]);
      expect([...page1.entries, ...page2.entries].map(({ id }) => id)).toEqual([
        ...made.map(({ id }) => id),
        added.id,
      ]);
      for (const query of ['limit=0', 'limit=101', 'nextId=x', 'paginated=maybe', 'page=2']) {
        expect((await service.call('GET', `/v1/status-pages/services?${query}`)).status).toBe(400);
      }
    });

    test('status pages: defaults, round trip, names in use, services of other accounts', async () => {
      const [shop, search] = [await addService('Shop'), await addService('Search')];
      const created = await made('/v1/status-pages', {
        name: 'Acme',
        url: 'acme',
        cards: [
          { name: 'Web', services: [{ serviceId: search.id }, { serviceId: shop.id }] },
          { name: 'Empty' },
        ],
      });
      expect(created).toMatchObject({
        customDomain: null,
        description: null,
        defaultTheme: 'AUTO',
        logo: null,
        favicon: null,
        redirectTo: null,
        isPrivate: false,
        cards: [
          {
            name: 'Web',
            services: [
              { serviceId: search.id, name: 'Search' },
              { serviceId: shop.id, name: 'Shop' },
            ],
          },
          { name: 'Empty', services: [] },
        ],
        updated_at: null,
      });
      const path = `/v1/status-pages/${created.id}`;
      expect(await get(path)).toEqual(created);
      const again = await service.call('PUT', path, { body: created });
      expect(again.body).toEqual({ ...created, updated_at: expect.any(String) as string });
      const changed = await service.call('PUT', path, {
        body: { customDomain: 'status.acme.example', isPrivate: true },
      });
      expect(changed.body).toMatchObject({
        customDomain: 'status.acme.example',
        isPrivate: true,
        cards: created['cards'],
      });

      const other = {
        key: service.foreign.key,
        body: { name: 'Theirs', url: 'acme', customDomain: 'status.acme.example' },
      };
      const taken = await service.call('POST', '/v1/status-pages', other);
      expect([taken.status, taken.body['attributes']]).toEqual([
        409,
        { url: ['is taken'], customDomain: ['is taken'] },
      ]);
      const foreign = await service.call('POST', '/v1/status-pages', {
        key: service.foreign.key,
        body: { name: 'Theirs', url: 'theirs', cards: [{ name: 'C', services: [{ serviceId: shop.id }] }] },
      });
      expect([foreign.status, foreign.body['attributes']]).toEqual([
        400,
        { 'cards.0.services.0.serviceId': [`names no service of this account (${shop.id})`] },
      ]);
      expect(
        await attributes('PUT', path, {
          cards: [{ name: 'C', services: [{ serviceId: shop.id }, { serviceId: shop.id }] }],
        }),
      ).toEqual([400, { 'cards.0.services.1.serviceId': ['is named twice'] }]);
      const bad = await attributes('PUT', path, {
        url: 'A b',
        logo: 'javascript:alert(1)',
        customDomain: 'x',
        colour: 1,
      });
      expect([bad[0], Object.keys(bad[1] as object).sort()]).toEqual([
        400,
        ['colour', 'customDomain', 'logo', 'url'],
      ]);
      expect((await get<Page>('/v1/status-pages')).entries.map(({ id }) => id)).toEqual([created.id]);
      expect((await service.call('GET', path, { key: service.foreign.key })).status).toBe(404);
      expect((await service.call('DELETE', path)).status).toBe(204);
      expect((await service.call('GET', path)).status).toBe(404);
    });

    test('incidents of services: the last update, the duration, opened again', async () => {
      clock.set(start);
      const shop = await addService('Shop');
      const incident = await made('/v1/status-pages/incidents', {
        name: 'Checkout fails',
        severity: 'CRITICAL',
        services: [{ id: shop.id }],
        incidentUpdates: [first],
      });
      const path = `/v1/status-pages/incidents/${incident.id}`;
      expect(incident).toMatchObject({
        severity: 'CRITICAL',
        services: [{ id: shop.id, name: 'Shop', accountId: service.account.id }],
        incidentUpdates: [{ ...first, incidentId: incident.id, created_at: start, updated_at: null }],
        lastUpdateStatus: 'INVESTIGATING',
        duration: null,
        created_at: start,
      });
      const write = (minutes: number, status: string) => {
        clock.set(later(minutes));
        return made(`${path}/incident-updates`, { status, description: `${status} at ${minutes}` });
      };
      const seen = async () => {
        const { lastUpdateStatus, duration, incidentUpdates } = await get(path);
        return [lastUpdateStatus, duration, (incidentUpdates as Fields[]).map(({ status }) => status)];
      };
      await write(5, 'IDENTIFIED');
      await write(10, 'RESOLVED');
      await write(20, 'RESOLVED');
      expect(await seen()).toEqual([
        'RESOLVED',
        10 * minute,
        ['INVESTIGATING', 'IDENTIFIED', 'RESOLVED', 'RESOLVED'],
      ]);
      const again = await write(30, 'MONITORING');
      expect((await seen()).slice(0, 2)).toEqual(['MONITORING', null]);
      const end = await write(45, 'RESOLVED');
      expect((await seen()).slice(0, 2)).toEqual(['RESOLVED', 45 * minute]);
      // It never was opened again.
      expect((await service.call('DELETE', `${path}/incident-updates/${again.id}`)).status).toBe(204);
      expect((await seen()).slice(0, 2)).toEqual(['RESOLVED', 10 * minute]);
      const changed = await service.call('PUT', `${path}/incident-updates/${end.id}`, {
        body: { ...end, status: 'IDENTIFIED' },
      });
      expect(changed.body).toEqual({ ...end, status: 'IDENTIFIED', updated_at: later(45) });
      expect((await seen()).slice(0, 2)).toEqual(['IDENTIFIED', null]);
      const list = await get<Page>(`${path}/incident-updates?limit=2`);
      const rest = await get<Page>(`${path}/incident-updates?nextId=${list.nextId}`);
      expect([list.length, rest.length, rest.entries.at(-1)?.id, rest.nextId]).toEqual([2, 3, end.id, null]);
      expect((await get(`${path}/incident-updates/${end.id}`))['status']).toBe('IDENTIFIED');

      const read = await get<Entry>(path);
      const sent = await service.call('PUT', path, { body: { ...read, name: 'Shop is down' } });
      expect(sent.body).toEqual({ ...read, name: 'Shop is down', updated_at: later(45) });
      expect((await service.call('DELETE', `/v1/status-pages/services/${shop.id}`)).status).toBe(204);
      const orphan = await get<Entry>(path);
      expect(orphan['services']).toEqual([]);
      expect((await service.call('PUT', path, { body: orphan })).status).toBe(200);
      expect((await service.call('GET', path, { key: service.foreign.key })).status).toBe(404);
      expect(
        (await service.call('GET', `${path}/incident-updates`, { key: service.foreign.key })).status,
      ).toBe(404);
      expect((await service.call('DELETE', path)).status).toBe(204);
      expect((await service.call('DELETE', path)).status).toBe(404);
    });

    test('incidents of services: refused fields; the last update is kept', async () => {
      const shop = await addService('Shop');
      const path = '/v1/status-pages/incidents';
      const body = { name: 'N', severity: 'MINOR', services: [{ id: shop.id }], incidentUpdates: [first] };
      const refused = async (change: Fields) =>
        Object.keys((await attributes('POST', path, { ...body, ...change }))[1] as object);
      expect(await refused({ severity: 'HUGE' })).toEqual(['severity']);
      expect(await refused({ services: [] })).toEqual(['services']);
      expect(await refused({ services: [{ id: 'x' }] })).toEqual(['services.0.id']);
      expect(await refused({ incidentUpdates: [] })).toEqual(['incidentUpdates']);
      expect(await refused({ incidentUpdates: [{ ...first, status: 'MAINTENANCE' }] })).toEqual([
        'incidentUpdates.0.status',
      ]);
      const incident = await made(path, body);
      const [only] = incident['incidentUpdates'] as Entry[];
      const last = await service.call('DELETE', `${path}/${incident.id}/incident-updates/${only?.id}`);
      expect(last.status).toBe(409);
      const other = await made(path, body);
      const elsewhere = await service.call('PUT', `${path}/${other.id}/incident-updates/${only?.id}`, {
        body: {},
      });
      expect(elsewhere.status).toBe(404);
      const newest = await get<Page>(`${path}?limit=1`);
      expect(newest.nextId).toBe(newest.entries[0]?.id);
      expect((await get<Page>(`${path}?nextId=${newest.nextId}`)).length).toBe(1);
    });

    test('incidents of a dashboard: one update on create, only the first by default, start and stop', async () => {
      clock.set(start);
      const page = await made('/v1/status-pages', { name: 'Acme', url: 'dashboard' });
      const body = { name: 'Down', impact: 'MAJOR', dashboardId: page.id, incidentUpdates: [first] };
      const incident = await made('/v1/incidents', body);
      expect(incident).toMatchObject({
        name: 'Down',
        severity: 'MAJOR',
        dashboardId: page.id,
        startedAt: start,
        stoppedAt: null,
        incidentUpdates: [{ ...first, incidentId: incident.id }],
      });
      const path = `/v1/incidents/${incident.id}`;
      clock.set(later(10));
      const resolved = await made(`${path}/updates`, { status: 'RESOLVED', description: 'Over.' });
      expect((await get(path))['stoppedAt']).toBe(later(10));
      expect((await get(path))['incidentUpdates']).toHaveLength(1);
      const whole = await get(`${path}?includeAllIncidentUpdates=true`);
      expect((whole['incidentUpdates'] as Entry[]).map(({ status }) => status)).toEqual([
        'INVESTIGATING',
        'RESOLVED',
      ]);
      clock.set(later(20));
      await made(`${path}/updates`, { status: 'MONITORING', description: 'Again.' });
      expect((await get(path))['stoppedAt']).toBe(null);
      const probe = await service.call('PUT', `${path}?probe=true`, { body: { name: 'Not stored' } });
      expect(probe.body['name']).toBe('Not stored');
      const sent = await service.call('PUT', path, { body: { ...(await get(path)), severity: 'MINOR' } });
      expect(sent.body).toMatchObject({ name: 'Down', severity: 'MINOR' });
      expect((await get<Entry[]>(`${path}/updates?limit=1&page=2`)).map(({ id }) => id)).toEqual([
        resolved.id,
      ]);
      expect(
        (await service.call('PUT', `${path}/updates/${resolved.id}`, { body: { description: 'Gone.' } }))
          .body,
      ).toMatchObject({
        description: 'Gone.',
        status: 'RESOLVED',
      });
      expect((await service.call('DELETE', `${path}/updates/${resolved.id}`)).status).toBe(204);
      expect((await service.call('GET', `${path}/updates/${resolved.id}`)).status).toBe(404);
      expect((await get<Entry[]>('/v1/incidents')).map(({ id }) => id)).toEqual([incident.id]);

      const refused = async (change: Fields) =>
        Object.keys((await attributes('POST', '/v1/incidents', { ...body, ...change }))[1] as object);
      expect(await refused({ incidentUpdates: [first, first] })).toEqual(['incidentUpdates']);
      expect(await refused({ severity: 'MINOR' })).toEqual(['impact']);
      expect(await refused({ impact: 'CRITICAL' })).toEqual(['impact']);
      expect(await refused({ impact: undefined })).toEqual(['severity']);
      expect(await refused({ dashboardId: 'x' })).toEqual(['dashboardId']);
      expect(await refused({ startedAt: 'soon' })).toEqual(['startedAt']);
      expect(await refused({ startedAt: later(5), stoppedAt: later(1) })).toEqual(['stoppedAt']);
      expect((await service.call('GET', path, { key: service.foreign.key })).status).toBe(404);
      expect((await service.call('DELETE', path)).status).toBe(204);
    });

    test('a service that is deleted leaves its checks without a trigger of incidents', async () => {
      const shop = await addService('Shop');
      const office = { name: 'Office', slugName: 'office' };
      expect((await service.call('POST', '/v1/private-locations', { body: office })).status).toBe(201);
      const trigger = {
        serviceId: shop.id,
        severity: 'CRITICAL',
        name: 'Shop is down',
        description: '',
        notifySubscribers: true,
      };
      const check = await made('/v1/checks/url', {
        name: 'Shop',
        request: { url: 'https://shop.example/' },
        privateLocations: ['office'],
        triggerIncident: trigger,
      });
      expect(check['triggerIncident']).toEqual(trigger);
      const foreign = await service.call('PUT', `/v1/checks/url/${check.id}`, {
        body: { triggerIncident: { ...trigger, serviceId: '01890000-0000-7000-8000-00000000000f' } },
      });
      expect(foreign.status).toBe(400);
      expect((await service.call('DELETE', `/v1/status-pages/services/${shop.id}`)).status).toBe(204);
      expect((await get(`/v1/checks/${check.id}`))['triggerIncident']).toBe(null);
    });
  });
});
