import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { resultStatuses } from '../../../src/protocol/result.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from '../checks/check-bodies.ts';

type Result = Fields & { id: string };

const time = Date.parse('2026-03-05T12:00:00.000Z');
const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

/** A result's body as an agent stores it. */
const emptyBody = { assertions: [], timings: null, details: {}, artifacts: [], log: [] };

describe.each(databases)('results ($name)', (database) => {
  let service: TestService;

  beforeAll(async () => {
    if (database.unavailable !== null) return;
    const db = await database.open();
    service = await startTestService(db, { now: () => time });
    for (const [name, from, to] of [
      ['a', '2026-03-03', '2026-03-05'],
      ['b', '2026-03-05', '2026-03-06'],
    ]) {
      await db.exec(
        `create table results_test_${name} partition of check_results for values from ('${from}') to ('${to}')`,
      );
    }
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
  });

  async function createCheck(type = 'URL'): Promise<string> {
    const { body } = await service.call<{ id: string }>('POST', `/v1/checks/${type.toLowerCase()}`, {
      body: minimalBody(type as 'URL'),
    });
    return body.id;
  }

  /** Stores a result as an agent's report would; what is not given is that of a passed run. */
  async function store(checkId: string, fields: Fields = {}): Promise<{ id: string; sequenceId: string }> {
    const startedAt = Number(fields['startedAt'] ?? time);
    const row = {
      checkType: 'URL',
      runLocation: 'eu-west-1',
      resultType: 'FINAL',
      status: 'passed',
      hasFailures: false,
      hasErrors: false,
      isDegraded: false,
      responseTime: 12.5,
      attempts: 0,
      reason: null,
      body: emptyBody,
      ...fields,
    };
    const id = uuidv7(startedAt);
    const sequenceId = uuidv7(startedAt);
    await service.db.query(
      `insert into check_results (id, started_at, stopped_at, stored_at, account_id, check_id, sequence_id, check_type,
         run_location, result_type, status, has_failures, has_errors, is_degraded, over_max_response_time,
         is_cancelled, response_time, attempts, reason, body)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, false, false, $15, $16, $17::jsonb, $18::jsonb)`,
      [
        id,
        new Date(startedAt),
        new Date(startedAt + 100),
        new Date(startedAt + 200),
        service.account.id,
        checkId,
        sequenceId,
        row.checkType,
        row.runLocation,
        row.resultType,
        row.status,
        row.hasFailures,
        row.hasErrors,
        row.isDegraded,
        row.responseTime,
        row.attempts,
        row.reason === null ? null : JSON.stringify(row.reason),
        JSON.stringify(row.body),
      ],
    );
    return { id, sequenceId };
  }
  const list = async (checkId: string, query = '') => {
    const { status, body } = await service.call<Result[]>('GET', `/v1/check-results/${checkId}${query}`);
    expect(status).toBe(200);
    return body;
  };
  type Page = { length: number; entries: Result[]; nextId: string | null };
  const pageOf = async (checkId: string, query: string) => {
    const { status, body } = await service.call<Page>('GET', `/v2/check-results/${checkId}${query}`);
    expect(status).toBe(200);
    return body.entries.map(({ id }) => id);
  };
  const idsOf = async (checkId: string, query: string) => (await list(checkId, query)).map(({ id }) => id);

  describe.skipIf(database.unavailable)('with a database', () => {
    test('a result is shown with our vocabulary, and whole also in the form of its type', async () => {
      const checkId = await createCheck('API');
      const assertion = {
        source: 'STATUS_CODE',
        property: '',
        comparison: 'EQUALS',
        target: '200',
        regex: null,
        actual: 503,
        error: 'expected 503 to equal 200',
      };
      const timings = {
        dns: 1.5,
        connect: 2,
        tunnel: 0.5,
        tls: 3,
        firstByte: 40,
        download: 5,
        remainder: 0.25,
        total: 52.25,
      };
      const details = {
        request: { method: 'GET', url: 'https://shop.example/' },
        response: { status: 503, statusText: 'Service Unavailable', headers: { server: 'x' }, body: 'busy' },
        hops: [],
        requestError: null,
      };
      const log = [{ time, level: 'info', msg: 'resolved' }];
      const reason = { code: 'HTTP_STATUS', owner: 'target', message: 'the response has the status 503' };
      const { id, sequenceId } = await store(checkId, {
        checkType: 'API',
        status: 'failed',
        hasFailures: true,
        responseTime: 52.25,
        attempts: 1,
        reason,
        body: { assertions: [assertion], timings, details, artifacts: [], log },
      });
      const listed = {
        id,
        checkId,
        sequenceId,
        checkType: 'API',
        runLocation: 'eu-west-1',
        resultType: 'FINAL',
        status: 'failed',
        hasFailures: true,
        hasErrors: false,
        isDegraded: false,
        overMaxResponseTime: false,
        isCancelled: false,
        responseTime: 52.25,
        attempts: 1,
        reason,
        errorGroupIds: [],
        startedAt: iso(time),
        stoppedAt: iso(time + 100),
        created_at: iso(time + 200),
        isPartial: false,
        assertions: [assertion],
        timings,
        details,
        artifacts: [],
        log,
      };
      expect(await list(checkId)).toEqual([listed]);
      const whole = await service.call('GET', `/v1/check-results/${checkId}/${id}`);
      expect([whole.status, whole.body]).toEqual([
        200,
        {
          ...listed,
          apiCheckResult: {
            request: details.request,
            response: {
              ...details.response,
              timings: { socket: 0.25, lookup: 1.75, connect: 4.25, response: 47.25, end: 52.25 },
              timingPhases: { wait: 0.25, dns: 1.5, tcp: 2.5, firstByte: 43, download: 5, total: 52.25 },
            },
            requestError: null,
            assertions: [assertion],
            jobLog: { setup: [], request: log, teardown: [] },
            jobAssets: [],
            pcapDataUrl: null,
          },
        },
      ]);
    });

    test.each([
      [
        'URL',
        'urlCheckResult',
        { request: { method: 'GET', url: 'http://a' }, response: null, requestError: 'refused' },
        {
          request: { method: 'GET', url: 'http://a' },
          response: null,
          requestError: 'refused',
          assertions: [],
          jobLog: { setup: [], request: [], teardown: [] },
          jobAssets: [],
          pcapDataUrl: null,
        },
      ],
      [
        'TCP',
        'tcpCheckResult',
        { resolvedIp: '127.0.0.1', response: { data: 'PONG' } },
        {
          resolvedIp: '127.0.0.1',
          response: { data: 'PONG' },
          assertions: [],
          timingPhases: { dns: 1, connect: 2, data: 7, total: 10 },
        },
      ],
      [
        'DNS',
        'dnsCheckResult',
        { response: { returnCode: 'NOERROR' } },
        { response: { returnCode: 'NOERROR' }, assertions: [] },
      ],
      ['ICMP', 'icmpCheckResult', { packetLoss: 0 }, { packetLoss: 0, assertions: [] }],
    ] as const)('form of %s', async (checkType, field, details, form) => {
      const checkId = await createCheck(checkType);
      const timings = { dns: 1, connect: 2, firstByte: 3, download: 1, remainder: 3, total: 10 };
      const { id } = await store(checkId, { checkType, body: { ...emptyBody, timings, details } });
      const { body } = await service.call('GET', `/v1/check-results/${checkId}/${id}`);
      expect(body[field]).toEqual(form);
      expect(body['details']).toEqual(details);
    });

    test('a missed run has no timings, and is shown all the same', async () => {
      const checkId = await createCheck();
      const { id } = await store(checkId, {
        status: 'missed',
        hasErrors: true,
        reason: { code: 'NO_AGENT', owner: 'ours', message: 'no agent was connected' },
        body: { ...emptyBody, details: { count: 3, from: iso(time), to: iso(time) } },
      });
      const { body } = await service.call('GET', `/v1/check-results/${checkId}/${id}`);
      expect(body).toMatchObject({ status: 'missed', timings: null, details: { count: 3 } });
    });

    test('a result too large for a list is there whole by its id', async () => {
      const checkId = await createCheck();
      // Random text: it must not become small when the database compresses it.
      const body = Array.from({ length: 2000 }, () => uuidv7()).join('');
      const { id } = await store(checkId, { body: { ...emptyBody, details: { response: { body } } } });
      const [listed] = await list(checkId);
      expect(listed).toMatchObject({ id, isPartial: true, status: 'passed' });
      expect(listed).not.toHaveProperty('details');
      const whole = await service.call('GET', `/v1/check-results/${checkId}/${id}`);
      expect(whole.body).toMatchObject({ isPartial: false, details: { response: { body } } });
    });

    test('filters, order and pages, across days', async () => {
      const checkId = await createCheck();
      const hour = 3_600_000;
      const first = await store(checkId, { startedAt: time - 30 * hour, runLocation: 'office' });
      const attempt = await store(checkId, { startedAt: time - 20 * hour, resultType: 'ATTEMPT' });
      const failed = await store(checkId, {
        startedAt: time - 10 * hour,
        status: 'failed',
        hasFailures: true,
      });
      const last = await store(checkId, { startedAt: time });
      const finals = [last.id, failed.id, first.id];
      expect(await pageOf(checkId, '')).toEqual(finals);
      expect(await pageOf(checkId, '?resultType=FINAL')).toEqual(finals);
      expect(await pageOf(checkId, '?resultType=ATTEMPT')).toEqual([attempt.id]);
      expect(await pageOf(checkId, '?resultType=ALL')).toEqual([last.id, failed.id, attempt.id, first.id]);
      expect(await pageOf(checkId, '?location=office')).toEqual([first.id]);
      expect(await pageOf(checkId, '?hasFailures=true')).toEqual([failed.id]);
      expect(await pageOf(checkId, '?hasFailures=false')).toEqual([last.id, first.id]);
      expect(await pageOf(checkId, '?checkType=URL')).toEqual(finals);
      expect(await pageOf(checkId, '?checkType=DNS')).toEqual([]);
      const seconds = (hoursAgo: number) => (time - hoursAgo * hour) / 1000;
      expect(await pageOf(checkId, `?from=${seconds(10)}`)).toEqual([last.id, failed.id]);
      expect(await pageOf(checkId, `?to=${seconds(10)}`)).toEqual([failed.id, first.id]);
      expect(await pageOf(checkId, `?from=${seconds(30)}&to=${seconds(11)}`)).toEqual([first.id]);
      const { body: newest } = await service.call<Page>('GET', `/v2/check-results/${checkId}?limit=2`);
      expect(newest).toMatchObject({
        length: 2,
        entries: [{ id: last.id }, { id: failed.id }],
        nextId: failed.id,
      });
      const { body: rest } = await service.call<Page>(
        'GET',
        `/v2/check-results/${checkId}?limit=2&nextId=${newest.nextId}`,
      );
      expect(rest).toMatchObject({ length: 1, entries: [{ id: first.id }], nextId: null });
      expect(await pageOf(checkId, `?nextId=${first.id}`)).toEqual([]);
      const { body: some } = await service.call<Page>(
        'GET',
        `/v2/check-results/${checkId}?limit=1&fields=id,status`,
      );
      expect(some.entries).toEqual([{ id: last.id, status: 'passed' }]);
      expect(await pageOf(checkId, '?limit=100')).toHaveLength(3);
    });

    test('the first version shows six hours at a time', async () => {
      const checkId = await createCheck();
      const hour = 3_600_000;
      const ids = [];
      for (const hours of [12, 7, 5, 0])
        ids.unshift((await store(checkId, { startedAt: time - hours * hour })).id);
      const seconds = (hoursAgo: number) => (time - hoursAgo * hour) / 1000;
      expect(await idsOf(checkId, '')).toEqual(ids.slice(0, 2));
      expect(await idsOf(checkId, '?limit=1&page=2')).toEqual(ids.slice(1, 2));
      expect(await idsOf(checkId, `?to=${seconds(6.5)}`)).toEqual(ids.slice(2));
      expect(await idsOf(checkId, `?from=${seconds(12)}`)).toEqual(ids.slice(2));
      expect(await idsOf(checkId, `?from=${seconds(12)}&to=${seconds(8)}`)).toEqual(ids.slice(3));
      const long = await service.call(
        'GET',
        `/v1/check-results/${checkId}?from=${seconds(12)}&to=${seconds(5)}`,
      );
      expect([long.status, long.body['attributes']]).toEqual([
        400,
        { from: ['must be at most 6 hours before to; /v2/check-results shows any time'] },
      ]);
    });

    test.each([
      ['?limit=101', { limit: ['must be from 1 to 100'] }],
      ['?page=1', { page: ['is not a known field'] }],
      ['?nextId=x', { nextId: expect.anything() }],
      ['?nextId=6a1c1a5e-0000-4000-8000-000000000000', { nextId: ['is not the nextId of a page'] }],
      ['?fields=secret', { 'fields.0': expect.anything() }],
      ['?fields=', { fields: expect.anything() }],
      ['?from=2&to=1', { from: ['must not be after to'] }],
    ])('a query by cursor that is refused: %s', async (query, attributes) => {
      const checkId = await createCheck();
      const answer = await service.call('GET', `/v2/check-results/${checkId}${query}`);
      expect([answer.status, answer.body['attributes']]).toEqual([400, attributes]);
      const foreign = await service.call('GET', `/v2/check-results/${checkId}`, { key: service.foreign.key });
      expect(foreign.status).toBe(404);
    });

    test.each([
      ['?limit=0', { limit: ['must be from 1 to 100'] }],
      ['?limit=101', { limit: ['must be from 1 to 100'] }],
      ['?limit=ten', { limit: ['must be a whole number'] }],
      ['?limit=', { limit: ['must be a whole number'] }],
      ['?limit=1.5', { limit: ['must be a whole number'] }],
      ['?limit=1&limit=2', { limit: ['must be a whole number'] }],
      ['?page=0', { page: ['must be from 1 to 1000000'] }],
      ['?resultType=SOME', { resultType: ['must be one of FINAL, ATTEMPT, ALL'] }],
      ['?hasFailures=yes', { hasFailures: ['must be true or false'] }],
      ['?from=yesterday', { from: ['must be a number'] }],
      ['?from=-1', { from: ['must be from 0 to 253402300799'] }],
      ['?from=2&to=1', { from: ['must not be after to'] }],
      ['?since=1', { since: ['is not a known field'] }],
      ['?location=a%00', { location: ['must not contain the character U+0000 or half of a surrogate pair'] }],
    ])('a query that is refused: %s', async (query, attributes) => {
      const answer = await service.call('GET', `/v1/check-results/${uuidv7()}${query}`);
      expect([answer.status, answer.body['attributes']]).toEqual([400, attributes]);
    });

    test('what is not there is 404', async () => {
      const checkId = await createCheck();
      const other = await createCheck();
      const { id } = await store(checkId);
      for (const path of [
        `/v1/check-results/${uuidv7()}`,
        '/v1/check-results/nothing',
        `/v1/check-results/${checkId}/${uuidv7()}`,
        `/v1/check-results/${checkId}/nothing`,
        `/v1/check-results/${other}/${id}`,
      ]) {
        expect((await service.call('GET', path)).status).toBe(404);
      }
    });

    test('another account sees no results and no statuses', async () => {
      const checkId = await createCheck();
      const { id } = await store(checkId);
      await storeStatus(checkId, id);
      const foreign = { key: service.foreign.key };
      for (const path of [
        `/v1/check-results/${checkId}`,
        `/v1/check-results/${checkId}/${id}`,
        `/v1/check-statuses/${checkId}`,
      ]) {
        expect((await service.call('GET', path, foreign)).status).toBe(404);
        expect((await service.call('GET', path)).status).toBe(200);
      }
      expect((await service.call('GET', '/v1/check-statuses', foreign)).body).toEqual([]);
    });

    async function storeStatus(checkId: string, resultId: string, status = 'passed') {
      await service.db.query(
        `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, longest_run,
           shortest_run, last_run_location, last_check_run_id, last_started_at, ssl_days_remaining, reason, created_at)
         values ($1, $2, $3, false, false, false, 20.5, 10, 'eu-west-1', $4, $5, 30, null, $5)`,
        [checkId, service.account.id, status, resultId, new Date(time)],
      );
    }

    test('statuses: one, and a page of all in the order of the checks', async () => {
      const checkId = await createCheck();
      const before = await service.call('GET', `/v1/check-statuses/${checkId}`);
      expect([before.status, before.body]).toEqual([
        404,
        {
          ...statusFields(404),
          message: `There is no check with a status ${checkId}.`,
          attributes: { checkId: ['names no check with a status of this account'] },
        },
      ]);
      const resultId = uuidv7(time);
      await storeStatus(checkId, resultId, 'degraded');
      const status = {
        checkId,
        name: 'A URL check',
        status: 'degraded',
        hasFailures: false,
        hasErrors: false,
        isDegraded: false,
        longestRun: 20.5,
        shortestRun: 10,
        lastRunLocation: 'eu-west-1',
        lastCheckRunId: resultId,
        lastStartedAt: iso(time),
        sslDaysRemaining: 30,
        reason: null,
        created_at: iso(time),
        updated_at: null,
      };
      expect((await service.call('GET', `/v1/check-statuses/${checkId}`)).body).toEqual(status);
      const all = await service.call<Fields[]>('GET', '/v1/check-statuses?limit=100');
      expect(all.body.filter((item) => item['checkId'] === checkId)).toEqual([status]);
      const page = await service.call<Fields[]>('GET', '/v1/check-statuses?limit=1&page=2');
      expect(page.body).toEqual([all.body[1]]);
      expect((await service.call('GET', '/v1/check-statuses?limit=101')).status).toBe(400);
    });

    test('the page gets everything in one answer', async () => {
      const checkId = await createCheck();
      for (const [index, status] of resultStatuses.entries()) {
        await store(checkId, { startedAt: time - index * 1000, status });
      }
      await store(checkId, { resultType: 'ATTEMPT' });
      await storeStatus(checkId, uuidv7());
      const { status, body } = await service.call('GET', '/web/overview?limit=100');
      expect(status).toBe(200);
      const { checks, locations, account } = body as {
        checks: Result[];
        locations: Fields[];
        account: Fields;
      };
      expect(account).toEqual({ name: 'First' });
      expect(locations).toContainEqual({
        name: 'eu-west-1',
        slugName: 'eu-west-1',
        agentCount: 0,
        lastSeen: null,
        minAgentVersion: null,
        runningAgents: [],
        keyCount: 0,
      });
      expect(checks.find(({ id }) => id === checkId)).toMatchObject({
        name: 'A URL check',
        status: { status: 'passed' },
        results: resultStatuses.map((name, index) => ({
          status: name,
          responseTime: 12.5,
          runLocation: 'eu-west-1',
          startedAt: iso(time - index * 1000),
        })),
      });
    });

    test('the page shows a check with the settings of its group, and no script', async () => {
      const group = await service.call<{ id: number }>('POST', '/v2/check-groups', {
        body: { name: 'Off', activated: false, muted: true, locations: ['eu-west-2'] },
      });
      const created = await service.call<{ id: string }>('POST', '/v1/checks/browser', {
        body: { name: 'Shop', script: 'a secret recipe', locations: ['eu-west-1'], groupId: group.body.id },
      });
      const { body } = await service.call('GET', '/web/overview?limit=100');
      const { checks } = body as { checks: Fields[] };
      const shown = checks.find(({ id }) => id === created.body.id);
      expect(shown).toMatchObject({
        activated: false,
        muted: true,
        locations: ['eu-west-2'],
        privateLocations: [],
      });
      expect(JSON.stringify(body)).not.toContain('recipe');
    });

    test('lists of results use the index of the check', async () => {
      const plan = await service.db.query<{ 'QUERY PLAN': string }>(
        `explain select id from check_results where check_id = '${uuidv7()}' and started_at >= '-infinity'
         order by started_at desc, id desc limit 10`,
      );
      expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index (Only )?Scan.*check_id/s);
    });
  });
});
