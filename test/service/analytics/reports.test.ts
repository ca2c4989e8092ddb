import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/durations.ts';
import { analyticsBench } from '../../helpers/service/analytics-bench.ts';
import { databases } from '../../helpers/service/database.ts';

/** Reports over all checks, from raw results and from rollups. */

describe.each(databases)('reports ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = analyticsBench(database);
    const { create, store, rollUp } = bench;

    test('reports over days have the percentiles that the results themselves have', async () => {
      const { service } = bench;
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

    test('availability by day comes from days and hours, and can be of one tag', async () => {
      const { service } = bench;
      await service.db.query('delete from checks');
      const day = Date.parse('2026-03-02T00:00:00Z');
      const [shop, other] = [await create('URL'), await create('URL')];
      await service.db.query(`update checks set tags = '{shop}' where id = $1`, [shop]);
      await store(shop, 'URL', [
        { at: day },
        { at: day + hourMs, status: 'failed' },
        { at: day + 2 * hourMs, status: 'errored' },
        { at: day + 30 * hourMs, status: 'degraded' },
        { at: day + 60 * hourMs },
      ]);
      await store(other, 'URL', [{ at: day + 23 * hourMs }]);
      await rollUp();
      const range = `from=${day / 1000 + 5}&to=${day / 1000 + 4 * 86_400 - 5}`;
      const days = async (query: string) => (await service.call('GET', `/v1/report-days?${query}`)).body;
      const whole = { failed: 0, availability: 100 };
      expect(await days(range)).toEqual([
        { day: '2026-03-02', runs: 3, failed: 1, availability: 66.66 },
        { ...whole, day: '2026-03-03', runs: 1 },
        { ...whole, day: '2026-03-04', runs: 1 },
      ]);
      expect(await days(`${range}&filterByTags=shop`)).toMatchObject([{ runs: 2, availability: 50 }, {}, {}]);
      expect(await days('filterByTags=none')).toEqual([]);
      expect((await service.call('GET', '/v1/report-days', { key: service.foreign.key })).body).toEqual([]);
      expect(await service.call('GET', `/v1/report-days?from=0&to=${93 * 86_400}`)).toMatchObject({
        status: 400,
        body: { attributes: { to: [expect.any(String)] } },
      });
    });

    test('reports: all checks over a range', async () => {
      const { service } = bench;
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
      // Days are built from hours; a part of a day is read from hours, and a late run counts at once.
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
