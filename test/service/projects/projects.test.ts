import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Projects: resources that files describe, written in one transaction. */

type Change = {
  type: string;
  logicalId: string;
  physicalId: string;
  action: string;
  differences: Fields[];
  changedByOthers: Fields[];
  notice: string | null;
};
type Plan = { diff: Change[]; planToken: string };
type Deployment = {
  id: string;
  status: string;
  error: { code: string; message: string; attributes?: Fields } | null;
  result: Plan | null;
};

const check = (logicalId: string, payload: Fields = {}): Fields => ({
  type: 'check',
  logicalId,
  payload: {
    checkType: 'URL',
    name: logicalId,
    locations: ['eu-west-1'],
    request: { url: 'https://shop.example/' },
    ...payload,
  },
});

const everything: Fields[] = [
  { type: 'private-location', logicalId: 'office', payload: { name: 'Office', slugName: 'office' } },
  { type: 'variable', logicalId: 'token', payload: { key: 'TOKEN', value: 'a-first-secret', secret: true } },
  { type: 'snippet', logicalId: 'login', payload: { name: 'login', script: 'console.log(1)' } },
  {
    type: 'alert-channel',
    logicalId: 'mail',
    payload: { type: 'EMAIL', config: { address: 'ops@shop.example' } },
  },
  {
    type: 'status-page-service',
    logicalId: 'checkout',
    payload: { name: 'Checkout', checkIds: [{ ref: 'api' }] },
  },
  {
    type: 'check-group',
    logicalId: 'shop',
    payload: { name: 'Shop', setupSnippetId: { ref: 'login' }, privateLocations: [{ ref: 'office' }] },
  },
  check('home', { alertChannelSubscriptions: [{ alertChannelId: { ref: 'mail' }, activated: true }] }),
  check('api', {
    checkType: 'API',
    groupId: { ref: 'shop' },
    triggerIncident: {
      serviceId: { ref: 'checkout' },
      severity: 'MINOR',
      name: 'Down',
      description: 'Down.',
      notifySubscribers: false,
    },
    request: {
      url: 'https://shop.example/api',
      headers: [{ key: 'a', value: 'locked-secret', locked: true }],
    },
  }),
  {
    type: 'status-page',
    logicalId: 'page',
    payload: {
      name: 'Shop',
      url: 'shop',
      cards: [{ name: 'All', services: [{ serviceId: { ref: 'checkout' } }] }],
    },
  },
  {
    type: 'maintenance-window',
    logicalId: 'patches',
    payload: {
      name: 'Patches',
      startsAt: '2030-01-01T00:00:00.000Z',
      endsAt: '2030-01-01T01:00:00.000Z',
      statusPageVisibility: {
        enabled: true,
        statusPageIds: [{ ref: 'page' }],
        serviceIds: [{ ref: 'checkout' }],
      },
    },
  },
  {
    type: 'alert-channel-subscription',
    logicalId: 'api-mail',
    payload: { alertChannelId: { ref: 'mail' }, checkId: { ref: 'api' }, activated: true },
  },
  { type: 'check-trigger', logicalId: 'home-trigger', payload: { checkId: { ref: 'home' } } },
  { type: 'check-group-trigger', logicalId: 'shop-trigger', payload: { groupId: { ref: 'shop' } } },
];

