import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/durations.ts';
import { analyticsBench } from '../../helpers/service/analytics-bench.ts';
import { databases } from '../../helpers/service/database.ts';

/** Of a long range, only the beginning is read if it has enough intervals; answers are those of the whole range. */

describe.each(databases)('pages of intervals ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', { timeout: 60_000 }, () => {
    const { create, store, figures, rollUp } = analyticsBench(database);

    test('pages of a range with long gaps have the intervals of the whole range', async () => {
      const checkId = await create('API');
      const day = Date.parse('2026-03-02T00:00:00Z');
      const hours = [0.1, 0.6, 20, 20.5, 21, 22.2, 47, 60.9, 61, 70];
      await store(
        checkId,
        'API',
        hours.map((hour, n) => ({
          at: day + hour * hourMs,
          responseTime: 2 ** n,
          runLocation: n % 2 === 0 ? 'eu-west-1' : 'us-east-1',
        })),
      );
      const range = `from=${day / 1000 + 60}&to=${day / 1000 + 3 * 86_400}`;
      for (let round = 0; round < 2; round++) {
        for (const minutes of [7, 60, 120]) {
          for (const metrics of ['availability,responseTime_sum', 'responseTime_p50&groupBy=runLocation']) {
            const query = `${range}&metrics=${metrics}&aggregationInterval=${minutes}`;
            const whole = await figures('API', checkId, `${query}&limit=100`);
            const all = whole.series.flatMap(({ data }) => data);
            expect(all.length).toBeGreaterThanOrEqual(6);
            const paged = [];
            for (let page = 1; page <= 4; page++) {
              const { series } = await figures('API', checkId, `${query}&limit=3&page=${page}`);
              expect(new Set(series.flatMap(({ data }) => data.map(({ timestamp }) => timestamp))).size).toBe(
                Math.max(
                  0,
                  Math.min(3, new Set(all.map(({ timestamp }) => timestamp)).size - 3 * (page - 1)),
                ),
              );
              paged.push(...series.flatMap(({ data }) => data));
            }
            const byTime = (points: typeof all) => points.map((point) => JSON.stringify(point)).sort();
            expect(byTime(paged)).toEqual(byTime(all));
          }
        }
        await rollUp();
      }
    });
  });
});
