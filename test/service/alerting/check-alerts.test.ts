import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { insertAlerts, type AlertRow } from '../../../src/service/alerting/statements.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { createRetention } from '../../../src/service/retention.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  encryption,
  resultOf,
  silent,
} from '../../helpers/service/agent-service.ts';
import { addChannel, createAlertReplica, endRuns, idleBackground } from '../../helpers/service/alert-runs.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

const [embedded] = databases;
if (embedded === undefined) throw new Error('no embedded database');
const start = Date.parse('2026-03-01T12:00:00.000Z');
const dayMs = 86_400_000;

let db: Db;
let service: TestService;
beforeAll(async () => {
  db = await embedded.open();
  service = await startTestService(db, { now: () => start, encryption });
});
afterAll(async () => {
  await service.close();
  await embedded.close();
});
beforeEach(() => service.renewAccounts());

const list = (path: string, key?: string) =>
  service.call<Fields[]>('GET', path, key === undefined ? {} : { key });

describe('GET /v1/check-alerts', () => {
  let ids: string[];
  let other: string;
  const alert = (fields: Partial<AlertRow>): AlertRow => ({
    id: uuidv7(start),
    accountId: service.account.id,
    checkId: ids[0] ?? '',
    locationId: null,
    checkName: 'Shop',
    checkType: 'URL',
    checkDescription: null,
    tags: [],
    groupId: null,
    groupName: null,
    alertType: 'ALERT_FAILURE',
    resultId: uuidv7(start),
    runLocation: 'harbour',
    runLocationName: 'Harbour',
    runLocations: ['harbour'],
    responseTime: 1.5,
    error: 'no answer\u0000 came',
    statusCode: null,
    statusText: null,
    sslDomain: null,
    sslDaysRemaining: null,
    isReminder: false,
    reminderSequence: 0,
    isLate: true,
    silenced: false,
    startedAt: new Date(start),
    createdAt: new Date(start),
    ...fields,
  });

  beforeEach(async () => {
    ids = [];
    for (const { id: accountId } of [service.account, service.account, service.foreign]) {
      ids.push(await addCheck(db, { accountId, now: start }));
    }
    other = ids[1] ?? '';
    const later = (seconds: number) => ({ createdAt: new Date(start + seconds * 1000) });
    await insertAlerts(db, [
      alert({}),
      alert({ alertType: 'ALERT_FAILURE_REMAIN', isReminder: true, reminderSequence: 1, ...later(60) }),
      alert({
        alertType: 'ALERT_RECOVERY',
        error: null,
        runLocation: null,
        responseTime: null,
        ...later(120),
      }),
      alert({ silenced: true, ...later(180) }),
      alert({ checkId: other, statusCode: 503, ...later(240) }),
      alert({ accountId: service.foreign.id, checkId: ids[2] ?? '', ...later(300) }),
    ]);
  });

  test('alerts of the account, newest first, without those that were silenced', async () => {
    const { body } = await list('/v1/check-alerts');
    expect(body.map(({ alertType, checkId }) => [alertType, checkId])).toEqual([
      ['ALERT_FAILURE', other],
      ['ALERT_RECOVERY', ids[0]],
      ['ALERT_FAILURE_REMAIN', ids[0]],
      ['ALERT_FAILURE', ids[0]],
    ]);
    expect(body.at(-1)).toEqual({
      id: expect.any(String) as string,
      name: 'Shop',
      checkId: ids[0],
      alertType: 'ALERT_FAILURE',
      checkType: 'URL',
      runLocation: 'harbour',
      responseTime: 1.5,
      error: 'no answer\ufffd came',
      statusCode: null,
      isReminder: false,
      reminderSequence: 0,
      isLate: true,
      startedAt: '2026-03-01T12:00:00.000Z',
      created_at: '2026-03-01T12:00:00.000Z',
    });
  });

  test('pages, and bounds of time', async () => {
    const types = async (query: string) =>
      (await list(`/v1/check-alerts/${ids[0]}?${query}`)).body.map(({ alertType }) => alertType);
    expect(await types('limit=2')).toEqual(['ALERT_RECOVERY', 'ALERT_FAILURE_REMAIN']);
    expect(await types('limit=2&page=2')).toEqual(['ALERT_FAILURE']);
    const seconds = start / 1000;
    expect(await types(`from=${seconds + 60}`)).toEqual(['ALERT_RECOVERY', 'ALERT_FAILURE_REMAIN']);
    expect(await types(`from=${seconds + 1}&to=${seconds + 60}`)).toEqual(['ALERT_FAILURE_REMAIN']);
    expect(await types(`to=${seconds - 1}`)).toEqual([]);
    expect((await list(`/v1/check-alerts/${other}`)).body).toHaveLength(1);
  });

  test.each([
    ['?limit=0', 400, { limit: ['must be from 1 to 100'] }],
    ['?from=5&to=4', 400, { from: ['must not be after to'] }],
    ['?from=x', 400, { from: ['must be a number'] }],
    ['?unknown=1', 400, { unknown: ['is not a known field'] }],
  ])('%s is refused', async (query, status, attributes) => {
    for (const path of ['/v1/check-alerts', `/v1/check-alerts/${ids[0]}`]) {
      const answer = await service.call('GET', `${path}${query}`);
      expect(answer).toMatchObject({ status, body: { attributes } });
    }
  });

  test('alerts of one type, and counts by day', async () => {
    const { body } = await list('/v1/check-alerts?alertType=ALERT_RECOVERY');
    expect(body.map(({ alertType }) => alertType)).toEqual(['ALERT_RECOVERY']);
    await insertAlerts(db, [
      alert({ alertType: 'ALERT_DEGRADED', createdAt: new Date(start + dayMs) }),
      alert({ alertType: 'ALERT_SSL', createdAt: new Date(start + dayMs) }),
    ]);
    const seconds = start / 1000;
    const none = { failures: 0, degraded: 0, recoveries: 0, certificates: 0, locations: 0 };
    expect((await list(`/v1/alert-days?from=${seconds}&to=${seconds + 90_000}`)).body).toEqual([
      { ...none, day: '2026-03-01', failures: 3, recoveries: 1 },
      { ...none, day: '2026-03-02', degraded: 1, certificates: 1 },
    ]);
    const long = await service.call('GET', `/v1/alert-days?from=0&to=${93 * 86_400}`);
    expect(long).toMatchObject({ status: 400, body: { attributes: { to: [expect.any(String)] } } });
  });

  test('checks of other accounts, and invalid ids, are not found', async () => {
    for (const id of [ids[2], uuidv7(), 'x', '%20']) {
      expect((await service.call('GET', `/v1/check-alerts/${id}`)).status).toBe(404);
    }
    expect((await list('/v1/check-alerts', service.foreign.key)).body).toHaveLength(1);
    expect((await service.call('GET', '/v1/check-alerts', { key: null })).status).toBe(401);
  });

  test('they go with the results, in batches', async () => {
    const old = new Date(start - 31 * dayMs);
    await insertAlerts(db, [alert({ createdAt: old }), alert({ createdAt: new Date(start - 29 * dayMs) })]);
    const expired = [new Date(start - 31 * dayMs), new Date(start)];
    for (const [index, expiresAt] of expired.entries()) {
      await db.query(
        'insert into ssl_notices (check_id, channel_id, expires_at, created_at) values ($1, $2, $3, $3)',
        [ids[0], index, expiresAt],
      );
    }
    await createRetention({ db, now: () => start, log: silent }).tick();
    const rows = await db.query<{ count: number }>(
      'select count(*)::integer as count from alerts where account_id = any ($1)',
      [[service.account.id, service.foreign.id]],
    );
    expect(rows).toEqual([{ count: 7 }]);
    expect(
      await db.query('select channel_id::integer as id from ssl_notices where check_id = $1', [ids[0]]),
    ).toEqual([{ id: 1 }]);
  });
});

