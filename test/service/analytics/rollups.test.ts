import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { bucketSql } from '../../../src/service/engine/histogram.ts';
import { createRollupLoop, handleRollups } from '../../../src/service/analytics/rollup-work.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { dropRollupPartitions } from '../../../src/service/analytics/rollup-statements.ts';
import { createClock, silent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns, type Run } from '../../helpers/service/stored-results.ts';
import { minimalBody } from '../checks/check-bodies.ts';
import { hourMs } from '../../../src/durations.ts';

type Answer = {
  from: string;
  to: string;
  series: { runLocation?: string; data: { timestamp: string; [metric: string]: number | string | null }[] }[];
  metadata: object;
};

const start = '2026-03-05T12:34:56.000Z';
const minute = 60_000;

/** Numbers from 0 to 1 that come out alike each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe.each(databases)('rollups ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const clock = createClock(start);
    let replicas: Db[];
    let service: TestService;
    let backgrounds: Background[];

    beforeAll(async () => {
      replicas = await database.openReplicas(2);
      backgrounds = replicas.map((db) => createBackground({ db, log: silent }));
      for (const [index, background] of backgrounds.entries()) {
        handleRollups({ db: replicas[index]!, background, now: clock.now, log: silent });
        await background.prepare();
      }
      service = await startTestService(replicas[0]!, { now: clock.now, background: backgrounds[0]! });
    });
    afterEach(() => {
      clock.set(start);
    });
    afterAll(async () => {
      await service.close();
      for (const background of backgrounds) await background.stop();
      await database.close();
    });

    async function createCheck(type = 'URL'): Promise<string> {
      const { body } = await service.call<{ id: string }>('POST', `/v1/checks/${type.toLowerCase()}`, {
        body: minimalBody(type as 'URL'),
      });
      return body.id;
    }
    const store = (checkId: string, runs: readonly Run[]) =>
      storeRuns(service.db, { accountId: service.account.id, checkId }, runs);
    const figures = async (checkId: string, query: string, path = 'url-checks') => {
      const { status, body } = await service.call<Answer>('GET', `/v1/analytics/${path}/${checkId}?${query}`);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    async function rollUp(): Promise<void> {
      const [background] = backgrounds;
      await createRollupLoop({ db: service.db, background: background!, now: clock.now, log: silent }).tick();
      await background!.tick();
    }
    // Except the current hour and the one before.
    const due = async () =>
      (await service.db.query(`select 1 from rollups_due where hour < '2026-03-05T11:00:00Z'`)).length;

    test('a bucket has values that differ by 2 % at most', async () => {
      const bucketOf = async (value: number) => {
        const [row] = await service.db.query<{ key: number }>(`select ${bucketSql('$1::float8')} as key`, [
          value,
        ]);
        return row?.key ?? NaN;
      };
      expect(await bucketOf(0)).toBe(-32_768);
      expect(await bucketOf(1)).toBe(0);
      for (const value of [1e-6, 0.3, 1, 17, 12_345, 1e11]) {
        const key = await bucketOf(value);
        expect((await bucketOf(value * 1.0203)) - key).toBeGreaterThanOrEqual(1);
        expect((await bucketOf(value * 1.019)) - key).toBeLessThanOrEqual(1);
      }
    });

    test('figures of rollups are those of the raw results, percentiles within 1 %', async () => {
      const random = seeded(7);
      const checkId = await createCheck();
      const end = Date.parse(start);
      const runs: Run[] = Array.from({ length: 900 }, (_, index) => ({
        at: end - (index + 1) * 2 * minute,
        runLocation: random() < 0.4 ? 'us-east-1' : 'eu-west-1',
        status: random() < 0.1 ? 'failed' : random() < 0.1 ? 'degraded' : 'passed',
        // From a tenth of a millisecond to minutes, and zero.
        responseTime: random() < 0.01 ? 0 : 10 ** (random() * 6 - 1),
        attempts: random() < 0.2 ? 1 : 0,
      }));
      await store(checkId, runs);
      const query =
        'quickRange=last30Days&metrics=availability,retries,responseTime_avg,responseTime_max,responseTime_median,' +
        'responseTime_min,responseTime_p50,responseTime_p90,responseTime_p95,responseTime_p99,responseTime_stddev,responseTime_sum';
      const before = await figures(checkId, query);
      await rollUp();
      expect(await due()).toBe(0);
      const [rows] = await service.db.query<{ count: number }>(
        'select count(*) as count from check_rollups where check_id = $1',
        [checkId],
      );
      expect(rows?.count).toBeGreaterThan(50);
      const after = await figures(checkId, query);
      expect(after.series).toHaveLength(1);
      expect(after.series[0]?.data).toHaveLength(1);
      for (const answer of [before, after]) {
        const point = answer.series[0]?.data[0] ?? { timestamp: '' };
        const times = runs.map(({ responseTime = 0 }) => responseTime).sort((a, b) => a - b);
        const sum = times.reduce((total, time) => total + time, 0);
        const mean = sum / times.length;
        const up = runs.filter(({ status }) => status !== 'failed').length;
        expect(point['availability']).toBeCloseTo((up / runs.length) * 100, 3);
        expect(point['retries']).toBe(runs.filter(({ attempts }) => attempts === 1).length);
        expect(point['responseTime_min']).toBe(0);
        expect(point['responseTime_max']).toBeCloseTo(times.at(-1) ?? 0, 3);
        expect(Number(point['responseTime_sum']) / sum).toBeCloseTo(1, 6);
        expect(Number(point['responseTime_avg']) / mean).toBeCloseTo(1, 6);
        const variance = times.reduce((total, time) => total + (time - mean) ** 2, 0) / times.length;
        expect(Number(point['responseTime_stddev']) / Math.sqrt(variance)).toBeCloseTo(1, 6);
        for (const [name, share] of [
          ['median', 0.5],
          ['p50', 0.5],
          ['p90', 0.9],
          ['p95', 0.95],
          ['p99', 0.99],
        ] as const) {
          const exact = times[Math.ceil(share * times.length) - 1] ?? 0;
          expect(Math.abs(Number(point[`responseTime_${name}`]) - exact) / exact, name).toBeLessThanOrEqual(
            0.0101,
          );
        }
      }
      // By location and by hour, from either source.
      const grouped = `${query}&groupBy=runLocation&aggregationInterval=60&limit=100`;
      const hourly = await figures(checkId, grouped);
      await service.db.query(
        'insert into rollups_due (hour, check_id) select distinct hour, check_id from check_rollups',
      );
      expect((await figures(checkId, grouped)).series).toEqual(hourly.series);
      expect(hourly.series.map(({ runLocation }) => runLocation)).toEqual(['eu-west-1', 'us-east-1']);
      await rollUp();
    }, 60_000);

    test('a late run is in the figures at once, and the rollup is created again', async () => {
      const checkId = await createCheck();
      const hour = Date.parse('2026-03-05T08:00:00Z');
      const at = (minutes: number) => hour + minutes * minute;
      await store(checkId, [
        { at: at(0), responseTime: 100 },
        { at: at(59), responseTime: 300 },
      ]);
      await rollUp();
      const query = `metrics=responseTime_sum,availability&from=${hour / 1000}&to=${hour / 1000 + 3600}`;
      const data = async () => (await figures(checkId, query)).series[0]?.data;
      const timestamp = new Date(hour).toISOString();
      expect(await data()).toEqual([{ timestamp, responseTime_sum: 400, availability: 100 }]);
      await store(checkId, [{ at: at(30), responseTime: 50, status: 'failed' }]);
      const withLate = [{ timestamp, responseTime_sum: 450, availability: 66.6667 }];
      expect(await data()).toEqual(withLate);
      await rollUp();
      expect(await due()).toBe(0);
      expect(await data()).toEqual(withLate);
      // Twice is no more than once.
      await service.db.query('insert into rollups_due (hour, check_id) values ($1, $2)', [
        new Date(hour),
        checkId,
      ]);
      await rollUp();
      expect(await data()).toEqual(withLate);
    });

    test('two replicas that roll up at the same time count nothing twice', async () => {
      const checkIds = [];
      const hour = Date.parse('2026-03-04T00:00:00Z');
      for (let index = 0; index < 25; index++) {
        const checkId = await createCheck();
        checkIds.push(checkId);
        await store(
          checkId,
          Array.from({ length: 5 }, (_, run) => ({ at: hour + run * hourMs, responseTime: 10 })),
        );
      }
      await Promise.all(
        replicas.map((db, index) =>
          createRollupLoop({ db, background: backgrounds[index]!, now: clock.now, log: silent }).tick(),
        ),
      );
      await backgrounds[0]!.send(service.db, 'rollups', {}, { key: 'another' });
      await Promise.all(backgrounds.map((background) => background.tick()));
      await rollUp();
      expect(await due()).toBe(0);
      const rows = await service.db.query<{ count: number }>(
        `select sum(count) as count from check_rollups where metric = 'retries' and check_id = any($1::uuid[]) group by check_id`,
        [checkIds],
      );
      expect(rows).toEqual(Array(25).fill({ count: 5 }));
    });

    test('attempts, tests, missed, cancelled and errored runs do not count', async () => {
      const checkId = await createCheck();
      const at = Date.parse('2026-03-05T06:00:00Z');
      await store(checkId, [
        { at, responseTime: 10 },
        { at: at + 1, responseTime: 20, status: 'degraded' },
        { at: at + 2, responseTime: 30, status: 'failed' },
        { at: at + 3, responseTime: 1e6, status: 'errored' },
        { at: at + 4, responseTime: 1e6, status: 'cancelled' },
        { at: at + 5, responseTime: 1e6, status: 'missed' },
        { at: at + 6, responseTime: 1e6, resultType: 'ATTEMPT', status: 'failed' },
        { at: at + 7, responseTime: 1e6, isTest: true },
      ]);
      const one = async (query: string) =>
        (await figures(checkId, `metrics=availability,responseTime_sum&${query}`)).series[0]?.data[0];
      for (let round = 0; round < 2; round++) {
        expect(await one('')).toMatchObject({ availability: 66.6667, responseTime_sum: 60 });
        expect(await one('filterByStatus=success')).toMatchObject({
          availability: 100,
          responseTime_sum: 30,
        });
        expect(await one('filterByStatus=failure')).toMatchObject({ availability: 0, responseTime_sum: 30 });
        expect(await one('filterByStatus=failure,success')).toMatchObject({ responseTime_sum: 60 });
        const raw = await figures(checkId, 'metrics=responseTime');
        expect(raw.series[0]?.data.map((point) => point['responseTime'])).toEqual([10, 20, 30]);
        await rollUp();
      }
    });

    test('old months are dropped completely', async () => {
      const months = async () =>
        (
          await service.db.query<{ name: string }>(
            `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'check_rollups'::regclass order by 1`,
          )
        ).map(({ name }) => name);
      const checkId = await createCheck();
      clock.set('2026-04-02T00:00:00Z');
      await store(checkId, [
        { at: Date.parse('2026-03-31T23:59:59.999Z') },
        { at: Date.parse('2026-04-01T00:00:00Z') },
      ]);
      await rollUp();
      expect(await months()).toEqual(
        expect.arrayContaining(['check_rollups_202603', 'check_rollups_202604']),
      );
      expect(await dropRollupPartitions(service.db, new Date('2026-04-01T00:00:00Z'))).toContain(
        'check_rollups_202603',
      );
      expect(await months()).toEqual(['check_rollups_202604']);
    });
  });
});
