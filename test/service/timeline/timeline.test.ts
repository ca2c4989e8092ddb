import { describe, expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../src/durations.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { widthOf } from '../../../src/service/timeline/buckets.ts';
import { analyticsBench, start } from '../../helpers/service/analytics-bench.ts';
import { databases } from '../../helpers/service/database.ts';
import type { Run } from '../../helpers/service/stored-results.ts';

/** The timeline of a check: buckets from raw results and rollups, runs, and marks. */

type Bucket = {
  from: string;
  count: number;
  failed: number;
  missed: number;
  phases: { [phase: string]: number };
  figures?: { [name: string]: number };
};
type Timeline = {
  bucketSeconds: number;
  series: { location: string | null; buckets: Bucket[] }[];
  runs: { id: string; location: string; phases: { [phase: string]: number } | null }[] | null;
  percentiles: { p50: number | null; p95: number | null; p99: number | null };
  marks: { at: string; until?: string | null; kind: string; text: string; id: string; project?: string }[];
};

const hour = Math.floor(start / hourMs) * hourMs;

test('buckets are as narrow as the number of points allows, and whole hours where only rollups are left', () => {
  const width = (ms: number, points: number, oldestRaw = 0) =>
    widthOf({ from: new Date(hour - ms), to: new Date(hour) }, points, oldestRaw);
  expect(width(hourMs, 60)).toBe(minuteMs);
  expect(width(hourMs, 60, hour)).toBe(hourMs);
  expect(width(dayMs, 200)).toBe(10 * minuteMs);
  expect(width(30 * dayMs, 600)).toBe(2 * hourMs);
  expect(width(30 * dayMs, 1)).toBeGreaterThanOrEqual(30 * dayMs);
});

describe.each(databases)('the timeline ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = analyticsBench(database);
    const timeline = async (checkId: string, query = ''): Promise<Timeline> => {
      const { status, body } = await bench.service.call<Timeline>(
        'GET',
        `/v1/checks/${checkId}/timeline?${query}`,
      );
      expect([status, status === 200 ? '' : body]).toEqual([200, '']);
      return body;
    };

    test('hours are the same from raw results and from rollups, together and by location', async () => {
      const checkId = await bench.create('URL');
      const timings = { dns: 1, connect: 2, tls: 4, firstByte: 5, download: 6, remainder: 7, total: 25 };
      const runs: Run[] = [];
      for (let back = 20; back >= 0; back--) {
        const at = hour - back * hourMs;
        runs.push({ at, responseTime: 100 + back, timings, attempts: back === 5 ? 2 : 0 });
        runs.push({ at: at + 1, responseTime: 300, runLocation: 'us-east-1', timings });
      }
      runs.push({ at: hour - 5 * hourMs + 2, status: 'failed', responseTime: 5000 });
      runs.push({ at: hour - 5 * hourMs + 3, status: 'errored', responseTime: 9 });
      runs.push({ at: hour - 6 * hourMs, status: 'missed', responseTime: hourMs, details: { count: 3 } });
      const ids = await bench.store(checkId, 'URL', runs);
      const query = 'points=30';
      const raw = [await timeline(checkId, query), await timeline(checkId, `${query}&groupBy=location`)];
      await bench.rollUp();
      const rolledUp = [await timeline(checkId, query), await timeline(checkId, `${query}&groupBy=location`)];
      expect(rolledUp).toEqual(raw);
      const [all, byLocation] = raw;
      expect(all?.bucketSeconds).toBe(3600);
      expect(all?.series[0]?.buckets).toHaveLength(21);
      expect(all?.series[0]?.buckets[15]).toEqual({
        from: new Date(hour - 5 * hourMs).toISOString(),
        count: 4,
        passed: 2,
        degraded: 0,
        failed: 1,
        errored: 1,
        missed: 1,
        retries: 2,
        availability: 66.66,
        p50: expect.closeTo(300, -1),
        p95: expect.closeTo(5000, -2),
        p99: expect.closeTo(5000, -2),
        avg: expect.closeTo(1801.67, 1),
        phases: { wait: 7, dns: 1, tcp: 2, firstByte: 9, download: 6 },
      });
      expect(all?.series[0]?.buckets[14]?.missed).toBe(2);
      expect(byLocation?.series.map(({ location, buckets }) => [location, buckets.length])).toEqual([
        ['eu-west-1', 21],
        ['us-east-1', 21],
      ]);
      expect(all?.runs?.map(({ id }) => id)).toEqual(
        ids.filter((_id, index) => runs[index]?.status !== 'missed').toSorted(),
      );
      expect(all?.runs?.[0]).toMatchObject({ location: 'eu-west-1', phases: timings });
      const minutes = await timeline(checkId, `from=${hour / 1000}&to=${hour / 1000 + 600}&points=10`);
      expect([minutes.bucketSeconds, minutes.series[0]?.buckets.map(({ count }) => count)]).toEqual([
        60,
        [2],
      ]);
    });

    test('percentiles are those of all runs of the range, also when there are too many runs to list', async () => {
      const checkId = await bench.create('URL');
      // The slow hour has a twentieth of the runs, so p95 is fast. The mean of the hours would be 595 ms.
      const runs: Run[] = Array.from({ length: 1_200 }, (_, at) => ({
        at: hour - (1 + (at % 20)) * hourMs + at,
        responseTime: at % 20 === 3 ? 10_000 : 100,
      }));
      await bench.store(checkId, 'URL', runs);
      const near = (value: number) => expect.closeTo(value, value === 100 ? 0 : -2.5);
      for (const query of ['points=30', 'points=200', 'points=30&groupBy=location']) {
        const { runs: listed, percentiles } = await timeline(checkId, query);
        expect(listed).toBe(null);
        expect(percentiles).toEqual({ p50: near(100), p95: near(100), p99: near(10_000) });
      }
      await bench.rollUp();
      const rolledUp = await timeline(checkId, 'points=200');
      expect(rolledUp.percentiles).toEqual({ p50: near(100), p95: near(100), p99: near(10_000) });
      const ofOneHour = `from=${(hour - 4 * hourMs) / 1000}&to=${(hour - 3 * hourMs) / 1000}`;
      const exact = await timeline(checkId, ofOneHour);
      expect(exact.runs).toHaveLength(60);
      expect(exact.percentiles).toEqual({ p50: 10_000, p95: 10_000, p99: 10_000 });
      expect((await timeline(await bench.create('URL'))).percentiles).toEqual({
        p50: null,
        p95: null,
        p99: null,
      });
    });

    test.each([
      ['DNS', { timings: { dns: 1, firstByte: 2, total: 3 } }, { total: 3 }, undefined],
      ['TCP', { timings: { connect: 2, total: 3 } }, { dns: 0, connection: 2, data: 0 }, undefined],
      [
        'ICMP',
        { details: { packetLoss: 25, latency: { min: 1, avg: 2, max: 4, stdDev: 1 } } },
        { latencyMin: 1, latencyAvg: 2, latencyMax: 4 },
        { packetLoss: 25 },
      ],
      [
        'SSL',
        { details: { handshakeTimeMs: 12, daysUntilExpiry: 30 } },
        { handshakeTimeMs: 12 },
        { daysUntilExpiry: 30 },
      ],
      [
        'BROWSER',
        {
          details: {
            pages: [100, 300].map((value) => ({
              webVitals: { LCP: { value }, CLS: { value: value / 1000 } },
            })),
          },
        },
        { LCP: 200 },
        { CLS: 0.2 },
      ],
    ] as const)(
      'shows what %s checks measure, from raw results and from rollups',
      async (type, run, phases, figures) => {
        const checkId = await bench.create(type);
        await bench.store(checkId, type, [{ at: hour - hourMs, ...run }]);
        for (let round = 0; round < 2; round++) {
          const { series } = await timeline(checkId, 'points=30');
          const [bucket] = series[0]?.buckets ?? [];
          expect([bucket?.phases, bucket?.figures]).toEqual([phases, figures]);
          await bench.rollUp();
        }
      },
    );

    test('more than 1,000 runs are buckets only', async () => {
      const checkId = await bench.create('URL');
      const runs = Array.from({ length: 1_001 }, (_, n) => ({ at: hour - hourMs + n }));
      await bench.store(checkId, 'URL', runs);
      const { series, runs: shown } = await timeline(checkId);
      expect([series[0]?.buckets.map(({ count }) => count), shown]).toEqual([[1_001], null]);
    });

    test('deployments that called a trigger, or that wrote the check, are marks', async () => {
      const { db, account } = bench.service;
      const checkId = await bench.create('URL');
      const call = (back: number, variables: { [key: string]: string }, runSource = 'LEGACY_TRIGGER') =>
        db.query(
          `insert into check_sessions (id, account_id, kind, check_id, name, run_source, refresh_cache, environment_variables,
             started_at) values ($1, $2, 'check', $3, 'Check', $4, false, $5, $6)`,
          [
            uuidv7(hour - back * hourMs),
            account.id,
            checkId,
            runSource,
            JSON.stringify(Object.entries(variables).map(([key, value]) => ({ key, value }))),
            new Date(hour - back * hourMs),
          ],
        );
      const shop = {
        DEPLOYMENT: '42',
        REPOSITORY: 'shop',
        SHA: 'a1b2c3d4e5f6',
        ENVIRONMENT_NAME: 'production',
      };
      await call(9, shop);
      await call(8, shop);
      await call(7, {});
      await call(6, { ENVIRONMENT_URL: 'https://preview.example' }, 'GROUP_RUN_ALL');
      await call(40, shop);
      const projectId = uuidv7();
      await db.query(
        `insert into projects (id, account_id, logical_id, name, created_at) values ($1, $2, 'shop', 'Shop', now())`,
        [projectId, account.id],
      );
      await db.query(
        `insert into project_resources (project_id, account_id, type, logical_id, physical_id, is_protected, is_detached,
           payload, state) values ($1, $2, 'check', 'home', $3, false, false, '', '{}')`,
        [projectId, account.id, checkId],
      );
      for (const [back, status] of [
        [5, 'SUCCEEDED'],
        [4, 'FAILED'],
      ] as const)
        await db.query(
          `insert into project_deployments (id, account_id, logical_id, status, progress, created_at, ended_at, runner,
             leased_until) values ($1, $2, 'shop', $3, 100, $4, $4, $1, $4)`,
          [uuidv7(), account.id, status, new Date(hour - back * hourMs)],
        );
      const { marks } = await timeline(checkId);
      const at = (back: number) => new Date(hour - back * hourMs).toISOString();
      expect(marks.map(({ kind, text, at: moment }) => [kind, text, moment])).toEqual([
        ['deployment', 'Deployment 42 of shop (a1b2c3d) to production', at(9)],
        ['deployment', 'Deployment to https://preview.example', at(6)],
        ['deployment', 'Project Shop was deployed', at(5)],
      ]);
      expect(marks.map(({ project }) => project)).toEqual([undefined, undefined, 'shop']);
    });

    test('alerts, incidents and maintenance are marks; another account sees nothing', async () => {
      const { db, account, call } = bench.service;
      const checkId = await bench.create('URL');
      const alert = (alertType: string, back: number) =>
        db.query(
          `insert into alerts (id, account_id, check_id, check_name, check_type, tags, alert_type, error, started_at, created_at)
           values ($1, $2, $3, 'Check', 'URL', '{}', $4, $5, $6, $6)`,
          [
            uuidv7(),
            account.id,
            checkId,
            alertType,
            back === 3 ? 'No answer' : null,
            new Date(hour - back * hourMs),
          ],
        );
      await alert('ALERT_FAILURE', 3);
      await alert('ALERT_RECOVERY', 2);
      await alert('ALERT_FAILURE', 40);
      await db.query(
        `insert into status_page_incidents (id, account_id, name, severity, started_at, last_update_status, followed_check_id, created_at)
         values ($1, $2, 'Shop is down', 'MAJOR', $3, 'INVESTIGATING', $4, $3)`,
        [uuidv7(), account.id, new Date(hour - 2.5 * hourMs), checkId],
      );
      const { status } = await call('POST', '/v1/maintenance-windows', {
        body: {
          name: 'Upgrade',
          startsAt: new Date(hour - hourMs).toISOString(),
          endsAt: new Date(hour + hourMs).toISOString(),
          timezone: 'UTC',
          pauseAllChecks: true,
        },
      });
      expect(status).toBe(201);
      const { marks } = await timeline(checkId);
      expect(marks.map(({ kind, text, until }) => [kind, text, until])).toEqual([
        ['alert', 'Failure: No answer', undefined],
        ['incident', 'Shop is down', null],
        ['recovery', 'Recovery', undefined],
        ['maintenance', 'Upgrade', new Date(hour + hourMs).toISOString()],
      ]);
      const foreign = await call('GET', `/v1/checks/${checkId}/timeline`, { key: bench.service.foreign.key });
      expect(foreign.status).toBe(404);
    });
  });
});
