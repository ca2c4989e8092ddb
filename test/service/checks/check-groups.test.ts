import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody, withoutWarnings } from './check-bodies.ts';

/** Check groups of both generations, and their checks with the group's settings applied. */

type Group = Fields & { id: number };
type Check = Fields & { id: string };

const time = Date.parse('2026-03-04T05:06:07.000Z');
const at = new Date(time).toISOString();

const stored = {
  name: 'Shop',
  activated: true,
  muted: false,
  tags: [],
  locations: [],
  privateLocations: [],
  concurrency: 3,
  apiCheckDefaults: { url: '', headers: [], queryParameters: [], basicAuth: null, assertions: [] },
  browserCheckDefaults: '',
  environmentVariables: [],
  alertSettings: {
    escalationType: 'RUN_BASED',
    runBasedEscalation: { failedRunThreshold: 1 },
    timeBasedEscalation: { minutesFailingThreshold: 5 },
    reminders: { amount: 0, interval: 5 },
    parallelRunFailureThreshold: { enabled: false, percentage: 10 },
  },
  alertChannelSubscriptions: [],
  runtimeId: null,
  retryStrategy: null,
  setupSnippetId: null,
  tearDownSnippetId: null,
  localSetupScript: null,
  localTearDownScript: null,
  created_at: at,
  updated_at: null,
};

