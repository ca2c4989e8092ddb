import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/durations.ts';
import { checkTypes, type CheckType } from '../../../src/protocol/check-types.ts';
import { metricsOf } from '../../../src/service/analytics/metric-names.ts';
import { analyticsBench, start, type Answer } from '../../helpers/service/analytics-bench.ts';
import { databases } from '../../helpers/service/database.ts';
import type { Run } from '../../helpers/service/stored-results.ts';

/** The analytics routes, from raw results and from rollups. */

const aggregations = ['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'];

/** The metrics of each type besides availability and retries. */
const measured: { [T in CheckType]: string[] } = {
  API: ['responseTime', 'wait', 'dns', 'tcp', 'firstByte', 'download'],
  URL: ['responseTime', 'wait', 'dns', 'tcp', 'firstByte', 'download'],
  TCP: ['responseTime', 'total', 'dns', 'connection', 'data'],
  DNS: ['responseTime', 'total'],
  ICMP: ['responseTime', 'packetLoss', 'latencyMin', 'latencyMax', 'latencyAvg', 'latencyStdDev'],
  SSL: [
    'responseTime',
    'handshakeTimeMs',
    'daysUntilExpiry',
    'tlsVersion',
    'cipherSuite',
    'hostnameVerified',
    'chainTrusted',
    'ocspStapled',
    'keySizeBits',
    'baselineVerdict',
    'baselineGrade',
  ],
  GRPC: ['responseTime', 'total', 'dns', 'connect'],
  TRACEROUTE: ['responseTime', 'finalHopLatencyAvg', 'totalHops', 'packetLoss'],
  BROWSER: [
    'responseTime',
    'TTFB',
    'FCP',
    'LCP',
    'CLS',
    'TBT',
    'consoleErrors',
    'networkErrors',
    'userScriptErrors',
    'documentErrors',
  ],
  MULTI_STEP: ['responseTime'],
  PLAYWRIGHT: ['responseTime'],
  AGENTIC: ['responseTime'],
  HEARTBEAT: [],
};

const timings = { dns: 1, connect: 2, tunnel: 3, tls: 4, firstByte: 5, download: 6, remainder: 7, total: 28 };
const vital = (value: number) => ({ value, score: 'GOOD' });
const page = (value: number) => ({
  webVitals: {
    TTFB: vital(value),
    FCP: vital(value),
    LCP: vital(value),
    CLS: vital(value / 1000),
    TBT: vital(value),
  },
});
/** The measured fields of results of each type, and the expected values. */
const bodies: {
  [T in CheckType]: { run: Pick<Run, 'timings' | 'details'>; values: { [metric: string]: number } };
} = {
  API: {
    run: { timings, details: { response: { status: 200 } } },
    values: { wait: 7, dns: 1, tcp: 5, firstByte: 9, download: 6 },
  },
  URL: { run: { timings }, values: { wait: 7, dns: 1, tcp: 5, firstByte: 9, download: 6 } },
  TCP: { run: { timings }, values: { total: 28, dns: 1, connection: 2, data: 18 } },
  DNS: { run: { timings: { dns: 1, firstByte: 2, total: 3 } }, values: { total: 3 } },
  ICMP: {
    run: { details: { packetLoss: 12.5, latency: { avg: 2, min: 1, max: 4, stdDev: 0.5 } } },
    values: { packetLoss: 12.5, latencyMin: 1, latencyMax: 4, latencyAvg: 2, latencyStdDev: 0.5 },
  },
  SSL: {
    run: {
      details: {
        handshakeTimeMs: 12,
        daysUntilExpiry: 30,
        response: { certificate: { keySizeBits: 2048 } },
      },
    },
    values: { handshakeTimeMs: 12, daysUntilExpiry: 30, keySizeBits: 2048 },
  },
  GRPC: {
    run: {
      timings: { dns: 2, connect: 3, firstByte: 4, download: 1, remainder: 0, total: 10 },
      details: { timingPhases: { dns: 2, connect: 8, total: 10 } },
    },
    values: { total: 10, dns: 2, connect: 8 },
  },
  TRACEROUTE: {
    run: { details: { finalHopLatency: { avg: 12.5 }, totalHops: 9, packetLoss: 25 } },
    values: { finalHopLatencyAvg: 12.5, totalHops: 9, packetLoss: 25 },
  },
  BROWSER: {
    run: {
      details: {
        traceSummary: { consoleErrors: 1, networkErrors: 2, userScriptErrors: 3, documentErrors: 4 },
        pages: [page(100)],
      },
    },
    values: {
      TTFB: 100,
      FCP: 100,
      LCP: 100,
      CLS: 0.1,
      TBT: 100,
      consoleErrors: 1,
      networkErrors: 2,
      userScriptErrors: 3,
      documentErrors: 4,
    },
  },
  MULTI_STEP: { run: {}, values: {} },
  PLAYWRIGHT: { run: {}, values: {} },
  AGENTIC: { run: {}, values: {} },
  HEARTBEAT: { run: {}, values: {} },
};

