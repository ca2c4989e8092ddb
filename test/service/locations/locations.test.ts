import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { dataCenterLocations } from '../../../src/protocol/check-types.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from '../checks/check-bodies.ts';

type Location = Fields & { id: string; slugName: string; keys: { id: string; maskedKey: string }[] };
type NewKey = { id: string; rawKey: string; maskedKey: string; created_at: string };

const time = Date.parse('2026-03-04T05:06:07.000Z');
const moment = new Date(time).toISOString();

describe.each(databases)('locations ($name)', (database) => {
  let service: TestService;
  let made = 0;
  let clock = time;

  beforeAll(async () => {
    if (database.unavailable !== null) return;
    service = await startTestService(await database.open(), { now: () => clock });
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
  });

  async function create(fields: Fields = {}): Promise<Location> {
    made += 1;
    const { status, body } = await service.call<Location>('POST', '/v1/private-locations', {
      body: { name: `Office ${made}`, slugName: `office-${made}`, ...fields },
    });
    expect(status).toBe(201);
    return body;
  }
  const read = async (id: string) =>
    (await service.call<Location>('GET', `/v1/private-locations/${id}`)).body;
  const addKey = (path: string) => service.call<NewKey>('POST', `${path}/keys`);

  async function addAgent(locationId: string, version: string, secondsAgo: number) {
    await service.db.query(
      `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, last_seen_at)
       values ($1, $2, $3, $4, '{}', '{}', '{}', '{}', $5)`,
      [uuidv7(), locationId, uuidv7(), version, new Date(time - secondsAgo * 1000)],
    );
  }

  describe.skipIf(database.unavailable)('with a database', () => {
    beforeEach(() => service.renewAccounts());

    test('create, read, change, list, delete', async () => {
      const created = await create({ name: 'Cellar', slugName: 'Cellar-1' });
      expect(created).toEqual({
        id: created.id,
        name: 'Cellar',
        slugName: 'Cellar-1',
        icon: 'location',
        proxyUrl: null,
        allowedNetworks: null,
        stopsInOutages: false,
        keys: [],
        agentCount: 0,
        lastSeen: null,
        minAgentVersion: null,
        runningAgents: [],
        created_at: moment,
        updated_at: null,
      });
      expect(await read(created.id)).toEqual(created);

      const changed = await service.call('PUT', `/v1/private-locations/${created.id}`, {
        body: { name: 'Attic', icon: 'house' },
      });
      expect([changed.status, changed.body]).toEqual([
        200,
        { ...created, name: 'Attic', icon: 'house', updated_at: moment },
      ]);

      clock += 1000;
      const other = await create();
      clock = time;
      const list = await service.call<Location[]>('GET', '/v1/private-locations?limit=100');
      expect(list.body.filter(({ id }) => [created.id, other.id].includes(id))).toEqual([
        changed.body,
        other,
      ]);
      const page = await service.call<Location[]>(
        'GET',
        '/v1/private-locations?limit=1&page=2&versions=true',
      );
      expect([page.status, page.body]).toEqual([200, [list.body[1]]]);

      const deleted = await service.call('DELETE', `/v1/private-locations/${other.id}`);
      expect([deleted.status, deleted.body]).toEqual([204, null]);
      const gone = await service.call('GET', `/v1/private-locations/${other.id}`);
      expect([gone.status, gone.body]).toEqual([
        404,
        {
          ...statusFields(404),
          message: `There is no private location ${other.id}.`,
          attributes: { id: ['names no private location of this account'] },
        },
      ]);
    });

    const slugRule = 'must be: 1 to 30 letters, digits or hyphens, and not of the form of a cloud region';
    test.each<[Fields, Fields]>([
      [{}, { name: ['is required'], slugName: ['is required'] }],
      [{ name: '', slugName: 'a' }, { name: ['must have 1 to 255 characters'] }],
      [{ name: 'a', slugName: '' }, { slugName: [slugRule] }],
      [{ name: 'a', slugName: 'x'.repeat(31) }, { slugName: [slugRule] }],
      [{ name: 'a', slugName: 'a_b' }, { slugName: [slugRule] }],
      [{ name: 'a', slugName: 'eu-west-1' }, { slugName: [slugRule] }],
      [{ name: 'a', slugName: 'us-gov-east-12' }, { slugName: [slugRule] }],
      [{ name: 'a', slugName: 'a', icon: 5 }, { icon: ['must be a string'] }],
      [{ name: 'a', slugName: 'a', region: 'x' }, { region: ['is not a known field'] }],
      [
        { name: 'a', slugName: 'a', proxyUrl: 'ftp://user:pass@proxy' },
        { proxyUrl: ['must be a URL like http://user:password@proxy:3128'] },
      ],
    ])('refused: %j', async (body, attributes) => {
      const answer = await service.call('POST', '/v1/private-locations', { body });
      expect([answer.status, answer.body['attributes']]).toEqual([400, attributes]);
      expect(JSON.stringify(answer.body)).not.toContain('user:pass@');
    });

    test.each(['a', 'eu-west', 'eu-west-one', 'Z9-', 'x'.repeat(30)])(
      'slug %s is accepted',
      async (slugName) => {
        expect((await create({ slugName })).slugName).toBe(slugName);
      },
    );

    test('a slug belongs to one location of an account', async () => {
      const first = await create();
      const second = await create();
      const refusal = {
        ...statusFields(409),
        message: `This account already has a location ${first.slugName}.`,
        attributes: { slugName: ['is taken'] },
      };
      const again = await service.call('POST', '/v1/private-locations', {
        body: { name: 'x', slugName: first.slugName },
      });
      expect([again.status, again.body]).toEqual([409, refusal]);
      const moved = await service.call('PUT', `/v1/private-locations/${second.id}`, {
        body: { slugName: first.slugName },
      });
      expect([moved.status, moved.body]).toEqual([409, refusal]);
      const foreign = await service.call('POST', '/v1/private-locations', {
        key: service.foreign.key,
        body: { name: 'x', slugName: first.slugName },
      });
      expect(foreign.status).toBe(201);
    });

    test('two creates of one slug at once: one wins', async () => {
      const body = { name: 'Race', slugName: 'race' };
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => service.call('POST', '/v1/private-locations', { body })),
      );
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409, 409, 409]);
    });

    test('checks follow a renamed slug', async () => {
      const location = await create();
      const check = await service.call<{ id: string }>('POST', '/v1/checks/url', {
        body: minimalBody('URL', { privateLocations: [location.slugName] }),
      });
      await service.call('PUT', `/v1/private-locations/${location.id}`, { body: { slugName: 'moved' } });
      const { body } = await service.call('GET', `/v1/checks/${check.body.id}`);
      expect(body['privateLocations']).toEqual(['moved']);
    });

    test('a location that checks use is not deleted', async () => {
      const location = await create();
      const check = await service.call<{ id: string }>('POST', '/v1/checks/url', {
        body: minimalBody('URL', { name: 'Shop', privateLocations: [location.slugName] }),
      });
      const refused = await service.call('DELETE', `/v1/private-locations/${location.id}`);
      expect([refused.status, refused.body]).toEqual([
        409,
        {
          ...statusFields(409),
          message: 'The location is still assigned to checks.',
          attributes: { id: ['is assigned to: Shop'] },
        },
      ]);
      await service.call('DELETE', `/v1/checks/${check.body.id}`);
      expect((await service.call('DELETE', `/v1/private-locations/${location.id}`)).status).toBe(204);
    });

    test('the networks that scripts may reach are kept, replaced, removed, and checked', async () => {
      const allowedNetworks = ['10.0.0.0/8', '10.1.2.3:443', '[fd00::/8]:8000-8100'];
      const location = await create({ allowedNetworks, stopsInOutages: true });
      expect(location['stopsInOutages']).toBe(true);
      expect(location['allowedNetworks']).toEqual(allowedNetworks);
      const path = `/v1/private-locations/${location.id}`;
      await service.call('PUT', path, { body: { name: 'Other' } });
      expect((await read(location.id))['allowedNetworks']).toEqual(allowedNetworks);
      await service.call('PUT', path, { body: { allowedNetworks: [] } });
      expect((await read(location.id))['allowedNetworks']).toEqual([]);
      for (const method of ['PUT', 'POST'] as const) {
        const bad = await service.call(method, method === 'PUT' ? path : '/v1/private-locations', {
          body: { name: 'Bad', slugName: 'bad', allowedNetworks: ['10.0.0.0/8', '10.0.0.0/33'] },
        });
        expect([bad.status, bad.body['attributes']]).toEqual([
          400,
          { 'allowedNetworks.1': ['"10.0.0.0/33" has an invalid prefix length: 0 to 32 for IPv4'] },
        ]);
      }
      expect((await read(location.id))['allowedNetworks']).toEqual([]);
      await service.call('PUT', path, { body: { allowedNetworks: null } });
      expect((await read(location.id))['allowedNetworks']).toBeNull();
      expect((await read(location.id))['stopsInOutages']).toBe(true);
      await service.call('PUT', path, { body: { stopsInOutages: false } });
      expect((await read(location.id))['stopsInOutages']).toBe(false);
    });

    test("a proxy's password is encrypted, shown masked, and kept when sent back masked", async () => {
      const proxyUrl = 'http://ann:s3cret-p@ss@proxy.example:3128';
      const masked = 'http://ann:*********@proxy.example:3128';
      const location = await create({ proxyUrl });
      expect(location['proxyUrl']).toBe(masked);
      const stored = async () => {
        const [row] = await service.db.query<{ proxy: Buffer }>(
          'select proxy_url as proxy from locations where id = $1',
          [location.id],
        );
        return row?.proxy.toString() ?? '';
      };
      expect(await stored()).not.toContain('proxy.example');
      expect(service.encryption.open(await stored())).toBe(proxyUrl);
      const path = `/v1/private-locations/${location.id}`;
      await service.call('PUT', path, { body: { name: 'Other', proxyUrl: masked } });
      expect(service.encryption.open(await stored())).toBe(proxyUrl);
      await service.call('PUT', path, { body: { proxyUrl: '{{PROXY_URL}}' } });
      expect((await read(location.id))['proxyUrl']).toBe('{{PROXY_URL}}');
      await service.call('PUT', path, { body: { proxyUrl: null } });
      expect((await read(location.id))['proxyUrl']).toBeNull();
    });

    test('agents are counted by version, those that were heard of lately', async () => {
      const location = await create();
      await addAgent(location.id, '1.9.0', 10);
      await addAgent(location.id, '1.10.0', 20);
      await addAgent(location.id, '1.10.0', 30);
      await addAgent(location.id, '0.1.0', 3600);
      const agents = {
        agentCount: 3,
        lastSeen: new Date(time - 10_000).toISOString(),
        minAgentVersion: '1.9.0',
        runningAgents: [
          { version: '1.9.0', count: 1 },
          { version: '1.10.0', count: 2 },
        ],
      };
      expect(await read(location.id)).toMatchObject(agents);
      const gone = await create();
      await addAgent(gone.id, '1.0.0', 3600);
      expect(await read(gone.id)).toMatchObject({
        agentCount: 0,
        lastSeen: new Date(time - 3_600_000).toISOString(),
        minAgentVersion: null,
        runningAgents: [],
      });
    });

    describe.each(['private', 'data-center'])('keys of a %s location', (kind) => {
      let path = '';
      beforeEach(async () => {
        path =
          kind === 'private' ? `/v1/private-locations/${(await create()).id}` : '/v1/locations/me-south-1';
      });
      const keysNow = async () => {
        if (kind === 'private') return (await service.call<Location>('GET', path)).body.keys;
        return (await service.call<Location['keys']>('GET', `${path}/keys`)).body;
      };

      test('two at most; the key itself is shown once, and only its hash is stored', async () => {
        expect(await keysNow()).toEqual([]);
        const first = await addKey(path);
        expect(first.status).toBe(201);
        const { id, rawKey } = first.body;
        expect(rawKey).toMatch(/^pl_[0-9a-f]{32}$/);
        expect(first.body).toEqual({
          id,
          rawKey,
          maskedKey: `...${rawKey.slice(-4)}`,
          created_at: moment,
        });
        clock += 1000;
        const second = await addKey(path);
        clock = time;
        expect(second.status).toBe(201);
        const third = await addKey(path);
        expect([third.status, third.body]).toEqual([
          409,
          {
            ...statusFields(409),
            message: 'A location has at most 2 keys: delete one first.',
            attributes: {
              keys: [`the location already has 2 keys (${first.body.maskedKey}, ${second.body.maskedKey})`],
            },
          },
        ]);
        const { rawKey: _first, ...shownFirst } = first.body;
        const { rawKey: _second, ...shownSecond } = second.body;
        const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
        expect([...(await keysNow())].sort(byId)).toEqual([shownFirst, shownSecond].sort(byId));
        const rows = await service.db.query<{ hash: Buffer }>(
          'select key_hash as hash from location_keys where id = $1',
          [id],
        );
        expect(rows).toEqual([{ hash: createHash('sha256').update(rawKey).digest() }]);

        expect((await service.call('DELETE', `${path}/keys/${id}`)).status).toBe(204);
        expect(await keysNow()).toEqual([shownSecond]);
        const again = await service.call('DELETE', `${path}/keys/${id}`);
        expect([again.status, again.body]).toEqual([
          404,
          {
            ...statusFields(404),
            message: `There is no key ${id}.`,
            attributes: { keyId: ['names no key of this account'] },
          },
        ]);
        expect((await addKey(path)).status).toBe(201);
      });

      test('five at once make two', async () => {
        const answers = await Promise.all(Array.from({ length: 5 }, () => addKey(path)));
        expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 201, 409, 409, 409]);
      });

      test('another account neither sees nor touches them', async () => {
        expect((await addKey(path)).status).toBe(201);
        const [key] = await keysNow();
        const foreign = { key: service.foreign.key };
        expect((await service.call('DELETE', `${path}/keys/${key?.id}`, foreign)).status).toBe(404);
        if (kind === 'private') {
          expect((await service.call('POST', `${path}/keys`, foreign)).status).toBe(404);
        } else {
          expect((await service.call('GET', `${path}/keys`, foreign)).body).toEqual([]);
        }
        expect((await keysNow())[0]).toEqual(key);
      });
    });

    test('all data-centre codes are listed, with agents and keys where there are any', async () => {
      const { body: key } = await addKey('/v1/locations/af-south-1');
      const [row] = await service.db.query<{ id: string }>(
        `select id from locations where account_id = $1 and slug_name = 'af-south-1'`,
        [service.account.id],
      );
      await addAgent(row?.id ?? '', '1.0.0', 1);
      const { body } = await service.call<(Fields & { code: string })[]>('GET', '/v1/locations');
      expect(body.map(({ code }) => code)).toEqual(dataCenterLocations);
      expect(body.every(({ region, code, name }) => region === code && typeof name === 'string')).toBe(true);
      expect(body.find(({ code }) => code === 'af-south-1')).toEqual({
        region: 'af-south-1',
        name: 'Cape Town',
        code: 'af-south-1',
        agentCount: 1,
        lastSeen: new Date(time - 1000).toISOString(),
        minAgentVersion: '1.0.0',
        runningAgents: [{ version: '1.0.0', count: 1 }],
        keys: [{ id: key.id, maskedKey: key.maskedKey, created_at: moment }],
      });
      const foreign = await service.call<Fields[]>('GET', '/v1/locations', { key: service.foreign.key });
      expect(foreign.body.find((location) => location['code'] === 'af-south-1')).toMatchObject({
        agentCount: 0,
        keys: [],
      });
    });

    test.each([
      ['GET', '/v1/locations/mars/keys'],
      ['POST', '/v1/locations/mars/keys'],
      ['DELETE', '/v1/locations/mars/keys/x'],
      ['DELETE', '/v1/locations/eu-west-1/keys/x'],
      ['GET', '/v1/private-locations/x'],
      ['DELETE', '/v1/private-locations/x'],
      ['POST', '/v1/private-locations/x/keys'],
      ['DELETE', '/v1/private-locations/x/keys/y'],
    ])('%s %s with an unknown id is 404', async (method, path) => {
      expect((await service.call(method, path)).status).toBe(404);
    });

    test('another account neither sees nor touches a private location', async () => {
      const location = await create();
      const foreign = { key: service.foreign.key };
      const path = `/v1/private-locations/${location.id}`;
      expect((await service.call('GET', path, foreign)).status).toBe(404);
      expect((await service.call('PUT', path, { ...foreign, body: { name: 'x' } })).status).toBe(404);
      expect((await service.call('DELETE', path, foreign)).status).toBe(404);
      const list = await service.call<Location[]>('GET', '/v1/private-locations?limit=100', foreign);
      expect(list.body.map(({ id }) => id)).not.toContain(location.id);
      expect(await read(location.id)).toEqual(location);
    });
  });
});