describe.each(databases)('check groups ($name)', (database) => {
  let service: TestService;

  beforeAll(async () => {
    if (database.unavailable !== null) return;
    service = await startTestService(await database.open(), { now: () => time });
    await service.call('POST', '/v1/private-locations', { body: { name: 'Office', slugName: 'office' } });
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
  });

  async function create(fields: Fields = {}, generation = 'v2'): Promise<Group> {
    const { status, body } = await service.call<Group>('POST', `/${generation}/check-groups`, {
      body: { name: 'Shop', ...fields },
    });
    expect([status, body['attributes']]).toEqual([201, undefined]);
    return body;
  }
  async function createCheck(fields: Fields, type: 'API' | 'URL' = 'API'): Promise<Check> {
    const { status, body } = await service.call<Check>('POST', `/v1/checks/${type.toLowerCase()}`, {
      body: minimalBody(type, fields),
    });
    expect([status, body['attributes']]).toEqual([201, undefined]);
    return withoutWarnings(body);
  }
  const read = async (path: string, query = '') => (await service.call<Check>('GET', `${path}${query}`)).body;

  describe.skipIf(database.unavailable)('with a database', () => {
    test.each([
      ['v1', { runParallel: false, useGlobalAlertSettings: true, doubleCheck: true }],
      ['v2', { runParallel: null, useGlobalAlertSettings: null, doubleCheck: false }],
    ])(
      '%s: the smallest body gets its defaults, reads back the same and can be sent back',
      async (generation, own) => {
        const created = await create({}, generation);
        expect(created).toEqual({ id: created.id, ...stored, ...own });
        for (const version of ['v1', 'v2']) {
          expect(await read(`/${version}/check-groups/${created.id}`)).toEqual(created);
          const { status, body } = await service.call('PUT', `/${version}/check-groups/${created.id}`, {
            body: created,
          });
          expect([status, body]).toEqual([200, { ...created, updated_at: at }]);
          await service.db.query('update check_groups set updated_at = null');
        }
        const listed = await service.call<Group[]>('GET', `/${generation}/check-groups?limit=100`);
        expect(listed.body).toContainEqual(created);
        expect((await service.call('DELETE', `/${generation}/check-groups/${created.id}`)).status).toBe(204);
        expect((await service.call('GET', `/v1/check-groups/${created.id}`)).status).toBe(404);
      },
    );

    test('every field is stored; secrets are not returned', async () => {
      const fields = {
        activated: false,
        muted: true,
        tags: ['a'],
        locations: ['us-east-1'],
        privateLocations: ['office'],
        concurrency: 7,
        apiCheckDefaults: {
          url: 'https://base.example',
          headers: [{ key: 'x-token', value: 'locked value', locked: true }],
          queryParameters: [{ key: 'q', value: '1', locked: false }],
          basicAuth: { username: 'ann', password: 'pass' },
          assertions: [
            { source: 'STATUS_CODE', property: '', comparison: 'EQUALS', target: '200', regex: null },
          ],
        },
        browserCheckDefaults: { anything: 1 },
        runtimeId: '2025.04',
        retryStrategy: {
          type: 'FIXED',
          baseBackoffSeconds: 60,
          maxRetries: 2,
          maxDurationSeconds: 600,
          sameRegion: true,
          onlyOn: [],
        },
        localSetupScript: 'x',
        runParallel: true,
        useGlobalAlertSettings: false,
      };
      const created = await create({
        ...fields,
        retryStrategy: {},
        environmentVariables: [{ key: 'TOKEN', value: 'hidden', secret: true }],
      });
      expect(created).toMatchObject({
        ...fields,
        environmentVariables: [{ key: 'TOKEN', value: '', locked: false, secret: true }],
      });
      // What was read can be sent back: the secret stays.
      await service.call('PUT', `/v2/check-groups/${created.id}`, { body: created });
      const check = await createCheck({ groupId: created.id });
      const [row] = await service.db.query<{ definition: { environmentVariables: { value: string }[] } }>(
        'select definition from check_groups where id = $1',
        [created.id],
      );
      expect(JSON.stringify(row)).not.toMatch(/hidden|locked value|"pass"/);
      expect(service.encryption.open(row?.definition.environmentVariables[0]?.value ?? '')).toBe('hidden');
      await service.call('DELETE', `/v1/checks/${check.id}`);
    });

    test('v2: doubleCheck false leaves retries to the checks, also when it is read and sent back', async () => {
      const stored = async (id: number) => {
        const [row] = await service.db.query<{ definition: Fields }>(
          'select definition from check_groups where id = $1',
          [id],
        );
        return row?.definition['doubleCheck'];
      };
      for (const fields of [{}, { doubleCheck: false }]) {
        const group = await create(fields);
        expect([group['doubleCheck'], await stored(group.id)]).toEqual([false, null]);
        await service.call('PUT', `/v1/check-groups/${group.id}`, { body: group });
        expect(await stored(group.id)).toBe(null);
      }
      const retrying = await create({ doubleCheck: true });
      expect([retrying['doubleCheck'], await stored(retrying.id)]).toEqual([true, true]);
      await service.call('PUT', `/v2/check-groups/${retrying.id}`, {
        body: { ...retrying, doubleCheck: false },
      });
      expect(await stored(retrying.id)).toBe(null);
      // In a group of the first generation, false takes the place of the checks' own setting.
      const first = await create({ doubleCheck: false }, 'v1');
      await service.call('PUT', `/v2/check-groups/${first.id}`, { body: first });
      expect([first['doubleCheck'], await stored(first.id)]).toEqual([false, false]);
    });

    test('groups without defaults show objects and texts, however they were written', async () => {
      for (const generation of ['v1', 'v2']) {
        const group = await create({ apiCheckDefaults: null, browserCheckDefaults: null }, generation);
        expect(group).toMatchObject({
          apiCheckDefaults: stored.apiCheckDefaults,
          browserCheckDefaults: '',
        });
      }
      expect((await create({ browserCheckDefaults: 'any text' }))['browserCheckDefaults']).toBe('any text');
    });

    test('FALLBACK is a retry strategy; other texts are not', async () => {
      expect(await create({ retryStrategy: 'FALLBACK' })).toMatchObject({ retryStrategy: 'FALLBACK' });
      const bad: [Fields, Fields][] = [
        [
          { retryStrategy: 'NEVER' },
          { retryStrategy: ['must be: an object, null, or "FALLBACK" (what each check says)'] },
        ],
        [{ retryStrategy: { maxRetries: 11 } }, { 'retryStrategy.maxRetries': ['must be from 1 to 10'] }],
        [{ retryStrategy: { often: 1 } }, { 'retryStrategy.often': ['is not a known field'] }],
        [{ doubleCheck: 1 }, { doubleCheck: ['must be true or false or null'] }],
        [{ name: undefined }, { name: ['is required'] }],
        [
          { privateLocations: ['attic'] },
          { 'privateLocations.0': ['names no private location of this account (attic)'] },
        ],
        [{ setupSnippetId: 99 }, { setupSnippetId: ['names no snippet of this account (99)'] }],
        [
          { environmentVariables: [{ key: 'A' }, { key: 'A' }] },
          { 'environmentVariables.1.key': ['is given twice (A)'] },
        ],
        [
          {
            apiCheckDefaults: { assertions: [{ source: 'JSON_BODY', comparison: 'EQUALS', property: 'a' }] },
          },
          { 'apiCheckDefaults.assertions.0.property': ['must be a JSONPath, which begins with $'] },
        ],
      ];
      for (const [fields, attributes] of bad) {
        const { status, body } = await service.call('POST', '/v2/check-groups', {
          body: { name: 'x', ...fields },
        });
        expect([fields, status, body['attributes']]).toEqual([fields, 400, attributes]);
      }
    });

    test('a group with checks can not be deleted', async () => {
      const { id } = await create();
      const check = await createCheck({ name: 'Orders', groupId: id });
      const refused = await service.call('DELETE', `/v2/check-groups/${id}`);
      expect([refused.status, refused.body]).toEqual([
        409,
        {
          ...statusFields(409),
          message: 'The group still has checks: delete them, or set their groupId to null.',
          attributes: { id: ['has the checks: Orders'] },
        },
      ]);
      await service.call('PUT', `/v1/checks/api/${check.id}`, { body: { groupId: null } });
      expect((await service.call('DELETE', `/v2/check-groups/${id}`)).status).toBe(204);
    });

    test('a group is deleted while a check joins it, a snippet while a group takes it: one of the two wins', async () => {
      for (let round = 0; round < 8; round++) {
        const { id } = await create({ name: `contested ${round}` });
        const snippet = await service.call<{ id: number }>('POST', '/v1/snippets', {
          body: { name: `contested ${round}`, script: 'x' },
        });
        const body = minimalBody('API', { groupId: id });
        const taken = { body: { name: 'x', setupSnippetId: snippet.body.id } };
        const [gone, joined, dropped, took] = await Promise.all([
          service.call('DELETE', `/v1/check-groups/${id}`),
          service.call('POST', '/v1/checks/api', { body }),
          service.call('DELETE', `/v1/snippets/${snippet.body.id}`),
          service.call('POST', '/v2/check-groups', taken),
        ]);
        expect(['204 400', '409 201']).toContain(`${gone.status} ${joined.status}`);
        expect(['204 400', '409 201']).toContain(`${dropped.status} ${took.status}`);
      }
    });

    test('its checks are shown with its settings, in its order', async () => {
      const { id } = await create({
        activated: false,
        privateLocations: ['office'],
        runtimeId: '2025.04',
        runParallel: true,
        environmentVariables: [
          { key: 'A', value: 'group' },
          { key: 'B', value: 'hidden', secret: true },
        ],
        apiCheckDefaults: { headers: [{ key: 'accept', value: 'group' }] },
      });
      const second = await createCheck({ name: 'second', groupId: id, groupOrder: 2 });
      const first = await createCheck({
        name: 'first',
        groupId: id,
        groupOrder: 1,
        environmentVariables: [{ key: 'A', value: 'check' }],
      });
      const last = await createCheck({ name: 'last', groupId: id }, 'URL');
      const applied = {
        activated: false,
        locations: [],
        privateLocations: ['office'],
        runtimeId: '2025.04',
        runParallel: true,
      };
      const path = `/v1/check-groups/${id}/checks`;
      const { body } = await service.call<Check[]>('GET', path);
      expect(body.map(({ name }) => name)).toEqual(['first', 'second', 'last']);
      expect(body[0]).toMatchObject({
        ...applied,
        id: first.id,
        environmentVariables: [
          { key: 'A', value: 'check' },
          { key: 'B', value: '', secret: true },
        ],
        request: { headers: [{ key: 'accept', value: 'group' }] },
      });
      expect(await read(`${path}/${second.id}`)).toEqual(body[1]);
      expect(await read(`/v1/checks/${last.id}`, '?applyGroupSettings=true')).toEqual(body[2]);
      expect(await read(`/v1/checks/${second.id}`)).toEqual(second);
      const paged = await service.call<Check[]>('GET', `${path}?limit=1&page=2`);
      expect(paged.body.map((check) => check.id)).toEqual([second.id]);
      const lone = await createCheck({});
      expect((await service.call('GET', `${path}/${lone.id}`)).status).toBe(404);
      // A search by location goes by where checks run.
      const at = async (slug: string) =>
        (await service.call<Check[]>('GET', `/v1/checks?limit=100&location=${slug}`)).body.map(
          (check) => check.id,
        );
      expect(await at('office')).toEqual(expect.arrayContaining([first.id, second.id, last.id]));
      expect(await at('eu-west-1')).toContain(lone.id);
      expect(await at('eu-west-1')).not.toContain(first.id);
    });

    test('another account cannot see it', async () => {
      const { id } = await create();
      const { key } = service.foreign;
      for (const [method, path, body] of [
        ['GET', `/v1/check-groups/${id}`],
        ['GET', `/v1/check-groups/${id}/checks`],
        ['PUT', `/v2/check-groups/${id}`, { name: 'x' }],
        ['DELETE', `/v1/check-groups/${id}`],
      ] as const) {
        expect((await service.call(method, path, { key, body })).status).toBe(404);
      }
      expect((await service.call('GET', '/v1/check-groups', { key })).body).toEqual([]);
      const check = await service.call('POST', '/v1/checks/url', {
        key,
        body: minimalBody('URL', { groupId: id }),
      });
      expect(check.body['attributes']).toEqual({ groupId: [`names no group of this account (${id})`] });
      for (const wrong of ['0', '-1', 'x', '1.5', '99999999999999999999']) {
        expect((await service.call('GET', `/v1/check-groups/${wrong}`)).status).toBe(404);
      }
    });

    test('a private location of a group is kept, and follows a new name', async () => {
      const { body } = await service.call('POST', '/v1/private-locations', {
        body: { name: 'Attic', slugName: 'attic' },
      });
      const location = `/v1/private-locations/${String(body['id'])}`;
      const { id } = await create({ privateLocations: ['attic'] });
      const refused = await service.call('DELETE', location);
      expect([refused.status, refused.body['attributes']]).toEqual([
        409,
        { id: ['is assigned to the groups: Shop'] },
      ]);
      await service.call('PUT', location, { body: { slugName: 'loft' } });
      expect(await read(`/v2/check-groups/${id}`)).toMatchObject({ privateLocations: ['loft'] });
    });
  });
});
