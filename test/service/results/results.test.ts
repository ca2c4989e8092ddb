import { describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { isAnyRunFinished, lockFinishedRuns } from '../../../src/service/results/finished-run-statements.ts';
import { databases } from '../../helpers/service/database.ts';
import { emptyBody, iso, resultsBench, time, type Result } from './results-bench.ts';

/** Results of checks: how they are shown, and listed. */

describe.each(databases)('results ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = resultsBench(database);
    const { createCheck, store, list } = bench;

    type Page = { length: number; entries: Result[]; nextId: string | null };
    const pageOf = async (checkId: string, query: string) => {
      const { status, body } = await bench.service.call<Page>('GET', `/v2/check-results/${checkId}${query}`);
      expect(status).toBe(200);
      return body.entries.map(({ id }) => id);
    };
    const idsOf = async (checkId: string, query: string) => (await list(checkId, query)).map(({ id }) => id);

    test('the attempts of one run are found among any number of newer results', async () => {
      const checkId = await createCheck();
      const first = await store(checkId, {
        resultType: 'ATTEMPT',
        status: 'failed',
        startedAt: time - 3_600_000,
      });
      const last = await store(checkId, { attempts: 1, startedAt: time - 3_590_000 });
      await bench.service.db.query('update check_results set sequence_id = $2 where id = $1', [
        last.id,
        first.sequenceId,
      ]);
      for (let n = 0; n < 200; n++) await store(checkId, { startedAt: time - 3_000_000 + n * 1000 });
      const ofRun = `sequenceId=${first.sequenceId}&limit=100`;
      expect(await pageOf(checkId, `?${ofRun}&resultType=ALL`)).toEqual([last.id, first.id]);
      expect(await pageOf(checkId, `?${ofRun}`)).toEqual([last.id]);
      expect(await idsOf(checkId, `?${ofRun}&resultType=ALL`)).toEqual([last.id, first.id]);
      expect(await pageOf(checkId, `?sequenceId=${uuidv7()}&resultType=ALL`)).toEqual([]);
      const wrong = await bench.service.call('GET', `/v2/check-results/${checkId}?sequenceId=x`);
      expect([wrong.status, wrong.body['attributes']]).toMatchObject([
        400,
        { sequenceId: expect.anything() as object },
      ]);
    });

    test('a result has the common fields, and by its id also the form of its type', async () => {
      const { service } = bench;
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
      [
        'SSL',
        'sslCheckResult',
        { tlsVersion: 'TLS1.3', failureCategory: null, response: { daysUntilExpiry: 30 } },
        { tlsVersion: 'TLS1.3', failureCategory: null, response: { daysUntilExpiry: 30 }, assertions: [] },
      ],
      [
        'GRPC',
        'grpcCheckResult',
        { requestError: null, response: { statusCode: 0, message: '{}' } },
        { requestError: null, response: { statusCode: 0, message: '{}' }, assertions: [] },
      ],
      [
        'TRACEROUTE',
        'tracerouteCheckResult',
        {
          request: { url: 'a.example' },
          requestError: null,
          protocol: 'TCP',
          way: 'tcp',
          source: 'dns',
          totalHops: 2,
          destinationReached: true,
          finalHopLatency: { avg: 4 },
          packetLoss: 0,
          traceroute: {
            hops: [
              { hop: 1, address: null, sent: 3, lossPercent: 100, avgMs: null },
              {
                hop: 2,
                address: '192.0.2.9',
                name: 'a.example',
                sent: 3,
                lossPercent: 33.3,
                lastMs: 4,
                avgMs: 4,
                bestMs: 3,
                worstMs: 5,
                stddevMs: 1,
                asn: 64_500,
                others: ['192.0.2.8'],
              },
            ],
          },
        },
        {
          totalHops: 2,
          destinationReached: true,
          finalHopLatency: 4,
          timingPhases: { dns: 1, total: 10 },
          requestError: null,
          request: { url: 'a.example' },
          assertions: [],
          response: {
            totalHops: 2,
            destinationReached: true,
            finalHopLatency: { avg: 4 },
            packetLoss: 0,
            probeProtocol: 'TCP',
            hops: [
              { hop_number: 1, main_ip: null, main_host: null, sent: 3, received: 0, loss_percentage: 100 },
              {
                hop_number: 2,
                main_ip: '192.0.2.9',
                main_host: 'a.example',
                sent: 3,
                received: 2,
                loss_percentage: 33.3,
                rtt: { last_ms: 4, avg_ms: 4, best_ms: 3, worst_ms: 5, stddev_ms: 1 },
                asn: 64_500,
                asn_org: null,
                other_ips: ['192.0.2.8'],
              },
            ],
          },
        },
      ],
    ] as const)('form of %s', async (checkType, field, details, form) => {
      const { service } = bench;
      const checkId = await createCheck(checkType);
      const timings = { dns: 1, connect: 2, firstByte: 3, download: 1, remainder: 3, total: 10 };
      const { id } = await store(checkId, { checkType, body: { ...emptyBody, timings, details } });
      const { body } = await service.call('GET', `/v1/check-results/${checkId}/${id}`);
      expect(body[field]).toEqual(form);
      expect(body['details']).toEqual(details);
    });

    test('a missed run without timings is listed', async () => {
      const { service } = bench;
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

    test('a result that is too large for a list is complete by its id', async () => {
      const { service } = bench;
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
      const { service } = bench;
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
      expect(await pageOf(checkId, '?status=failed')).toEqual([failed.id]);
      expect(await pageOf(checkId, '?status=passed&resultType=ALL')).toEqual([last.id, attempt.id, first.id]);
      expect(await pageOf(checkId, '?status=missed')).toEqual([]);
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

    test('the first version returns at most six hours', async () => {
      const { service } = bench;
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
        { from: ['must be at most 6 hours before to; use /v2/check-results for longer windows'] },
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
      const { service } = bench;
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
      const { service } = bench;
      const answer = await service.call('GET', `/v1/check-results/${uuidv7()}${query}`);
      expect([answer.status, answer.body['attributes']]).toEqual([400, attributes]);
    });

    test('unknown results are 404', async () => {
      const { service } = bench;
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

    test('finished runs are found without reading all of them, also if some are postponed', async () => {
      const { db } = bench.service;
      // Rolled back: other tests have no such runs.
      const undone = new Error('undone');
      const plans: string[] = [];
      const trying = db.tx(async (tx) => {
        await tx.query(
          `insert into finished_runs (account_id, check_id, run_id, result_id, started_at, run_location, status, not_before)
           select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), 'here', 'passed',
             case when n % 4000 = 0 then now() + interval '1 hour' end
           from generate_series(1, 20000) as n`,
        );
        await tx.exec('analyze finished_runs');
        const explained: typeof tx.query = async (text, values) => {
          const rows = await tx.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
          plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
          return tx.query(text, values);
        };
        await lockFinishedRuns({ ...tx, query: explained }, { limit: 100, now: new Date() });
        await isAnyRunFinished({ ...tx, query: explained }, { after: 0, now: new Date() });
        throw undone;
      });
      await expect(trying).rejects.toBe(undone);
      expect(plans).toHaveLength(3);
      for (const plan of plans) {
        expect(plan).toContain('finished_runs_postponed');
        expect(plan).not.toContain('Seq Scan on finished_runs');
      }
    });

    test('lists of results use the index of the check', async () => {
      const { service } = bench;
      const plan = await service.db.query<{ 'QUERY PLAN': string }>(
        `explain select id from check_results where check_id = '${uuidv7()}' and started_at >= '-infinity'
         order by started_at desc, id desc limit 10`,
      );
      expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index (Only )?Scan.*check_id/s);
    });
  });
});