describe.each(databases)('projects: $name', (database) => {
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

    const bodyOf = (resources: readonly Fields[], more: Fields = {}): Fields => ({
      project: { logicalId: 'shop', name: 'Shop' },
      resources,
      ...more,
    });
    async function plan(resources: readonly Fields[], query = ''): Promise<Plan> {
      const path = `/v1/projects/deploy?dryRun=true${query}`;
      const { status, body } = await api.call<Plan>('POST', path, { body: bodyOf(resources) });
      expect([status, status === 200 ? null : body]).toEqual([200, null]);
      return body;
    }
    async function deploy(body: Fields, query = ''): Promise<Deployment> {
      const started = await api.call<Deployment>('POST', `/v1/projects/deploy${query}`, { body });
      expect([started.status, started.status === 202 ? null : started.body]).toEqual([202, null]);
      const { logicalId } = body['project'] as { logicalId: string };
      const path = `/v1/projects/${logicalId}/deployments/${started.body.id}/completion`;
      return (await api.call<Deployment>('GET', path)).body;
    }
    async function apply(resources: readonly Fields[], query = ''): Promise<Change[]> {
      const { status, error, result } = await deploy(bodyOf(resources), query);
      expect([status, error]).toEqual(['SUCCEEDED', null]);
      return result?.diff ?? [];
    }
    const actions = (diff: readonly Change[]) =>
      Object.fromEntries(diff.map(({ type, logicalId, action }) => [`${type}/${logicalId}`, action]));
    const ofAll = (action: string) =>
      Object.fromEntries(
        everything.map(({ type, logicalId }) => [`${String(type)}/${String(logicalId)}`, action]),
      );
    const read = async (path: string) => (await api.call(`GET`, path)).body;
    const idOf = (diff: readonly Change[], logicalId: string) =>
      diff.find((one) => one.logicalId === logicalId)?.physicalId ?? '';

    it('creates everything, shows nothing of secrets, and then has nothing to do', async () => {
      const preview = await plan(everything);
      expect(actions(preview.diff)).toEqual(ofAll('CREATE'));
      expect(await read('/v1/checks')).toEqual([]);
      const diff = await apply(everything);
      expect(actions(diff)).toEqual(ofAll('CREATE'));
      expect(JSON.stringify([preview, diff])).not.toMatch(/a-first-secret|locked-secret/);
      const api1 = await read(`/v1/checks/${idOf(diff, 'api')}`);
      expect(api1).toMatchObject({
        groupId: Number(idOf(diff, 'shop')),
        alertChannelSubscriptions: [{ alertChannelId: Number(idOf(diff, 'mail')), activated: true }],
      });
      expect(await read(`/v1/status-pages/services/${idOf(diff, 'checkout')}`)).toMatchObject({
        checkIds: [idOf(diff, 'api')],
      });
      expect(await read('/v1/projects/shop')).toMatchObject({ resourceCount: everything.length });
      const second = await plan(everything);
      expect(actions(second.diff)).toEqual(ofAll('UNCHANGED'));
      expect(actions(await apply(everything))).toEqual(ofAll('UNCHANGED'));
      const rows = await api.db.query<Fields>('select * from project_resources');
      expect(JSON.stringify(rows)).not.toMatch(/a-first-secret|locked-secret/);
    });

    it('hides differences, which may have addresses and headers, from keys that cannot write', async () => {
      const url = 'https://chat.example/hooks/of-the-shop';
      const hook = { type: 'WEBHOOK', config: { name: 'Chat', url, method: 'POST' } };
      const { id } = await deploy(bodyOf([{ type: 'alert-channel', logicalId: 'chat', payload: hook }]));
      const path = '/v1/projects/shop/deployments';
      const asRole = async (role: string) => {
        const { body } = await api.call('POST', '/v1/api-keys', { body: { name: role, role } });
        const key = String(body['rawKey']);
        const paths = [path, `${path}/${id}`, `${path}/${id}/completion`];
        const answers = await Promise.all(paths.map((one) => api.call('GET', one, { key })));
        return answers.map((answer) => [answer.status, JSON.stringify(answer.body).includes(url)]);
      };
      expect(await asRole('READ_WRITE')).toEqual(Array(3).fill([200, true]));
      expect(await asRole('READ_ONLY')).toEqual(Array(3).fill([200, false]));
    });

    it('replaces a resource as a whole: removed fields get their defaults', async () => {
      const id = idOf(
        await apply([check('home', { tags: ['a'], frequency: 5, frequencyOffset: 7, description: 'Words' })]),
        'home',
      );
      const [change] = await apply([check('home', { frequency: 5 })]);
      expect(change?.action).toBe('UPDATE');
      expect(change?.differences).toEqual(
        expect.arrayContaining([{ property: 'description', before: 'Words', after: null }]),
      );
      const now = await read(`/v1/checks/${id}`);
      expect(now).toMatchObject({ tags: [], frequency: 5, description: null });
      expect(now).not.toHaveProperty('frequencyOffset');
    });

    it('names a changed secret and does not show it', async () => {
      const variable = (value: string) => [
        { type: 'variable', logicalId: 'token', payload: { key: 'TOKEN', value, secret: true } },
      ];
      await apply(variable('one-secret-value'));
      const { diff } = await plan(variable('another-secret-value'));
      expect(diff).toMatchObject([
        { action: 'UPDATE', differences: [{ property: 'value', isSecret: true }] },
      ]);
      await apply(variable('another-secret-value'));
      expect((await plan(variable('another-secret-value'))).diff).toMatchObject([{ action: 'UNCHANGED' }]);
    });

    it('reports what others changed, and creates again what others deleted', async () => {
      const diff = await apply([check('home'), check('other')]);
      const id = idOf(diff, 'home');
      await api.call('PUT', `/v1/checks/url/${id}`, { body: { muted: true } });
      await api.call('DELETE', `/v1/checks/${idOf(diff, 'other')}`);
      const again = await plan([check('home'), check('other')]);
      expect(again.diff).toMatchObject([
        {
          logicalId: 'home',
          action: 'UPDATE',
          differences: [{ property: 'muted', before: true, after: false }],
          changedByOthers: [{ property: 'muted', before: false, after: true }],
        },
        { logicalId: 'other', action: 'CREATE', notice: 'was deleted by others, and is created again' },
      ]);
    });

    it('refuses a plan that is stale', async () => {
      const diff = await apply([check('home')]);
      const changed = [check('home', { muted: true })];
      const { planToken } = await plan(changed);
      await api.call('PUT', `/v1/checks/url/${idOf(diff, 'home')}`, { body: { tags: ['by hand'] } });
      expect(await deploy(bodyOf(changed, { planToken }))).toMatchObject({
        status: 'FAILED',
        error: { code: 'PLAN_STALE' },
      });
      const fresh = await plan(changed);
      expect(await deploy(bodyOf(changed, { planToken: fresh.planToken }))).toMatchObject({
        status: 'SUCCEEDED',
      });
    });

    it('warns of places of checks and groups that no agent serves, and refuses deletions on request', async () => {
      const group = {
        type: 'check-group',
        logicalId: 'all',
        payload: { name: 'All', locations: ['us-east-1'] },
      };
      const preview = (await plan([check('home'), group])) as Plan & { warnings: Fields[] };
      const message = (slug: string) => `No agent serves ${slug}: runs there are missed until one connects.`;
      expect(preview.warnings).toEqual([
        { type: 'check-group', logicalId: 'all', field: 'locations.0', message: message('us-east-1') },
        { type: 'check', logicalId: 'home', field: 'locations.0', message: message('eu-west-1') },
      ]);
      await apply([check('home'), group]);
      expect(await plan([check('home'), group])).toMatchObject({ warnings: [] });
      const byHand = await api.call('POST', '/v2/check-groups', {
        body: { name: 'B', locations: ['us-east-1'] },
      });
      const warnings = [{ field: 'locations.0', message: message('us-east-1') }];
      expect(byHand.body).toMatchObject({ warnings });
      const path = `/v2/check-groups/${String(byHand.body['id'])}`;
      expect((await api.call('PUT', path, { body: byHand.body })).body).toMatchObject({ warnings });
      expect((await api.call('GET', path)).body).not.toHaveProperty('warnings');

      expect(await deploy(bodyOf([group]), '?refuseDeletions=true')).toMatchObject({
        status: 'FAILED',
        error: { code: 'DELETIONS', message: '1 resource would be deleted. Nothing was changed.' },
      });
      expect(await read('/v1/checks')).toHaveLength(1);
    });

    it('deletes what left the files, unless it is protected or to be kept', async () => {
      const diff = await apply([check('gone'), { ...check('safe'), protected: true }, check('kept')]);
      const without = await apply([check('kept')]);
      expect(actions(without)).toEqual({
        'check/gone': 'DELETE',
        'check/safe': 'DETACHED',
        'check/kept': 'UNCHANGED',
      });
      expect(actions(await apply([], '?preserveResources=true'))).toEqual({ 'check/kept': 'DETACHED' });
      expect((await api.call('GET', `/v1/checks/${idOf(diff, 'gone')}`)).status).toBe(404);
      const attached = await apply([check('kept'), check('safe')]);
      expect(attached.map(({ physicalId, notice }) => [physicalId, notice])).toEqual([
        [idOf(diff, 'kept'), 'was detached, and is attached again'],
        [idOf(diff, 'safe'), 'was detached, and is attached again'],
      ]);
    });

    it('moves a resource to another project once the first one has let it go', async () => {
      const id = idOf(await apply([check('home')]), 'home');
      const other = (body: Fields): Fields => ({ project: { logicalId: 'other', name: 'Other' }, ...body });
      const taken = other({ resources: [{ ...check('main'), physicalId: id }] });
      const refused = await deploy(taken);
      expect(refused.error).toMatchObject({
        code: 'INVALID',
        attributes: { 'check/main.physicalId': [expect.stringContaining('belongs to the project shop')] },
      });
      await apply([], '?preserveResources=true');
      expect(await deploy(taken)).toMatchObject({ status: 'SUCCEEDED' });
      // A resource of another project is not deleted with the first one.
      await apply([]);
      expect(await read(`/v1/checks/${id}`)).toMatchObject({ name: 'main' });
    });

    it('writes nothing if one resource is refused, and names every problem', async () => {
      const { status, body } = await api.call<{ attributes: Fields }>(
        'POST',
        '/v1/projects/deploy?dryRun=true',
        {
          body: bodyOf([
            check('good'),
            check('bad', { request: { url: 'ftp://x' } }),
            check('worse', { frequency: 'often', groupId: { ref: 'none' } }),
            check('worst', { frequency: 'often' }),
          ]),
        },
      );
      expect(status).toBe(400);
      expect(Object.keys(body.attributes).sort()).toEqual([
        'check/bad.request.url',
        'check/worse.groupId',
        'check/worst.frequency',
      ]);
      expect(await read('/v1/checks')).toEqual([]);
      expect(await read('/v1/projects')).toEqual([]);
    });

    it('uses what exists without owning it', async () => {
      const { body } = await api.call('POST', '/v2/check-groups', { body: { name: 'By hand' } });
      const group = { type: 'check-group', logicalId: 'hand', physicalId: String(body['id']), member: false };
      const diff = await apply([group, check('home', { groupId: { ref: 'hand' } })]);
      expect(actions(diff)).toEqual({ 'check/home': 'CREATE' });
      await apply([check('home', { groupId: { fromId: body['id'] } })]);
      await apply([]);
      expect((await api.call('GET', `/v2/check-groups/${String(body['id'])}`)).status).toBe(200);
    });

    it('lets one deployment of a project run at a time, and ends it on request', async () => {
      const body = bodyOf([check('home')]);
      const going = await api.call<Deployment>('POST', '/v1/projects/deploy', { body });
      // The first one may be over already; its lease is then the one of another replica.
      const path = `/v1/projects/shop/deployments/${going.body.id}`;
      await api.call('GET', `${path}/completion`);
      await api.db.query(
        `update project_deployments set status = 'RUNNING', ended_at = null, leased_until = $1 where id = $2`,
        [new Date(api.now() + 60_000), going.body.id],
      );
      if (database.name === 'server') {
        const second = await api.call<Fields>('POST', '/v1/projects/deploy', { body });
        expect(second).toMatchObject({
          status: 409,
          body: { errorCode: 'DEPLOYMENT_IN_PROGRESS', deploymentId: going.body.id },
        });
        expect((await api.call('GET', `${path}/completion?maxWaitSeconds=0`)).status).toBe(408);
        await api.call('POST', `${path}/cancel`);
        expect(await read(path)).toMatchObject({ cancelRequestedAt: expect.any(String) });
      }
      // Its runner is dead.
      await api.db.query(
        `update project_deployments set leased_until = $1, runner = gen_random_uuid() where id = $2`,
        [new Date(api.now() - 1), going.body.id],
      );
      expect(await read(path)).toMatchObject({ status: 'FAILED', error: { code: 'ABANDONED' } });
      const events = await fetch(`${api.url}${path}/events`, {
        headers: { authorization: `Bearer ${api.account.key}` },
      });
      expect(await events.text()).toMatch(/^event: error\ndata: \{"id"/);
    });

    it('deletes a project with its resources', async () => {
      const id = idOf(await apply([check('home')]), 'home');
      const dry = await api.call<Plan>('DELETE', '/v1/projects/shop?dryRun=true');
      expect(actions(dry.body.diff)).toEqual({ 'check/home': 'DELETE' });
      const { body } = await api.call<Deployment>('DELETE', '/v1/projects/shop');
      await api.call('GET', `/v1/projects/shop/deployments/${body.id}/completion`);
      expect((await api.call('GET', `/v1/checks/${id}`)).status).toBe(404);
      expect((await api.call('GET', '/v1/projects/shop')).status).toBe(404);
    });

    it('refuses an unknown query field', async () => {
      const answer = await api.call('POST', '/v1/projects/deploy?force=true', { body: bodyOf([]) });
      expect(answer.status).toBe(400);
    });
  });
});
