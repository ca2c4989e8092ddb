import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { databases } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Secrets that somebody changes by hand: a plan reports them, and the next deployment writes those of the files. */

type Change = {
  type: string;
  logicalId: string;
  physicalId: string;
  action: string;
  differences: Fields[];
  changedByOthers: Fields[];
};
type Plan = { diff: Change[] };

const secret = (property: string) => ({ property, isSecret: true });

const resources: Fields[] = [
  { type: 'variable', logicalId: 'token', payload: { key: 'TOKEN', value: 'secret-of-files', secret: true } },
  {
    type: 'variable',
    logicalId: 'locked',
    payload: { key: 'LOCKED', value: 'secret-of-files', locked: true },
  },
  {
    type: 'alert-channel',
    logicalId: 'hook',
    payload: {
      type: 'WEBHOOK',
      config: {
        name: 'hook',
        url: 'https://hooks.example/',
        webhookSecret: 'secret-of-files',
        headers: [{ key: 'x-token', value: 'secret-of-files', locked: true }],
      },
    },
  },
  {
    type: 'check-group',
    logicalId: 'group',
    payload: {
      name: 'Group',
      environmentVariables: [{ key: 'A', value: 'secret-of-files', secret: true }],
      apiCheckDefaults: { url: '', basicAuth: { username: 'ann', password: 'secret-of-files' } },
    },
  },
  {
    type: 'check',
    logicalId: 'api',
    payload: {
      checkType: 'API',
      name: 'API',
      locations: ['eu-west-1'],
      environmentVariables: [
        { key: 'A', value: 'secret-of-files', secret: true },
        { key: 'B', value: 'another-one', secret: true },
      ],
      request: {
        url: 'https://shop.example/',
        headers: [{ key: 'authorization', value: 'secret-of-files', locked: true }],
        basicAuth: { username: 'ann', password: 'secret-of-files' },
      },
    },
  },
];

describe.each(databases)('changed secrets: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    let api: TestService;

    beforeAll(async () => {
      const db = await database.open();
      api = await startTestService(db, { background: await idleBackground(db) });
    });
    beforeEach(() => api.renewAccounts());
    afterAll(async () => {
      await api.close();
      await database.close();
    });

    const body = (all: readonly Fields[]) => ({
      project: { logicalId: 'shop', name: 'Shop' },
      resources: all,
    });
    async function plan(all = resources): Promise<Change[]> {
      const answer = await api.call<Plan>('POST', '/v1/projects/deploy?dryRun=true', { body: body(all) });
      expect([answer.status, answer.status === 200 ? null : answer.body]).toEqual([200, null]);
      expect(JSON.stringify(answer.body)).not.toMatch(/secret-of-(files|others)|another-one/);
      return answer.body.diff;
    }
    async function deploy(all = resources): Promise<void> {
      const { body: started } = await api.call('POST', '/v1/projects/deploy', { body: body(all) });
      const path = `/v1/projects/shop/deployments/${String(started['id'])}/completion?maxWaitSeconds=30`;
      expect((await api.call('GET', path)).body).toMatchObject({ status: 'SUCCEEDED' });
    }
    const changed = async (all = resources) =>
      (await plan(all))
        .filter(({ action }) => action !== 'UNCHANGED')
        .map(({ type, logicalId, action, differences, changedByOthers }) => ({
          name: `${type}/${logicalId}`,
          action,
          differences,
          changedByOthers,
        }));
    async function idOf(name: string): Promise<string> {
      return (await plan()).find(({ type, logicalId }) => `${type}/${logicalId}` === name)?.physicalId ?? '';
    }
    async function byHand(path: string, change: Fields): Promise<void> {
      const answer = await api.call('PUT', path, { body: change });
      expect([answer.status, answer.status === 200 ? null : answer.body]).toEqual([200, null]);
    }

    it('reports each one without its value, and writes that of the files', async () => {
      await deploy();
      expect(await changed()).toEqual([]);
      const value = 'secret-of-others';
      await byHand('/v1/variables/TOKEN', { key: 'TOKEN', value });
      await byHand('/v1/variables/LOCKED', { key: 'LOCKED', value });
      await byHand(`/v1/alert-channels/${await idOf('alert-channel/hook')}`, {
        type: 'WEBHOOK',
        config: {
          name: 'hook',
          url: 'https://hooks.example/',
          webhookSecret: value,
          headers: [{ key: 'x-token', value, locked: true }],
        },
      });
      await byHand(`/v2/check-groups/${await idOf('check-group/group')}`, {
        environmentVariables: [{ key: 'A', value, secret: true }],
        apiCheckDefaults: { url: '', basicAuth: { username: 'ann', password: value } },
      });
      await byHand(`/v1/checks/api/${await idOf('check/api')}`, {
        environmentVariables: [
          { key: 'A', value, secret: true },
          { key: 'B', value: '', secret: true },
        ],
        request: {
          url: 'https://shop.example/',
          headers: [{ key: 'authorization', value, locked: true }],
          basicAuth: { username: 'ann', password: value },
        },
      });
      const expected = [
        ['alert-channel/hook', 'config.webhookSecret', 'config.headers.x-token.value'],
        ['check-group/group', 'environmentVariables.A.value', 'apiCheckDefaults.basicAuth.password'],
        [
          'check/api',
          'environmentVariables.A.value',
          'request.headers.authorization.value',
          'request.basicAuth.password',
        ],
        ['variable/locked', 'value'],
        ['variable/token', 'value'],
      ].map(([name, ...properties]) => ({
        name,
        action: 'UPDATE',
        differences: expect.toSatisfy(sameAs(properties)),
        changedByOthers: expect.toSatisfy(sameAs(properties)),
      }));
      expect(await changed()).toEqual(expected);
      await deploy();
      expect(await changed()).toEqual([]);
      const { body: locked } = await api.call('GET', '/v1/variables/LOCKED');
      expect(locked['value']).toBe('secret-of-files');
    });

    it('says nothing of a secret that the files leave to others', async () => {
      const [token, ...others] = resources;
      const open = [{ ...token, payload: { key: 'TOKEN', value: '', secret: true } }, ...others];
      await deploy(open);
      await byHand('/v1/variables/TOKEN', { key: 'TOKEN', value: 'secret-of-others' });
      expect(await changed(open)).toEqual([]);
    });

    it('says nothing of a secret that others changed to what the files have now', async () => {
      await deploy();
      await byHand('/v1/variables/TOKEN', { key: 'TOKEN', value: 'secret-of-others' });
      const [token, ...others] = resources;
      const same = [
        { ...token, payload: { key: 'TOKEN', value: 'secret-of-others', secret: true } },
        ...others,
      ];
      await deploy(same);
      expect(await changed(same)).toEqual([]);
    });
  });
});

/** Whether these are the secret differences of exactly these properties, in any order. */
const sameAs = (properties: readonly string[]) => (found: Fields[]) =>
  found.length === properties.length &&
  properties.every((property) =>
    found.some((one) => JSON.stringify(one) === JSON.stringify(secret(property))),
  );
