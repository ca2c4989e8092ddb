import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createClock, createAgentService } from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Checks that the service runs itself: HEARTBEAT and AGENTIC, as the API stores and refuses them. */

const start = '2026-03-04T05:06:07.000Z';
const [embedded] = databases;
type Check = Fields & { id: string; heartbeat: Fields };

describe('checks of the service itself', () => {
  const clock = createClock(start);
  let service: TestService;

  beforeAll(async () => {
    if (embedded === undefined) throw new Error('no embedded database');
    service = await startTestService(await embedded.open(), { now: clock.now });
  });
  afterAll(async () => {
    await service.close();
    await embedded?.close();
  });
  beforeEach(async () => {
    await service.renewAccounts();
    const office = { name: 'Office', slugName: 'office' };
    expect((await service.call('POST', '/v1/private-locations', { body: office })).status).toBe(201);
  });

  const heartbeat = { name: 'Backup', heartbeat: { period: 1, periodUnit: 'hours' } };
  const agentic = { name: 'Shop', prompt: 'Open https://shop.example/ and buy {{PRODUCT}}.' };
  const create = (path: string, body: Fields) => service.call<Check>('POST', `/v1/checks/${path}`, { body });
  const problems = async (path: string, body: Fields) => {
    const { status, body: answer } = await service.call<{ attributes: Fields }>(
      'POST',
      `/v1/checks/${path}`,
      {
        body,
      },
    );
    expect(status).toBe(400);
    return Object.keys(answer.attributes);
  };

  test('HEARTBEAT: created, read, listed, changed, sent back as read, deleted', async () => {
    const created = await create('heartbeat', { ...heartbeat, tags: ['nightly'] });
    expect(created.status).toBe(201);
    const { id } = created.body;
    const { pingToken } = created.body.heartbeat;
    expect(created.body).toMatchObject({
      checkType: 'HEARTBEAT',
      name: 'Backup',
      locations: [],
      privateLocations: [],
      retryStrategy: null,
      doubleCheck: false,
      heartbeat: {
        period: 1,
        periodUnit: 'hours',
        grace: 0,
        graceUnit: 'seconds',
        pingToken: expect.stringMatching(/^[0-9a-f-]{36}$/),
        pingUrl: `${service.url}/ping/${String(pingToken)}`,
      },
    });
    expect((await service.call('GET', `/v1/checks/${id}`)).body).toEqual(created.body);
    const listed = await service.call<Check[]>('GET', '/v1/checks?checkType=HEARTBEAT');
    expect(listed.body).toEqual([created.body]);

    const sentBack = await service.call<Check>('PUT', `/v1/checks/heartbeat/${id}`, { body: created.body });
    expect(sentBack.body).toEqual({ ...created.body, updated_at: new Date(clock.now()).toISOString() });
    const changed = await service.call<Check>('PUT', `/v1/checks/heartbeat/${id}`, {
      body: {
        heartbeat: { period: 2, periodUnit: 'days', grace: 3, graceUnit: 'minutes', pingToken: 'mine' },
      },
    });
    expect(changed.body.heartbeat).toEqual({
      period: 2,
      periodUnit: 'days',
      grace: 3,
      graceUnit: 'minutes',
      pingToken,
      pingUrl: created.body.heartbeat['pingUrl'],
    });
    expect(changed.body['name']).toBe('Backup');
    expect((await service.call('DELETE', `/v1/checks/${id}`)).status).toBe(204);
    expect(await service.db.query('select * from heartbeats where check_id = $1', [id])).toEqual([]);
  });

  test.each([
    ['shorter than 30 seconds', { period: 29, periodUnit: 'seconds' }, ['heartbeat.period']],
    ['longer than a year', { period: 366, periodUnit: 'days' }, ['heartbeat.period']],
    [
      'a long grace',
      { period: 1, periodUnit: 'hours', grace: 8761, graceUnit: 'hours' },
      ['heartbeat.grace'],
    ],
    ['no unit', { period: 60 }, ['heartbeat.periodUnit']],
    ['another unit', { period: 1, periodUnit: 'weeks' }, ['heartbeat.periodUnit']],
    ['half an hour as a fraction', { period: 0.5, periodUnit: 'hours' }, ['heartbeat.period']],
    ['an unknown field', { period: 1, periodUnit: 'hours', every: 1 }, ['heartbeat.every']],
  ])('HEARTBEAT with %s is refused', async (_what, times, fields) => {
    expect(await problems('heartbeat', { ...heartbeat, heartbeat: times })).toEqual(fields);
  });

  test.each([
    [30, 'seconds'],
    [365, 'days'],
    [8760, 'hours'],
    [31_536_000, 'seconds'],
  ])('HEARTBEAT: %d %s is allowed', async (period, periodUnit) => {
    const times = { period, periodUnit, grace: period, graceUnit: periodUnit };
    expect((await create('heartbeat', { ...heartbeat, heartbeat: times })).status).toBe(201);
  });

  const inapplicable = {
    privateLocations: ['office'],
    doubleCheck: true,
    retryStrategy: { type: 'FIXED' },
    shouldFail: true,
    runParallel: true,
    runtimeId: '2026.04',
    scriptPath: 'a.ts',
    localSetupScript: 'a()',
  };

  test('HEARTBEAT: fields of runs are refused by name', async () => {
    const fields = await problems('heartbeat', { ...heartbeat, ...inapplicable, locations: ['eu-west-1'] });
    expect(new Set(fields)).toEqual(new Set(['locations', ...Object.keys(inapplicable)]));
  });

  test('AGENTIC: defaults, read, changed, sent back as read', async () => {
    const created = await create('agentic', { ...agentic, agentRuntime: { skills: ['checkout'] } });
    expect([created.status, created.body]).toEqual([
      201,
      expect.objectContaining({
        ...agentic,
        checkType: 'AGENTIC',
        agentRuntime: { skills: ['checkout'] },
        frequency: 30,
        privateLocations: [],
        retryStrategy: null,
        doubleCheck: false,
        groupId: null,
      }),
    ]);
    const { id } = created.body;
    const sentBack = await service.call<Check>('PUT', `/v1/checks/agentic/${id}`, { body: created.body });
    expect(sentBack.body).toEqual({ ...created.body, updated_at: new Date(clock.now()).toISOString() });
    const changed = await service.call<Check>('PUT', `/v1/checks/agentic/${id}`, { body: { frequency: 5 } });
    expect(changed.body).toMatchObject({ frequency: 5, prompt: agentic.prompt });
    const elsewhere = await service.call('PUT', `/v1/checks/heartbeat/${id}`, { body: { name: 'x' } });
    expect([elsewhere.status, elsewhere.body]).toEqual([
      404,
      expect.objectContaining({
        attributes: { id: [`names a check of type AGENTIC: change it at /v1/checks/agentic/${id}`] },
      }),
    ]);
  });

  test('AGENTIC: fields of other types are refused by name', async () => {
    const given = {
      ...inapplicable,
      triggerIncident: { serviceId: 's', name: 'n' },
    };
    // The service that it names does not exist either.
    const named = new Set([...Object.keys(given), 'triggerIncident.serviceId']);
    expect(new Set(await problems('agentic', { ...agentic, ...given }))).toEqual(named);
    expect(await problems('agentic', { ...agentic, frequency: 2 })).toEqual(['frequency']);
    expect(await problems('agentic', { name: 'No prompt' })).toEqual(['prompt']);
    expect(await problems('agentic', { ...agentic, prompt: 'x'.repeat(10_001) })).toEqual(['prompt']);
    expect((await create('agentic', { ...agentic, prompt: 'x'.repeat(10_000) })).status).toBe(201);
  });

  test.each(['heartbeat', 'agentic'] as const)(
    'a check in a group ignores settings for agents: locations, retries, runtime (%s)',
    async (path) => {
      const group = await service.call<{ id: number }>('POST', '/v2/check-groups', {
        body: {
          name: 'Nightly',
          locations: ['eu-west-1'],
          muted: true,
          runParallel: true,
          runtimeId: '2026.04',
          retryStrategy: { type: 'FIXED' },
          environmentVariables: [{ key: 'SHOP', value: 'https://shop.example/' }],
        },
      });
      const own = path === 'heartbeat' ? heartbeat : agentic;
      const { body } = await create(path, { ...own, groupId: group.body.id, groupOrder: 3 });
      expect(body).toMatchObject({ groupId: group.body.id, groupOrder: 3, muted: false });
      const applied = await service.call('GET', `/v1/checks/${body.id}?applyGroupSettings=true`);
      expect(applied.body).toMatchObject({
        locations: [],
        retryStrategy: null,
        doubleCheck: false,
        runParallel: false,
        runtimeId: null,
        muted: true,
        environmentVariables: [expect.objectContaining({ key: 'SHOP' })],
      });
      const members = await service.call<Check[]>('GET', `/v1/check-groups/${group.body.id}/checks`);
      expect(members.body).toEqual([applied.body]);
    },
  );

  test('the scheduler creates no jobs for either, and the executor of agentic checks moves their due times', async () => {
    await emptyTables(service.db, 'checks');
    await create('heartbeat', heartbeat);
    const { body } = await create('agentic', { ...agentic, locations: ['eu-west-1'] });
    const due = () => service.db.query('select check_type, next_due_at from checks order by check_type');
    const before = await due();
    expect(before).toEqual([
      { check_type: 'AGENTIC', next_due_at: expect.any(Date) },
      { check_type: 'HEARTBEAT', next_due_at: null },
    ]);
    clock.advance(3_600_000);
    const agents = await createAgentService(service.db, clock);
    await agents.scheduler.tick();
    await agents.app.close();
    expect(await service.db.query('select id from jobs')).toEqual([]);
    expect(await service.db.query('select id from check_results')).toEqual([]);
    expect(await due()).toEqual(before);
    expect(body.id).toBeTypeOf('string');
  });
});
