import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkTypes, type CheckType } from '../../../src/protocol/check-types.ts';
import { metricsOf } from '../../../src/service/analytics/metric-names.ts';
import { serviceCheckTypes } from '../../../src/service/checks/types/table.ts';
import { createRollupLoop, handleRollups } from '../../../src/service/analytics/rollup-work.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import { addCheck, createClock, silent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { storeRuns, type Run } from '../../helpers/service/stored-results.ts';
import { hourMs } from '../../../src/durations.ts';

type Point = { timestamp: string; [metric: string]: number | string | null };
type Answer = Fields & {
  checkId: string;
  series: { runLocation?: string; statusCode?: number | null; pageIndex?: number | null; data: Point[] }[];
  metadata: { [metric: string]: object };
};

const start = Date.parse('2026-03-05T12:34:56.000Z');
const aggregations = ['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'];

/** What is measured of each type besides availability and retries, as the facts name it. */
const measured: { [T in CheckType]: string[] } = {
  API: ['responseTime', 'wait', 'dns', 'tcp', 'firstByte', 'download'],
  URL: ['responseTime', 'wait', 'dns', 'tcp', 'firstByte', 'download'],
  TCP: ['responseTime', 'total', 'dns', 'connection', 'data'],
  DNS: ['responseTime', 'total'],
  ICMP: ['responseTime', 'packetLoss', 'latencyMin', 'latencyMax', 'latencyAvg', 'latencyStdDev'],
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
/** What results of each type carry, and what is read of it. */
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
    const clock = createClock(start);
    let service: TestService;
    let background: Background;

    beforeAll(async () => {
      const db = await database.open();
      background = createBackground({ db, log: silent });
      handleRollups({ db, background, now: clock.now });
      await background.prepare();
      service = await startTestService(db, { now: clock.now, background });
    });
    afterAll(async () => {
      await service.close();
      await background.stop();
      await database.close();
    });

    const create = (checkType: CheckType, options: { tags?: string[]; activated?: boolean } = {}) =>
      addCheck(service.db, { accountId: service.account.id, checkType, now: start, ...options });
    const store = (checkId: string, checkType: CheckType, runs: readonly Run[]) =>
      storeRuns(
        service.db,
        { accountId: service.account.id, checkId },
        runs.map((run) => ({ checkType, ...run })),
      );
    async function figures(checkType: CheckType, checkId: string, query: string): Promise<Answer> {
      const path = `/v1/analytics/${serviceCheckTypes[checkType].analyticsPaths[0]}/${checkId}?${query}`;
      const { status, body } = await service.call<Answer>('GET', path);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    }
    async function rollUp(): Promise<void> {
      await createRollupLoop({ db: service.db, background, now: clock.now, log: silent }).tick();
      await background.tick();
    }

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
          const merged = Object.assign({}, ...(answer.series[0]?.data ?? [])) as Point;
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

    test('what is asked wrongly is refused by name', async () => {
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

    test('reports over days have the percentiles that the results themselves have', async () => {
      await service.db.query('delete from checks');
      const first = Date.parse('2026-02-20T00:00:00Z');
      // Days with few and many runs, fast, slow and alike: none may hide what the others have.
      const shapes: ((n: number) => number)[] = [
        (n) => 1000 + n,
        (n) => 5 + (n % 7),
        () => 42,
        (n) => (n === 0 ? 90_000 : 3),
        (n) => 20 * 1.05 ** (n % 120),
        () => 0,
      ];
      for (const sizes of [
        [5, 240, 240, 30, 240, 10],
        [240, 10, 5, 240, 0, 0],
        [0, 0, 0, 0, 0, 60],
      ]) {
        const id = await create('URL');
        const runs = sizes.flatMap((size, index) =>
          Array.from({ length: size }, (_, n) => ({
            at: first + index * 24 * hourMs + n * 300_000,
            responseTime: shapes[index]!(n),
          })),
        );
        await store(id, 'URL', runs);
      }
      const answers: unknown[] = [];
      for (let round = 0; round < 2; round++) {
        for (const [from, to] of [
          [0, 6],
          [0.4, 5.3],
          [1, 2],
        ]) {
          const range = `from=${first / 1000 + from! * 86_400}&to=${first / 1000 + to! * 86_400}`;
          const { body } = await service.call<{ aggregate: object }[]>('GET', `/v1/reporting?${range}`);
          answers.push(body.map(({ aggregate }) => aggregate));
        }
        await rollUp();
      }
      expect(
        (await service.db.query('select 1 from report_days d join checks c on c.id = d.check_id')).length,
      ).toBe(11);
      expect(answers.slice(3)).toEqual(answers.slice(0, 3));
    });

    test('reports: all checks over a range', async () => {
      await service.db.query('delete from checks');
      const day = Date.parse('2026-03-04T00:00:00Z');
      const good = await create('URL');
      const bad = await create('API');
      const idle = await create('DNS', { activated: false });
      const heartbeat = await create('HEARTBEAT');
      // Oldest first is the order of the report, and four checks may be of one millisecond.
      for (const [age, id] of [heartbeat, idle, bad, good].entries())
        await service.db.query(
          'update checks set created_at = created_at - make_interval(secs => $2) where id = $1',
          [id, age],
        );
      await service.db.query(`update checks set tags = '{shop,eu}' where id = $1`, [good]);
      await service.db.query(`update checks set tags = '{shop}' where id = $1`, [idle]);
      await store(
        good,
        'URL',
        Array.from({ length: 100 }, (_, index) => ({ at: day + index * 600_000, responseTime: index + 1 })),
      );
      await store(bad, 'API', [
        { at: day, responseTime: 10, status: 'failed' },
        { at: day + 5 * hourMs, responseTime: 20, status: 'degraded' },
        { at: day + 5 * hourMs, responseTime: 1e6, status: 'errored' },
      ]);
      await store(heartbeat, 'HEARTBEAT', [{ at: day, responseTime: 0 }]);
      type Report = {
        checkId: string;
        deactivated: boolean;
        tags: string[];
        aggregate: { [name: string]: number | null };
      };
      const report = async (query: string) => {
        const { status, body } = await service.call<Report[]>('GET', `/v1/reporting?${query}`);
        expect(status, JSON.stringify(body)).toBe(200);
        return body;
      };
      const range = `from=${day / 1000}&to=${day / 1000 + 86_400}`;
      const within = (value: number | null | undefined, exact: number) =>
        expect(Math.abs(Number(value) - exact) / exact).toBeLessThanOrEqual(0.0101);
      for (let round = 0; round < 2; round++) {
        const [first, second, third, fourth] = await report(range);
        expect(first).toMatchObject({
          checkId: good,
          tags: ['shop', 'eu'],
          aggregate: { successRatio: 100, avg: 50.5 },
        });
        within(first?.aggregate['p95'], 95);
        within(first?.aggregate['p99'], 99);
        expect(second).toMatchObject({ checkId: bad, aggregate: { successRatio: 50, avg: 15 } });
        const none = { avg: null, p95: null, p99: null };
        expect(third).toMatchObject({
          checkId: idle,
          deactivated: true,
          aggregate: { ...none, successRatio: null },
        });
        expect(fourth).toMatchObject({ checkId: heartbeat, aggregate: { ...none, successRatio: 100 } });
        await rollUp();
      }
      // Days are made of hours; a part of one is read from hours, and a run that comes late counts at once.
      const days = await service.db.query(
        'select 1 from report_days where day = $1 and check_id = any($2::uuid[])',
        [new Date(day), [good, bad, idle, heartbeat]],
      );
      expect(days).toHaveLength(3);
      const ratio = async (query: string) => (await report(query))[1]?.aggregate['successRatio'];
      const part = `from=${day / 1000 - 86_400 * 20}&to=${day / 1000 + 3 * 3600 + 60}`;
      expect(await ratio(part)).toBe(0);
      await store(bad, 'API', [
        { at: day + hourMs, responseTime: 30 },
        { at: day + 9 * hourMs, responseTime: 40 },
      ]);
      const wide = `from=${day / 1000 - 86_400 * 20}&to=${day / 1000 + 86_400}`;
      for (let round = 0; round < 2; round++) {
        expect(await ratio(part)).toBe(50);
        expect(await ratio(range)).toBe(75);
        expect(await ratio(wide)).toBe(75);
        await rollUp();
      }
      const ids = async (query: string) => (await report(query)).map(({ checkId }) => checkId);
      expect(await ids('filterByTags=shop,other')).toEqual([good, idle]);
      expect(await ids('deactivated=true')).toEqual([idle]);
      expect(await ids('deactivated=false&filterByTags=shop')).toEqual([good]);
      expect(await ids('limit=1&page=2')).toEqual([bad]);
      expect((await report('presetWindow=lastMonth'))[0]?.aggregate['successRatio']).toBeNull();
      expect((await service.call('GET', '/v1/reporting?presetWindow=ever')).status).toBe(400);
      const foreign = await service.call('GET', '/v1/reporting', { key: service.foreign.key });
      expect(foreign.body).toEqual([]);
    });
  });
});
