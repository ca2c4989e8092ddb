import { describe, expect, test } from 'vitest';
import { dayMs } from '../../../src/durations.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { databases } from '../../helpers/service/database.ts';
import { filesBench, minutes } from './files-bench.ts';

/** The space of moved results goes back to the disk, and answers need not wait for it. */

describe.each(databases)('the space of moved results ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', { timeout: 60_000 }, () => {
    const bench = filesBench(database);
    const table = 'check_results_20260312';
    const sizeOfTable = async () => {
      const [row] = await bench.plain.query<{ bytes: number }>(
        `select pg_table_size('${table}')::float8 as bytes`,
      );
      return row?.bytes ?? 0;
    };

    /** The database, and what is done to the table of the day. */
    function watched(cancels: boolean): { db: Db; done: string[] } {
      const done: string[] = [];
      const watch = (db: Db): Db => ({
        ...db,
        exec: async (sql) => {
          if (cancels && sql.startsWith('vacuum'))
            throw Object.assign(new Error('canceling statement'), { code: '57014' });
          await db.exec(sql);
          done.push(sql.replace(/ using .*/, ''));
        },
        query: async <Row>(sql: string, params?: readonly unknown[]) => {
          if (sql.includes('statement_timeout')) done.push('limits');
          return db.query<Row>(sql, params);
        },
        tx: (fn) => db.tx((tx) => fn(watch(tx))),
      });
      return { db: watch(bench.plain), done };
    }

    test('is given back after a vacuum, and for a limited time', async () => {
      const checkId = await bench.create('URL');
      await bench.store(
        checkId,
        minutes(900).map((run) => ({ ...run, details: { text: 'x'.repeat(900) } })),
      );
      const before = await sizeOfTable();
      const first = watched(true);
      expect(await bench.move({ db: first.db })).toBe(900);
      expect(first.done).toEqual([]);
      expect(await sizeOfTable()).toBe(before);
      // The next look has nothing to move, and tries again.
      bench.clock.advance(dayMs + 1_000);
      const second = watched(false);
      expect(await bench.move({ db: second.db })).toBe(0);
      expect(second.done).toEqual([`vacuum (truncate false) ${table}`, 'limits', `cluster ${table}`]);
      expect(await sizeOfTable()).toBeLessThan(before / 4);
      bench.clock.advance(dayMs + 1_000);
      const third = watched(false);
      expect(await bench.move({ db: third.db })).toBe(0);
      expect(third.done).toEqual([]);
    });
  });
});
