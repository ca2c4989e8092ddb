import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import type { CheckShare } from '../../../src/service/result-files/move-statements.ts';
import { portionsOf } from '../../../src/service/result-files/moving-results.ts';
import { groupStarts } from '../../../src/service/result-files/write-parquet.ts';
import { databases } from '../../helpers/service/database.ts';
import { filesBench, minutes, oldDay } from './files-bench.ts';

/** Days with more results than fit into memory, or into one statement, move in parts. */

const mega = 1024 * 1024;

/** The database, with something done before and after each statement outside transactions. */
const watched = (
  db: Db,
  {
    before,
    after,
  }: {
    before?: (sql: string, params: readonly unknown[]) => void;
    after?: (rows: readonly unknown[]) => void;
  },
): Db => ({
  ...db,
  query: async <Row>(sql: string, params: readonly unknown[] = []) => {
    before?.(sql, params);
    const rows = await db.query<Row>(sql, params);
    after?.(rows);
    return rows;
  },
});

describe.each(databases)('large moves ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', { timeout: 120_000 }, () => {
    const bench = filesBench(database);

    test('results that share a large body are read a few at a time, into one file', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('API');
      const body = 'x'.repeat(200_000);
      const details = { response: { status: 200, body } };
      const [resultId = ''] = await bench.store(
        checkId,
        minutes(120).map((run, index) => ({ ...run, checkType: 'API', timings: { total: index } })),
      );
      const base = uuidv7(oldDay);
      await bench.plain.query(`insert into result_bases (id, started_at, body) values ($1, $2, $3)`, [
        base,
        new Date(oldDay),
        JSON.stringify({ assertions: [], timings: null, details, artifacts: [], log: [] }),
      ]);
      await bench.plain.query(
        `update check_results set base_id = $2, body = jsonb_build_object('timings', body->'timings') where check_id = $1`,
        [checkId, base],
      );
      const one = () => bench.answer(`/v1/check-results/${checkId}/${resultId}`);
      const before = await one();
      const lengths: number[] = [];
      const db = watched(bench.plain, { after: (rows) => lengths.push(JSON.stringify(rows).length) });
      expect(await bench.move({ db })).toBe(120);
      expect(Math.max(...lengths)).toBeLessThan(10 * mega);
      expect(lengths.filter((length) => length > mega).length).toBeGreaterThan(2);
      expect(await bench.inTable(checkId)).toBe(0);
      expect(await bench.inFiles(checkId)).toBe(120);
      expect(await bench.filePaths()).toHaveLength(1);
      await bench.plain.query('delete from result_bases');
      expect(before).toContain(body);
      expect((await one()) === before).toBe(true);
    });

    test.each([
      ['compresses well', 'x'.repeat(200_000), false],
      ['does not compress', randomBytes(100_000).toString('base64'), true],
    ])('a list shows the same of results that share a body that %s', async (_name, body, isPartial) => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('API');
      const run = { checkType: 'API', details: { response: { status: 200, body } } } as const;
      // The first one of a day is whole.
      await bench.store(checkId, [
        { ...run, at: oldDay },
        ...minutes(120, oldDay + 60_000).map((other) => ({ ...other, ...run, details: {} })),
      ]);
      const base = uuidv7(oldDay);
      await bench.plain.query(
        'insert into result_bases (id, started_at, body) select $1, started_at, body from check_results where check_id = $2 and started_at = $3',
        [base, checkId, new Date(oldDay)],
      );
      await bench.plain.query(
        `update check_results set base_id = $2, body = jsonb_build_object('log', jsonb_build_array(id))
         where check_id = $1 and started_at > $3`,
        [checkId, base, new Date(oldDay)],
      );
      const list = () => bench.answer(`/v2/check-results/${checkId}?limit=10&to=${oldDay / 1000 + 300}`);
      const before = await list();
      expect(before.split(`"isPartial":${isPartial}`)).toHaveLength(7);
      expect(before).not.toContain(`"isPartial":${!isPartial}`);
      expect(await bench.move()).toBe(121);
      expect((await list()) === before).toBe(true);
    });

    test('a day that is too large for one statement is counted in parts', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkIds: string[] = [];
      for (let n = 0; n < 8; n++) checkIds.push(await bench.create('URL'));
      for (const checkId of checkIds) await bench.store(checkId, minutes(20));
      const cancelled = Object.assign(new Error('too long'), { code: '57014' });
      const db = watched(bench.plain, {
        before: (sql, params) => {
          if (!sql.includes('sum(pg_column_size')) return;
          const list: unknown = params[3];
          if (!Array.isArray(list) || list.length > 3) throw cancelled;
        },
      });
      expect(await bench.move({ db })).toBe(160);
      for (const checkId of checkIds) expect(await bench.inTable(checkId)).toBe(0);
    });
  });
});

test('accounts with few results have no portion, wherever their checks are', async () => {
  async function* shares(): AsyncGenerator<CheckShare> {
    for (const [accountId, checkId, rows, bytes] of [
      ['a', '1', 60, 9],
      ['a', '2', 30, 1],
      ['b', '3', 60, 9],
      ['b', '4', 30, 9],
      ['b', '5', 20, 1],
      ['b', '6', 900, 90],
      ['c', '7', 99, 1],
    ] as const)
      yield { accountId, checkId, rows, bytes };
  }
  const portions = [];
  for await (const { accountId, checkIds } of portionsOf(shares(), { mostRows: 500, mostBytes: 10 }))
    portions.push([accountId, ...checkIds]);
  expect(portions).toEqual([
    ['b', '3'],
    ['b', '4', '5'],
    ['b', '6'],
  ]);
});

test('rows of a check are in one group if their texts fit', () => {
  const rows = ['a', 'a', 'b', 'b', 'b', 'c'].map((id) => ({ check_id: id }));
  expect(groupStarts(rows, [1, 1, 1, 1, 1, 1])).toEqual([0]);
  expect(groupStarts(rows, [mega, mega, mega, mega, mega, mega])).toEqual([0, 2]);
  expect(
    groupStarts(
      rows,
      [3, 3, 3, 9, 3, 3].map((length) => length * mega),
    ),
  ).toEqual([0, 1, 2, 3, 4, 5]);
});