describe('the alert settings of an account', () => {
  const defaults = {
    escalationType: 'RUN_BASED',
    runBasedEscalation: { failedRunThreshold: 1 },
    timeBasedEscalation: { minutesFailingThreshold: 5 },
    reminders: { amount: 0, interval: 5 },
    parallelRunFailureThreshold: { enabled: false, percentage: 10 },
  };
  const put = (body: object) => service.call('PUT', '/v1/accounts/me', { body });

  test('are the defaults, change field by field, and can be sent back as read', async () => {
    const { body: read } = await service.call('GET', '/v1/accounts/me');
    expect(read).toMatchObject({ name: 'First', alertSettings: defaults, updated_at: null });
    const { status, body } = await put({ ...read, name: 'Renamed' });
    expect({ status, body }).toEqual({
      status: 200,
      body: { ...read, name: 'Renamed', updated_at: '2026-03-01T12:00:00.000Z' },
    });
    const alertSettings = { ...defaults, reminders: { amount: 100_000, interval: 30 } };
    expect((await put({ alertSettings })).body).toMatchObject({ name: 'Renamed', alertSettings });
    expect((await put({ runtimeId: '2025.04' })).body).toMatchObject({ runtimeId: '2025.04', alertSettings });
    expect((await list('/v1/accounts')).body).toMatchObject([{ name: 'Renamed', alertSettings }]);
    // What a part leaves out has its default, as in checks.
    expect((await put({ alertSettings: { escalationType: 'TIME_BASED' } })).body).toMatchObject({
      alertSettings: { ...defaults, escalationType: 'TIME_BASED' },
    });
    const foreign = await service.call('GET', '/v1/accounts/me', { key: service.foreign.key });
    expect(foreign.body).toMatchObject({ name: 'Second', alertSettings: defaults });
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ runtimeId: '1999.01' }, 'runtimeId'],
    [{ alertSettings: { escalationType: 'EVERY_RUN' } }, 'alertSettings.escalationType'],
    [
      { alertSettings: { runBasedEscalation: { failedRunThreshold: 6 } } },
      'alertSettings.runBasedEscalation.failedRunThreshold',
    ],
    [{ alertSettings: { reminders: { amount: 6 } } }, 'alertSettings.reminders.amount'],
    [{ alertSettings: { color: 'red' } }, 'alertSettings.color'],
    [{ plan: 'large' }, 'plan'],
    [{ name: null }, 'name'],
  ])('%j is refused by name', async (body, field) => {
    const answer = await put(body);
    expect(answer.status).toBe(400);
    expect(Object.keys((answer.body as { attributes: Fields }).attributes)).toEqual([field]);
  });

  test('count for checks that use them', async () => {
    const background = await idleBackground(db);
    const clock = { now: () => start, set: () => undefined, advance: () => 0 };
    const replica = createAlertReplica(db, { background, clock });
    await put({ alertSettings: { runBasedEscalation: { failedRunThreshold: 2 } } });
    const accountId = service.account.id;
    const checkId = await addCheck(db, { accountId, now: start });
    await addChannel(db, { accountId, checkId });
    for (const at of [start - 2000, start - 1000]) {
      expect((await list(`/v1/check-alerts/${checkId}`)).body).toEqual([]);
      await endRuns(db, [{ checkId, accountId, at, parts: [{ status: 'failed', message: 'no answer' }] }]);
      await replica.follow();
    }
    expect((await list(`/v1/check-alerts/${checkId}`)).body).toMatchObject([
      { alertType: 'ALERT_FAILURE_REMAIN', error: 'no answer', runLocation: 'here', responseTime: 12.5 },
    ]);
    await background.stop();
  });
});

