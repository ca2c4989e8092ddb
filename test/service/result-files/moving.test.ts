import { describe, expect, test } from 'vitest';
import { dayMs, hourMs } from '../../../src/durations.ts';
import type { NamedFiles } from '../../../src/service/artifacts/named-files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { cleanResultFiles, sweepResultFiles } from '../../../src/service/result-files/clean-up.ts';
import { silent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { filesBench, minutes, oldDay, start } from './files-bench.ts';
import { stores } from './stores.ts';

/** Results move to files as a whole or not at all, and deletions reach the files. */

const places = stores.flatMap((store) => databases.map((database) => ({ database, store })));

describe.each(places)('moving results to files ($database.name, $store.name)', ({ database, store }) => {
  describe.skipIf(database.unavailable)('with a database', { timeout: 120_000 }, () => {
    const bench = filesBench(database, store);
    const listed = async (checkId: string) => {
      const answer = await bench.answer(`/v2/check-results/${checkId}?limit=100`);
      return { status: Number(answer.slice(0, 3)), text: answer };
    };

    test('only whole days that are old enough move, and the newest result of a check stays', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('URL');
      const [first = ''] = await bench.store(checkId, minutes(150));
      await bench.store(checkId, minutes(120, oldDay + 3 * dayMs));
      await bench.plain.query(
        `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_check_run_id, last_started_at)
         values ($1, $2, 'passed', false, false, false, $3, $4)`,
        [checkId, bench.service.account.id, first, new Date(oldDay)],
      );
      expect(await bench.move()).toBe(149);
      expect(await bench.inTable(checkId)).toBe(121);
      expect(await bench.inFiles(checkId)).toBe(149);
      // A day is looked at once a day.
      expect(await bench.move()).toBe(0);
    });

    test('results that share a base with others move as a whole', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('URL');
      const details = {
        request: { url: 'https://shop.example/' },
        response: { status: 200, body: 'x'.repeat(500) },
      };
      await bench.store(
        checkId,
        minutes(120).map((run, index) => ({ ...run, details, timings: { total: index } })),
      );
      const before = await listed(checkId);
      const base = uuidv7(oldDay);
      await bench.plain.query(
        `insert into result_bases (id, started_at, body) select $2, $3, body from check_results
         where check_id = $1 order by started_at limit 1`,
        [checkId, base, new Date(oldDay)],
      );
      await bench.plain.query(
        `update check_results set base_id = $2, body = jsonb_build_object('timings', body->'timings') where check_id = $1`,
        [checkId, base],
      );
      expect(await listed(checkId)).toEqual(before);
      expect(await bench.move()).toBe(120);
      await bench.plain.query('delete from result_bases');
      expect(await listed(checkId)).toEqual(before);
      expect(before.text).toContain('x'.repeat(500));
    });

    test('a result whose base is lost does not move', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('URL');
      const [first = ''] = await bench.store(checkId, minutes(120));
      await bench.plain.query('update check_results set base_id = $2 where id = $1', [first, uuidv7(oldDay)]);
      expect(await bench.move()).toBe(119);
      expect(await bench.inTable(checkId)).toBe(1);
    });

    test('a move that breaks off before or in its transaction loses and doubles nothing', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('URL');
      await bench.store(checkId, minutes(130));
      const before = await listed(checkId);
      const paths = await bench.filePaths();
      // The process ends after the file is durable: nothing of it is cleaned up.
      const dies: NamedFiles = {
        ...bench.files,
        put: async (path, bytes) => {
          await bench.files.put(path, bytes);
          throw new Error('ended');
        },
        remove: () => Promise.reject(new Error('ended')),
      };
      await expect(bench.move({ files: dies })).rejects.toThrow('ended');
      // The connection breaks after the statements of the transaction.
      const breaks: Db = {
        ...bench.plain,
        tx: (fn) =>
          bench.plain.tx(async (tx) => {
            await fn(tx);
            throw new Error('broken');
          }),
      };
      await bench.lookAgain();
      await expect(bench.move({ db: breaks })).rejects.toThrow('broken');
      expect(await bench.inTable(checkId)).toBe(130);
      expect(await bench.inFiles(checkId)).toBe(0);
      expect(await listed(checkId)).toEqual(before);
      const orphans = (await bench.filePaths()).length - paths.length;
      expect(orphans).toBe(1);
      // Younger than an hour, it may be one that is being moved.
      await sweepResultFiles({ db: bench.plain, files: bench.files, now: bench.clock.now, log: silent });
      expect(await bench.filePaths()).toHaveLength(paths.length + 1);
      await sweepResultFiles({
        db: bench.plain,
        files: bench.files,
        now: () => bench.clock.now() + 2 * hourMs,
        log: silent,
      });
      expect(await bench.filePaths()).toEqual(paths);
      await bench.lookAgain();
      expect(await bench.move()).toBe(130);
      expect(await bench.inTable(checkId)).toBe(0);
      expect(await listed(checkId)).toEqual(before);
    });

    test('a file that is named between two looks of a sweep stays', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('URL');
      await bench.store(checkId, minutes(130));
      expect(await bench.move()).toBe(130);
      const paths = await bench.filePaths();
      let looks = 0;
      const db: Db = {
        ...bench.plain,
        query: async <Row>(sql: string, params: readonly unknown[] = []) => {
          const rows = await bench.plain.query<Row>(sql, params);
          // The sweep's first look at these files was before they were named.
          return sql.includes('created_at as "createdAt"') && looks++ === 0 ? [] : rows;
        },
      };
      await sweepResultFiles({
        db,
        files: bench.files,
        now: () => bench.clock.now() + 2 * hourMs,
        log: silent,
      });
      expect(looks).toBeGreaterThan(0);
      expect(await bench.filePaths()).toEqual(paths);
    });

    test('a file that a sweep has taken just before it was named is there again', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('URL');
      await bench.store(checkId, minutes(130));
      const before = await listed(checkId);
      const known = await bench.filePaths();
      let taken = 0;
      const db: Db = {
        ...bench.plain,
        tx: async (fn) => {
          const done = await bench.plain.tx(fn);
          const fresh = (await bench.filePaths()).filter((path) => !known.includes(path));
          if (taken === 0) for (const path of fresh) await bench.files.remove(path);
          taken += fresh.length;
          return done;
        },
      };
      expect(await bench.move({ db })).toBe(130);
      expect(taken).toBeGreaterThan(0);
      expect(await bench.inFiles(checkId)).toBe(130);
      expect(await listed(checkId)).toEqual(before);
    });

    test('a failover that loses the replacement of a file loses no results', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      for (const path of await bench.filePaths()) await bench.files.remove(path);
      await bench.plain.query('delete from result_files');
      const kept = await bench.create('URL');
      const deleted = await bench.create('URL');
      await bench.store(kept, minutes(110));
      await bench.store(deleted, minutes(110));
      expect(await bench.move()).toBe(220);
      const before = await listed(kept);
      const paths = await bench.filePaths();
      const tables = ['result_files', 'result_file_checks'];
      for (const table of tables) await bench.plain.exec(`create table saved_${table} as table ${table}`);
      await bench.service.call('DELETE', `/v1/checks/${deleted}`);
      const { clock } = bench;
      const options = { db: bench.plain, files: bench.files, now: clock.now, log: silent };
      const first = new Date(start - 30 * dayMs);
      await cleanResultFiles(options, first);
      expect(await bench.filePaths()).toHaveLength(2);
      await sweepResultFiles({ ...options, now: () => clock.now() + 2 * hourMs });
      expect(await bench.filePaths()).toHaveLength(2);
      // The standby has the database as it was before.
      await bench.plain.exec('delete from result_files; delete from replaced_result_files');
      for (const table of tables) {
        await bench.plain.exec(
          `insert into ${table} select * from saved_${table}; drop table saved_${table}`,
        );
      }
      expect(await listed(kept)).toEqual(before);
      await sweepResultFiles({ ...options, now: () => clock.now() + 2 * hourMs });
      expect(await bench.filePaths()).toEqual(paths);
      expect(await listed(kept)).toEqual(before);
      // Without a failover, the old file goes after a day.
      await cleanResultFiles(options, first);
      await cleanResultFiles({ ...options, now: () => clock.now() + dayMs }, first);
      expect(await bench.filePaths()).toHaveLength(1);
      expect(await bench.filePaths()).not.toEqual(paths);
      expect(await listed(kept)).toEqual(before);
    });

    test('deleting a check and retention reach the files', async () => {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const kept = await bench.create('URL');
      const deleted = await bench.create('URL');
      await bench.store(kept, minutes(110));
      await bench.store(deleted, minutes(110));
      expect(await bench.move()).toBe(220);
      const before = await listed(kept);
      const paths = await bench.filePaths();
      const { status } = await bench.service.call('DELETE', `/v1/checks/${deleted}`);
      expect(status).toBe(204);
      const options = { db: bench.plain, files: bench.files, now: bench.clock.now, log: silent };
      const first = new Date(start - 30 * dayMs);
      expect(await cleanResultFiles(options, first)).toBe(false);
      expect(await bench.inFiles(deleted)).toBe(0);
      expect(await bench.inFiles(kept)).toBe(110);
      expect(await bench.filePaths()).not.toEqual(paths);
      expect(await listed(kept)).toEqual(before);
      await cleanResultFiles(options, new Date(oldDay + dayMs));
      expect(await bench.inFiles(kept)).toBe(0);
      expect(await bench.filePaths()).toEqual([]);
    });
  });
});