describe.each(databases)('analytics ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = analyticsBench(database);
    const { create, store, figures, rollUp } = bench;

    test.each(checkTypes)(
      'every metric of %s answers, from raw results and from rollups',
      async (checkType) => {
        const names = [
          'availability',
          'retries',
          ...measured[checkType].flatMap((name) => [name, ...aggregations.map((each) => `${name}_${each}`)]),
        ];
        expect([...metricsOf(checkType).keys()].sort()).toEqual([...names].sort());
        const checkId = await create(checkType);
        const { run, values } = bodies[checkType];
        await store(checkId, checkType, [{ at: start - 5 * hourMs, responseTime: 50, attempts: 2, ...run }]);
        const query = `metrics=${names.join(',')}`;
        for (let round = 0; round < 2; round++) {
          const answer = await figures(checkType, checkId, query);
          expect(answer).toMatchObject({
            checkId,
            checkType,
            activated: true,
            muted: false,
            frequency: 1,
            tags: [],
          });
          expect(Object.keys(answer.metadata).sort()).toEqual([...names].sort());
          const merged = Object.assign(
            {},
            ...(answer.series[0]?.data ?? []),
          ) as Answer['series'][number]['data'][number];
          expect(merged).toMatchObject({ availability: 100, retries: 2 });
          if (checkType !== 'HEARTBEAT')
            expect(merged).toMatchObject({ responseTime: 50, responseTime_p99: 50 });
          for (const [name, value] of Object.entries(values)) {
            expect(merged[name], name).toBeCloseTo(value, 3);
            expect(merged[`${name}_avg`], name).toBeCloseTo(value, 3);
            expect(merged[`${name}_p95`], name).toBeCloseTo(value, 3);
          }
          await rollUp();
        }
      },
    );

    test('intervals, groups, pages, and ranges without runs', async () => {
      const checkId = await create('API');
      const day = Date.parse('2026-03-04T00:00:00Z');
      const runs: Run[] = [];
      for (let hour = 0; hour < 6; hour++) {
        const code = hour < 3 ? 200 : 503;
        const run = {
          status: code === 503 ? 'failed' : 'passed',
          details: { response: { status: code } },
        } as const;
        runs.push({ at: day + hour * hourMs, responseTime: 10, runLocation: 'eu-west-1', ...run });
        runs.push({
          at: day + hour * hourMs + hourMs / 2,
          responseTime: 30,
          runLocation: 'us-east-1',
          ...run,
        });
      }
      runs.push({ at: day + 6 * hourMs, responseTime: 5, details: { response: null }, status: 'failed' });
      await store(checkId, 'API', runs);
      const range = `from=${day / 1000}&to=${day / 1000 + 86_400}`;
      for (let round = 0; round < 2; round++) {
        const hourly = await figures(
          'API',
          checkId,
          `${range}&metrics=responseTime_avg&aggregationInterval=60&limit=4&page=2`,
        );
        expect(hourly['pagination']).toEqual({ page: 2, limit: 4 });
        expect(hourly.series).toEqual([
          {
            data: [
              { timestamp: '2026-03-04T04:00:00.000Z', responseTime_avg: 20 },
              { timestamp: '2026-03-04T05:00:00.000Z', responseTime_avg: 20 },
              { timestamp: '2026-03-04T06:00:00.000Z', responseTime_avg: 5 },
            ],
          },
        ]);
        const daily = await figures(
          'API',
          checkId,
          `${range}&metrics=responseTime_sum&aggregationInterval=180`,
        );
        expect(daily.series[0]?.data).toEqual([
          { timestamp: '2026-03-04T00:00:00.000Z', responseTime_sum: 120 },
          { timestamp: '2026-03-04T03:00:00.000Z', responseTime_sum: 120 },
          { timestamp: '2026-03-04T06:00:00.000Z', responseTime_sum: 5 },
        ]);
        const half = await figures(
          'API',
          checkId,
          `${range}&metrics=retries,responseTime_max&aggregationInterval=30&limit=2`,
        );
        expect(half.series[0]?.data).toEqual([
          { timestamp: '2026-03-04T00:00:00.000Z', retries: 0, responseTime_max: 10 },
          { timestamp: '2026-03-04T00:30:00.000Z', retries: 0, responseTime_max: 30 },
        ]);
        const timestamp = '2026-03-04T00:00:00.000Z';
        const codes = await figures('API', checkId, `${range}&metrics=availability&groupBy=statusCode`);
        expect(codes.series).toEqual([
          { statusCode: null, data: [{ timestamp, availability: 0 }] },
          { statusCode: 200, data: [{ timestamp, availability: 100 }] },
          { statusCode: 503, data: [{ timestamp, availability: 0 }] },
        ]);
        const places = await figures(
          'API',
          checkId,
          `${range}&metrics=responseTime_median&groupBy=runLocation&filterByStatus=success`,
        );
        expect(places.series.map(({ runLocation }) => runLocation)).toEqual(['eu-west-1', 'us-east-1']);
        expect(places.series[1]?.data[0]?.['responseTime_median']).toBe(30);
        const raw = await figures(
          'API',
          checkId,
          `${range}&metrics=responseTime&groupBy=runLocation&limit=3`,
        );
        expect(raw.series).toEqual([
          {
            runLocation: 'eu-west-1',
            data: [
              { timestamp: '2026-03-04T00:00:00.000Z', responseTime: 10 },
              { timestamp: '2026-03-04T01:00:00.000Z', responseTime: 10 },
            ],
          },
          { runLocation: 'us-east-1', data: [{ timestamp: '2026-03-04T00:30:00.000Z', responseTime: 30 }] },
        ]);
        // The end does not belong to the range, its beginning does.
        const edges = await figures(
          'API',
          checkId,
          `from=${day / 1000 + 3600}&to=${day / 1000 + 5400}&metrics=responseTime_sum`,
        );
        expect(edges.series[0]?.data[0]?.['responseTime_sum']).toBe(10);
        const empty = `from=${day / 1000 - 86_400}&to=${day / 1000}&metrics=responseTime_p99,availability,responseTime`;
        expect((await figures('API', checkId, empty)).series).toEqual([{ data: [] }]);
        expect((await figures('API', checkId, `${empty}&groupBy=runLocation`)).series).toEqual([]);
        await rollUp();
      }
    });

    test('texts of SSL checks are texts for a run, and numbers for an interval', async () => {
      const checkId = await create('SSL');
      const seen = (details: object) => ({ at: start - 5 * hourMs, responseTime: 9, details });
      const good = {
        tlsVersion: 'TLS1.3',
        cipherSuite: 'TLS_AES_256_GCM_SHA384',
        hostnameVerified: true,
        chainTrusted: true,
        daysUntilExpiry: 40,
        baselineVerdict: 'pass',
        baselineGrade: 'A-',
        response: { ocspStapled: true },
      };
      const poor = {
        tlsVersion: 'TLS1.1',
        cipherSuite: 'TLS_RSA_WITH_AES_128_CBC_SHA256',
        hostnameVerified: true,
        chainTrusted: false,
        daysUntilExpiry: -4,
        baselineVerdict: 'fail',
        baselineGrade: 'F',
        response: { ocspStapled: false },
      };
      const none = {
        tlsVersion: 7,
        cipherSuite: null,
        chainTrusted: 'true',
        baselineVerdict: {},
        response: [],
      };
      await store(checkId, 'SSL', [
        seen(good),
        { ...seen(poor), at: start - 4 * hourMs },
        { ...seen(none), at: start - 3 * hourMs },
      ]);
      const names = Object.keys(good)
        .filter((name) => name !== 'response')
        .concat('ocspStapled');
      for (let round = 0; round < 2; round++) {
        const { series } = await figures('SSL', checkId, `metrics=${names.join(',')}`);
        expect(series[0]?.data).toEqual([
          {
            timestamp: expect.any(String) as string,
            ...good,
            hostnameVerified: 1,
            chainTrusted: 1,
            response: undefined,
            ocspStapled: 1,
          },
          {
            timestamp: expect.any(String) as string,
            ...poor,
            hostnameVerified: 1,
            chainTrusted: 0,
            daysUntilExpiry: 0,
            response: undefined,
            ocspStapled: 0,
          },
        ]);
        const averages = await figures(
          'SSL',
          checkId,
          `metrics=${names.map((name) => `${name}_avg`).join(',')}`,
        );
        expect(averages.series[0]?.data[0]).toMatchObject({
          tlsVersion_avg: 1.2,
          cipherSuite_avg: 192,
          hostnameVerified_avg: 1,
          chainTrusted_avg: 0.5,
          ocspStapled_avg: 0.5,
          daysUntilExpiry_avg: 20,
          baselineVerdict_avg: 1,
          baselineGrade_avg: 1,
        });
        await rollUp();
      }
    });

    test('pages of a browser check, and details that hold no numbers', async () => {
      const checkId = await create('BROWSER');
      const at = start - 5 * hourMs;
      const strange = {
        webVitals: { TTFB: { value: 'soon' }, LCP: { value: -1 }, FCP: { value: 1e300 }, CLS: null },
      };
      await store(checkId, 'BROWSER', [
        { at, details: { pages: [page(100), page(300)], traceSummary: { consoleErrors: 2 } } },
        { at: at + 1, details: { pages: [page(200), strange], traceSummary: null } },
        { at: at + 2, details: { pages: 'none' } },
      ]);
      const timestamp = new Date(start - 24 * hourMs).toISOString();
      for (let round = 0; round < 2; round++) {
        const metrics = 'metrics=TTFB_avg,LCP_max,FCP_sum,consoleErrors_sum,availability';
        const pages = await figures('BROWSER', checkId, `${metrics}&groupBy=pageIndex`);
        const ofRun = {
          timestamp,
          TTFB_avg: null,
          LCP_max: null,
          FCP_sum: null,
          consoleErrors_sum: 2,
          availability: 100,
        };
        const ofPage = { timestamp, consoleErrors_sum: null, availability: null };
        expect(pages.series).toEqual([
          { pageIndex: null, data: [ofRun] },
          { pageIndex: 0, data: [{ ...ofPage, TTFB_avg: 150, LCP_max: 200, FCP_sum: 300 }] },
          { pageIndex: 1, data: [{ ...ofPage, TTFB_avg: 300, LCP_max: 300, FCP_sum: 300 }] },
        ]);
        const all = await figures('BROWSER', checkId, metrics);
        expect(all.series).toEqual([
          {
            data: [
              {
                timestamp,
                TTFB_avg: 200,
                LCP_max: 300,
                FCP_sum: 600,
                consoleErrors_sum: 2,
                availability: 100,
              },
            ],
          },
        ]);
        await rollUp();
      }
    });

    test('many checks at once, and the list of metrics', async () => {
      const { service } = bench;
      const url = await create('URL');
      const icmp = await create('ICMP');
      await store(url, 'URL', [{ at: start - hourMs, responseTime: 10 }]);
      const { status, body } = await service.call<Answer[]>('POST', '/v1/analytics/checks', {
        body: { checkIds: [icmp, url], metrics: ['availability', 'packetLoss_avg', 'responseTime_p95'] },
      });
      expect(status).toBe(200);
      expect(
        body.map(({ checkId, series, metadata }) => ({ checkId, series, names: Object.keys(metadata) })),
      ).toEqual([
        {
          checkId: icmp,
          series: [{ data: [] }],
          names: ['availability', 'packetLoss_avg', 'responseTime_p95'],
        },
        {
          checkId: url,
          series: [
            {
              data: [
                {
                  timestamp: new Date(start - 24 * hourMs).toISOString(),
                  availability: 100,
                  responseTime_p95: 10,
                },
              ],
            },
          ],
          names: ['availability', 'responseTime_p95'],
        },
      ]);
      const post = (fields: object, key = service.account.key) =>
        service.call('POST', '/v1/analytics/checks', { body: fields, key });
      expect((await post({ checkIds: [url] })).status).toBe(200);
      expect((await post({ checkIds: [url] }, service.foreign.key)).status).toBe(404);
      expect((await post({ checkIds: [] })).status).toBe(400);
      expect((await post({ checkIds: ['x'] })).status).toBe(400);
      expect((await post({ checkIds: [url], metrics: ['speed'] })).status).toBe(400);
      const list = await service.call<
        { checkType: string; metrics: { name: string }[]; groupBy: string[] }[]
      >('GET', '/v1/analytics/metrics?checkType=API');
      expect(list.body).toHaveLength(1);
      expect(list.body[0]?.groupBy).toEqual(['runLocation', 'statusCode']);
      expect(list.body[0]?.metrics).toContainEqual({
        name: 'firstByte_p95',
        label: 'First byte (95th percentile)',
        unit: 'milliseconds',
        aggregation: 'p95',
      });
    });

    test('invalid queries are refused by field', async () => {
      const { service } = bench;
      const checkId = await create('MULTI_STEP');
      const path = `/v1/analytics/multistep-checks/${checkId}`;
      const refused: [string, string][] = [
        ['', 'metrics'],
        ['?metrics=', 'metrics'],
        ['?metrics=speed', 'metrics.0'],
        ['?metrics=responseTime,responseTime', 'metrics'],
        ['?metrics=responseTime&quickRange=lastYear', 'quickRange'],
        ['?metrics=responseTime&aggregationInterval=0', 'aggregationInterval'],
        ['?metrics=responseTime&aggregationInterval=43201', 'aggregationInterval'],
        ['?metrics=responseTime&filterByStatus=degraded', 'filterByStatus.0'],
        ['?metrics=responseTime&groupBy=statusCode', 'groupBy'],
        ['?metrics=responseTime&limit=101', 'limit'],
        ['?metrics=responseTime&page=0', 'page'],
        ['?metrics=responseTime&from=20&to=10', 'from'],
        ['?metrics=responseTime&to=10', 'to'],
        ['?metrics=responseTime&from=9999999999', 'from'],
        ['?metrics=responseTime&window=1', 'window'],
      ];
      for (const [query, field] of refused) {
        const { status, body } = await service.call('GET', path + query);
        expect([status, Object.keys(body['attributes'] as object)], query).toEqual([400, [field]]);
      }
      const other = await service.call('GET', `/v1/analytics/api-checks/${checkId}?metrics=availability`);
      expect(other.status).toBe(404);
      const foreign = await service.call('GET', `${path}?metrics=availability`, { key: service.foreign.key });
      expect(foreign.status).toBe(404);
      expect((await service.call('GET', '/v1/analytics/url-monitors/x?metrics=availability')).status).toBe(
        404,
      );
    });
  });
});