test('a failed run of a check session alerts, one of a test session does not', async () => {
  const { id: accountId } = service.account;
  const location = await addLocation(db, { accountId, slug: 'office' });
  const clock = { now: () => start, set: () => undefined, advance: () => 0 };
  const agents = await createAgentService(db, clock);
  const agent = await connectAgent(agents.app, location);
  const background = await idleBackground(db);
  const replica = createAlertReplica(db, { background, clock });
  const request = { url: 'https://shop.example/' };
  const body = { name: 'Page', request, privateLocations: ['office'], useGlobalAlertSettings: false };
  const created = await service.call<{ id: string }>('POST', '/v1/checks/url', { body });
  const checkId = created.body.id;
  const target = { checkId: [checkId] };
  const sessions: [string, object, string[]][] = [
    ['/v1/test-sessions/trigger', { name: 'A try', target, runLocation: 'office' }, []],
    ['/v2/check-sessions/trigger', { target }, ['ALERT_FAILURE']],
  ];
  for (const [path, trigger, expected] of sessions) {
    expect((await service.call('POST', path, { body: trigger })).status).toBe(201);
    const jobs = await agent.claim();
    expect(jobs).toHaveLength(1);
    const failed = { status: 'failed', hasFailures: true };
    await agent.report(...jobs.map((job) => resultOf(job, start, failed)));
    await replica.follow();
    const { body: alerts } = await list(`/v1/check-alerts/${checkId}`);
    expect(alerts.map(({ alertType }) => alertType)).toEqual(expected);
  }
  await background.stop();
  await agents.app.close();
});
