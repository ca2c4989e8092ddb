import { describe, expect, test } from 'vitest';
import { dayMs } from '../../../src/durations.ts';
import { StoreUnavailable } from '../../../src/service/artifacts/unavailable.ts';
import { cleanResultFiles, sweepResultFiles } from '../../../src/service/result-files/clean-up.ts';
import { readUnreadableAgain } from '../../../src/service/result-files/whole-files.ts';
import { silent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { filesBench, minutes, oldDay, start } from './files-bench.ts';
import { stores } from './stores.ts';

/** Files that are damaged or missing: every answer that needs one is an error, and a gauge counts them. */

const places = stores.flatMap((store) => databases.map((database) => ({ database, store })));

describe.each(places)(
  'unreadable files with results ($database.name, $store.name)',
  ({ database, store }) => {
    describe.skipIf(database.unavailable)('with a database', { timeout: 120_000 }, () => {
      const bench = filesBench(database, store);
      const options = () => ({ db: bench.plain, files: bench.files, now: bench.clock.now, log: silent });
      const listed = async (checkId: string) => {
        const answer = await bench.answer(`/v2/check-results/${checkId}?limit=100`);
        return { status: Number(answer.slice(0, 3)), text: answer };
      };
      /** What Prometheus would read. The service makes it anew every ten seconds. */
      const gauge = async () => {
        bench.clock.advance(11_000);
        return /^result_files\{state="unreadable"\} (\d+)$/m.exec(await bench.answer('/v1/metrics'))?.[1];
      };

      /** A check whose results are in one file, with those of a second one if wanted. */
      async function filed({ withSecond = false } = {}) {
        await bench.service.renewAccounts();
        await bench.lookAgain();
        await bench.plain.query('delete from result_files');
        const checkId = await bench.create('URL');
        const [resultId = ''] = await bench.store(checkId, minutes(120));
        const second = withSecond ? await bench.create('URL') : null;
        if (second !== null) await bench.store(second, minutes(30));
        await bench.rollUp();
        for (const left of await bench.filePaths()) await bench.files.remove(left);
        expect(await bench.move()).toBe(withSecond ? 150 : 120);
        const [path = ''] = await bench.filePaths();
        const [row] = await bench.plain.query<{ bytes: number }>('select bytes from result_files');
        const whole = await bench.files.read(path, { start: 0, end: row?.bytes ?? 0 });
        return { checkId, second: second ?? '', resultId, path, whole };
      }

      test('do not keep later hours from being rolled up', async () => {
        const { checkId, path } = await filed();
        await bench.files.remove(path);
        // A result that comes late marks its hour as outdated, and a later hour is due as well.
        await bench.store(checkId, [{ at: oldDay + 1000 }, { at: oldDay + 2 * dayMs }]);
        await bench.rollUp();
        const due = await bench.plain.query<{ hour: Date }>(
          'select hour from rollups_due where check_id = $1',
          [checkId],
        );
        expect(due.map(({ hour }) => hour.getTime())).toEqual([oldDay]);
      });

      test('are an error 503, never a shorter list, until they can be read as a whole', async () => {
        const { checkId, path, whole } = await filed();
        const before = await listed(checkId);
        expect(await gauge()).toBe('0');
        for (const damage of [
          // The S3 server of these tests breaks the connection when a part of the bytes is not there.
          ...(store.name === 'bucket' ? [] : [whole.subarray(0, whole.length / 2), Buffer.alloc(0)]),
          Buffer.concat([whole.subarray(0, 300), Buffer.alloc(900), whole.subarray(1200)]),
          null,
        ]) {
          await bench.plain.query('update result_files set unreadable_since = null');
          if (damage === null) await bench.files.remove(path);
          else await bench.files.put(path, damage);
          const answer = await listed(checkId);
          expect(answer.status).toBe(503);
          expect(answer.text).toContain('A file with results of 2026-03-12 cannot be read');
          expect(await gauge()).toBe('1');
          await readUnreadableAgain(options());
          expect(await bench.unreadable()).toBe(1);
        }
        await bench.files.put(path, whole);
        expect(await listed(checkId)).toEqual(before);
        await readUnreadableAgain(options());
        expect(await gauge()).toBe('0');
      });

      test('make each answer that needs them an error, and no other', async () => {
        const { checkId, resultId, path } = await filed();
        await bench.files.remove(path);
        const day = `from=${oldDay / 1000}&to=${(oldDay + dayMs) / 1000}`;
        const partOfHour = `from=${oldDay / 1000 + 60}&to=${oldDay / 1000 + 3000}`;
        const analytics = `/v1/analytics/url-checks/${checkId}?${day}&metrics=availability,responseTime_avg`;
        for (const needing of [
          `/v1/check-results/${checkId}?${partOfHour}`,
          `/v1/check-results/${checkId}/${resultId}`,
          `${analytics}&aggregationInterval=7`,
          `/v1/analytics/url-checks/${checkId}?${day}&metrics=responseTime`,
          `/v1/checks/${checkId}/timeline?${partOfHour}`,
          `/v1/reporting?${partOfHour}`,
        ])
          expect([needing, (await bench.answer(needing)).slice(0, 3)]).toEqual([needing, '503']);
        // These come from the hourly figures, or from the table.
        const hourly = await bench.answer(`${analytics}&aggregationInterval=60`);
        expect(hourly.slice(0, 3)).toBe('200');
        expect(hourly).toContain('"availability":100');
        await bench.store(checkId, minutes(10, start - dayMs));
        for (const other of [
          `/v1/check-results/${checkId}?from=${start / 1000 - 90_000}`,
          '/v1/check-statuses',
          `/v1/badges/checks/${checkId}?availability=true`,
          '/v1/checks',
        ])
          expect([other, (await bench.answer(other)).slice(0, 3)]).toEqual([other, '200']);
      });

      test('are found before anybody needs them, also if only shortened', async () => {
        const { path, whole } = await filed();
        bench.clock.advance(1_000);
        await sweepResultFiles(options());
        expect(await gauge()).toBe('0');
        await bench.files.put(path, whole.subarray(0, -1));
        await sweepResultFiles(options());
        expect(await gauge()).toBe('1');
        await bench.files.put(path, whole);
        await readUnreadableAgain(options());
        expect(await gauge()).toBe('0');
        await bench.files.remove(path);
        await sweepResultFiles(options());
        expect(await gauge()).toBe('1');
      });

      test('keep no other clean-up waiting, and their results go when they can be read', async () => {
        const { checkId, second, path, whole } = await filed({ withSecond: true });
        const before = await listed(second);
        const other = await bench.create('URL');
        await bench.store(other, minutes(120));
        await bench.lookAgain();
        expect(await bench.move()).toBe(120);
        const [otherPath = ''] = (await bench.filePaths()).filter((name) => name !== path);
        await bench.files.put(path, Buffer.alloc(whole.length));
        for (const id of [checkId, other]) await bench.service.call('DELETE', `/v1/checks/${id}`);
        expect(await cleanResultFiles(options(), new Date(start - 30 * dayMs))).toBe(false);
        expect(await bench.inFiles(other)).toBe(0);
        expect(await bench.filePaths()).not.toContain(otherPath);
        expect(await bench.unreadable()).toBe(1);
        await bench.files.put(path, whole);
        await readUnreadableAgain(options());
        await cleanResultFiles(options(), new Date(start - 30 * dayMs));
        expect(await bench.inFiles(checkId)).toBe(0);
        expect(await bench.inFiles(second)).toBe(30);
        expect(await listed(second)).toEqual(before);
        const dayLater = { ...options(), now: () => bench.clock.now() + dayMs };
        await cleanResultFiles(dayLater, new Date(start - 30 * dayMs));
        expect(await bench.filePaths()).not.toContain(path);
      });

      test('each gets its turn to be read again, however many others stay lost', async () => {
        const { path, whole } = await filed();
        const [real] = await bench.plain.query<{ id: string }>(
          'update result_files set unreadable_since = now() returning id',
        );
        await bench.plain.query(
          `insert into result_files (id, account_id, day, rows, bytes, footer_digest, created_at, unreadable_since)
           select gen_random_uuid(), account_id, day + interval '1 day' * n, rows, bytes, footer_digest, created_at, now()
           from result_files, generate_series(1, 45) as n`,
        );
        await bench.files.put(path, whole);
        for (let round = 0; round < 3; round++) {
          bench.clock.advance(1_000);
          await readUnreadableAgain(options());
        }
        const read = await bench.plain.query('select id from result_files where unreadable_since is null');
        expect(read).toEqual([real]);
      });

      test('a store that is away is no damage', async () => {
        const { checkId } = await filed();
        const away = () => Promise.reject(new StoreUnavailable('away'));
        await bench.plain.query('update result_files set unreadable_since = now()');
        await expect(
          readUnreadableAgain({ ...options(), files: { ...bench.files, read: away } }),
        ).rejects.toThrow('away');
        expect(await bench.unreadable()).toBe(1);
        await readUnreadableAgain(options());
        expect((await listed(checkId)).status).toBe(200);
        expect(await bench.unreadable()).toBe(0);
      });
    });
  },
);
