import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { historyOf } from '../../../src/service/results/suite-history.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { addCheck } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** The history of each test of a suite. */

const now = Date.parse('2026-03-05T12:00:00.000Z');
const hour = 3_600_000;

describe('the history of tests', () => {
  const row = (run: number, fields: object) => ({
    resultId: `run ${run}`,
    startedAt: new Date(now - run * hour),
    test: { title: 'buys a lamp', status: 'passed', durationMs: 10, ...fields },
  });
  const flaky = (statuses: readonly string[]) =>
    historyOf(statuses.map((status, run) => row(run, { status })))[0]?.flaky;

  test('a test is flaky if it passed after a retry, or changed twice', () => {
    expect(flaky(['passed', 'passed', 'passed'])).toBe(false);
    expect(flaky(['failed', 'failed', 'passed'])).toBe(false);
    expect(flaky(['passed', 'failed', 'passed'])).toBe(true);
    expect(flaky(['passed', 'skipped', 'passed', 'skipped'])).toBe(false);
    expect(historyOf([row(0, { status: 'flaky', retries: 1 })])[0]).toMatchObject({ flaky: true });
    expect(historyOf([row(0, { status: 'failed', retries: 2 })])[0]).toMatchObject({ flaky: false });
  });

  test('tests belong together by project and path, and those that fail now come first', () => {
    const path = { project: 'chromium', titlePath: ['cart.spec.ts', 'cart', 'buys'] };
    const histories = historyOf([
      row(0, path),
      row(0, { ...path, project: 'webkit', status: 'timedOut' }),
      row(1, path),
    ]);
    expect(histories.map(({ title, runs }) => [title, runs.map(({ status }) => status)])).toEqual([
      ['[webkit] cart.spec.ts › cart › buys', ['failed']],
      ['[chromium] cart.spec.ts › cart › buys', ['passed', 'passed']],
    ]);
  });

  test('nothing in a report is trusted', () => {
    const [history] = historyOf([
      row(0, { title: { a: 1 }, titlePath: 'x', project: 7, durationMs: 'long', retries: -1, status: null }),
      row(1, { title: 'x'.repeat(9000) }),
    ]);
    expect(history).toMatchObject({ title: '', runs: [{ status: 'failed', durationMs: 0, retries: 0 }] });
    expect(historyOf([row(0, { title: 'x'.repeat(9000) })])[0]?.title).toHaveLength(501);
  });
});

describe.each(databases)('tests of suites ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    let db: Db;
    let api: TestService;
    let id: string;
    const suite = (status: string, at: number, isTest = false) => ({
      at,
      isTest,
      checkType: 'PLAYWRIGHT' as const,
      details: {
        tests: [{ title: 'buys', status, durationMs: 5, retries: 0, secretField: 'x' }, 'nonsense', null],
      },
    });
    beforeAll(async () => {
      db = await database.open();
      api = await startTestService(db, { now: () => now });
      id = await addCheck(db, { accountId: api.account.id, checkType: 'PLAYWRIGHT', now });
      await storeRuns(db, { accountId: api.account.id, checkId: id }, [
        suite('passed', now - 50 * hour),
        suite('failed', now - 2 * hour),
        suite('passed', now - hour),
        suite('failed', now - hour / 2, true),
        { at: now - 3 * hour, checkType: 'PLAYWRIGHT', status: 'errored', details: { tests: 'none' } },
      ]);
    });
    afterAll(async () => {
      await api.close();
      await database.close();
    });
    type Answer = {
      tests: { title: string; flaky: boolean; runs: { status: string }[] }[];
      isPartial: boolean;
    };
    const tests = async (query = '') => {
      const { body } = await api.call<Answer>('GET', `/v1/checks/${id}/suite-tests${query}`);
      return body.tests.map(({ title, flaky, runs }) => [title, flaky, runs.map(({ status }) => status)]);
    };

    test('the runs of the account are read, without test sessions and reports that are malformed', async () => {
      expect(await tests()).toEqual([['buys', true, ['passed', 'failed', 'passed']]]);
      expect(await tests('?limit=1')).toEqual([['buys', false, ['passed']]]);
      expect(await tests('?title=sells')).toEqual([]);
      expect(await tests('?title=buys')).toHaveLength(1);
    });

    test('a range limits tests and runs', async () => {
      const range = `?from=${(now - 24 * hour) / 1000}&to=${(now - 1.5 * hour) / 1000}`;
      expect(await tests(range)).toEqual([['buys', false, ['failed']]]);
      const { body } = await api.call<{ runs: object[] }>('GET', `/v1/checks/${id}/suite-runs${range}`);
      expect(body.runs).toHaveLength(2);
      expect((await api.call('GET', `/v1/checks/${id}/suite-tests?from=5&to=5`)).status).toBe(400);
    });

    test('another account sees nothing', async () => {
      const { foreign } = api;
      const path = `/v1/checks/${id}/suite-tests`;
      expect((await api.call('GET', path, { key: foreign.key })).status).toBe(404);
      expect((await api.call('GET', '/v1/checks/nonsense/suite-tests')).status).toBe(404);
    });
  });
});
