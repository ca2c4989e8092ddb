import { describe, expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../../src/durations.ts';
import type { CheckType } from '../../../src/protocol/check-types.ts';
import { metricsOf } from '../../../src/service/analytics/metric-names.ts';
import { serviceCheckTypes } from '../../../src/service/checks/types/table.ts';
import { databases } from '../../helpers/service/database.ts';
import type { Run } from '../../helpers/service/stored-results.ts';
import { filesBench, oldDay, start } from './files-bench.ts';
import { numbersFrom } from './numbers.ts';

/**
 * Every list, report and single result answers the same bytes before and after results move to files. Measured values are
 * multiples of powers of two, whose sums are the same in any order.
 */

const places = ['eu-west-1', 'us-east-1', 'ap-south-1'];

/** Runs every ten minutes for three and a half days, with all that results have: failures, retries, ties, large bodies. */
function runsOf(checkType: CheckType, random: () => number): Run[] {
  const runs: Run[] = [];
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item; // not empty
  for (let at = oldDay; at < start - 3 * minuteMs; at += 10 * minuteMs) {
    const status = pick([
      'passed',
      'passed',
      'passed',
      'failed',
      'degraded',
      'errored',
      'cancelled',
      'missed',
    ] as const);
    const run: Run = {
      at: at + Math.floor(random() * 3) * 1000,
      checkType,
      runLocation: pick(places),
      status,
      responseTime: Math.round(random() * 1e6) / 1024,
      attempts: status === 'failed' ? 2 : 0,
      reason:
        status === 'passed'
          ? null
          : JSON.stringify({ code: 'HTTP_STATUS', owner: 'target', message: `Fehler „${at}“ \\ "1"` }),
      timings:
        random() < 0.1
          ? null
          : { dns: Math.round(random() * 4096) / 4096, connect: 1.5, tls: 1e-7, firstByte: 1e21, total: 12 },
      details: {
        response: {
          status: pick([200, 301, 503]),
          body: random() < 0.05 ? 'ä😀\n'.repeat(12_000) : 'ok',
          n: 1e3,
        },
        daysUntilExpiry: -3,
        tlsVersion: 'TLS1.3',
        pages: [{ webVitals: { LCP: { value: 1200.25 }, CLS: { value: 0.1 } } }],
        tests: [
          {
            title: `test ${pick([1, 2])}`,
            status: pick(['passed', 'failed', 'flaky']),
            durationMs: 12.5,
            retries: 1,
          },
        ],
      },
      assertions: [{ source: 'STATUS_CODE', actual: String(random()), error: null }],
      log: [{ time: at, level: 'info', msg: 'line' }],
      artifacts: [],
    };
    runs.push(run);
    if (status === 'failed')
      runs.push(
        { ...run, resultType: 'ATTEMPT', attempts: 0 },
        { ...run, resultType: 'ATTEMPT', attempts: 1 },
      );
    if (random() < 0.03) runs.push({ ...run, isTest: true });
    // Several at the same moment.
    if (random() < 0.05) for (const runLocation of places) runs.push({ ...run, runLocation });
  }
  return runs;
}

const types = ['API', 'BROWSER', 'PLAYWRIGHT'] as const satisfies CheckType[];

describe.each(databases)('answers over both stores ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = filesBench(database);

    /** Reads a list from its first page to its last; all answers. */
    async function allPages(path: string): Promise<string[]> {
      const answers: string[] = [];
      for (let nextId: string | null = ''; nextId !== null;) {
        const answer = await bench.answer(`${path}${nextId === '' ? '' : `&nextId=${nextId}`}`);
        answers.push(answer);
        const body = JSON.parse(answer.slice(answer.indexOf('{'))) as { nextId: string | null };
        ({ nextId } = body);
      }
      return answers;
    }

    async function answersFor(
      checkId: string,
      checkType: CheckType,
      ids: readonly string[],
    ): Promise<Map<string, string>> {
      const answers = new Map<string, string>();
      const ask = async (path: string) => answers.set(path, await bench.answer(path));
      const v2 = `/v2/check-results/${checkId}?`;
      for (const query of [
        'limit=60&resultType=ALL',
        'limit=37&hasFailures=true&fields=id,status',
        'limit=100&status=missed',
        'limit=50&location=us-east-1&resultType=ATTEMPT',
        `limit=100&from=${oldDay / 1000 + 7200}&to=${oldDay / 1000 + 90_000}`,
        `limit=5&checkType=${checkType}&to=${oldDay / 1000 + 9_000}`,
      ]) {
        for (const [page, answer] of (await allPages(v2 + query)).entries())
          answers.set(`${query} ${page}`, answer);
      }
      for (let from = oldDay; from < start; from += 18 * hourMs) {
        await ask(`/v1/check-results/${checkId}?limit=100&from=${from / 1000}`);
        await ask(`/v1/check-results/${checkId}?limit=5&page=3&resultType=ALL&from=${from / 1000}`);
      }
      for (const id of ids) await ask(`/v1/check-results/${checkId}/${id}`);
      const analytics = `/v1/analytics/${serviceCheckTypes[checkType].analyticsPaths[0]}/${checkId}?`;
      const metrics = [...metricsOf(checkType).values()];
      const aggregated = metrics.filter(({ aggregation }) => aggregation !== 'none').map(({ name }) => name);
      const bare = metrics.filter(({ aggregation }) => aggregation === 'none').map(({ name }) => name);
      const ranges = ['quickRange=last7Days', `from=${oldDay / 1000 + 1234}&to=${oldDay / 1000 + 150_000}`];
      for (const range of ranges) {
        for (let at = 0; at < aggregated.length; at += 100) {
          const names = aggregated.slice(at, at + 100).join(',');
          for (const more of [
            '',
            '&groupBy=runLocation&aggregationInterval=60',
            '&aggregationInterval=7&limit=100&page=2',
          ])
            await ask(`${analytics}${range}&metrics=${names}${more}`);
        }
        if (bare.length > 0) {
          const names = bare.slice(0, 20).join(',');
          await ask(`${analytics}${range}&metrics=${names}&limit=100`);
          await ask(`${analytics}${range}&metrics=${names}&limit=30&page=4&filterByStatus=failure`);
        }
        await ask(`/v1/checks/${checkId}/timeline?${range}`);
        await ask(`/v1/checks/${checkId}/timeline?${range}&groupBy=location`);
        await ask(`/v1/reporting?${range.replace('quickRange', 'presetWindow')}`);
        if (checkType === 'PLAYWRIGHT') {
          await ask(`/v1/checks/${checkId}/suite-runs?limit=100`);
          await ask(`/v1/checks/${checkId}/suite-tests`);
        }
      }
      await ask('/v1/checks?limit=100');
      await ask(`/v1/badges/checks/${checkId}?availability=true&responseTime=true`);
      return answers;
    }

    test.each(types)('of %s checks are the same bytes', { timeout: 180_000 }, async (checkType) => {
      await bench.service.renewAccounts();
      const checkId = await bench.create(checkType);
      const otherId = await bench.create('URL');
      const random = numbersFrom(types.indexOf(checkType) + 1);
      const all = await bench.store(checkId, runsOf(checkType, random));
      await bench.store(otherId, runsOf('URL', random));
      const some = all.filter((_, index) => index % 90 === 0);
      const moveAndCompare = async () => {
        await bench.lookAgain();
        const before = await answersFor(checkId, checkType, some);
        const wrong = [...before].filter(([, answer]) => !answer.startsWith('200 '));
        expect(wrong).toEqual([]);
        const filed = await bench.inFiles(checkId);
        expect(await bench.move()).toBeGreaterThan(100);
        expect(await bench.inFiles(checkId)).toBeGreaterThan(filed);
        const after = await answersFor(checkId, checkType, some);
        for (const [path, answer] of before) expect(after.get(path), path).toBe(answer);
        expect(after.size).toBe(before.size);
      };
      await moveAndCompare();

      // Late results of a day that is in files: some hours are computed again, from files and the table.
      const late = runsOf(checkType, random).filter(({ at }) => at < oldDay + 20 * hourMs);
      await bench.store(checkId, late);
      const analytics = `/v1/analytics/${serviceCheckTypes[checkType].analyticsPaths[0]}/${checkId}?quickRange=last7Days&metrics=availability,responseTime_avg&groupBy=runLocation`;
      const fromResults = await bench.answer(analytics);
      await bench.rollUp();
      expect(await bench.answer(analytics)).toBe(fromResults);
      await moveAndCompare();
    });
  });
});
