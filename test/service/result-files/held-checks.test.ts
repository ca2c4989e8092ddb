import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { dayMs, minuteMs } from '../../../src/durations.ts';
import type { Assignment } from '../../../src/protocol/assignments.ts';
import { createNamedFiles, type NamedFiles } from '../../../src/service/artifacts/named-files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { withFiledResults } from '../../../src/service/db/query-results.ts';
import { moveOldResults } from '../../../src/service/result-files/move-results.ts';
import { createFiledResults } from '../../../src/service/result-files/read-results.ts';
import { refreshBehind } from '../../../src/service/results/catch-up.ts';
import { listStatuses } from '../../../src/service/results/status-statements.ts';
import { createAlertReplica, idleBackground } from '../../helpers/service/alert-runs.ts';
import { addCheck, createClock, silent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench, keptResult, type KeepingAgent } from '../keeping/keeping-bench.ts';

/** Uneventful runs of held checks are known by their results only, also when these are in files. */

const start = '2026-03-04T05:06:07.000Z';
/** Checks are due at 6 s past each minute. */
const first = Date.parse('2026-03-04T05:07:06.000Z');
const runs = 120;
const never = new AbortController().signal;

describe.each(databases)('held checks with results in files: $name', (database) => {
  describe.skipIf(database.unavailable !== null)('with a database', { timeout: 120_000 }, () => {
    const clock = createClock(start);
    let plain: Db;
    let folder = '';
    let files: NamedFiles;
    const open = async () => {
      plain = await database.open();
      folder = await mkdtemp(join(tmpdir(), 'held-checks-'));
      files = createNamedFiles(folder);
      return withFiledResults(plain, createFiledResults({ files, now: clock.now, log: silent }));
    };
    const { current } = keepingBench({ ...database, open }, clock, start);
    afterAll(() => rm(folder, { recursive: true, force: true }));

    /** A check of which two hours of uneventful runs are known. */
    async function calmCheck(): Promise<{ agent: KeepingAgent; check: Assignment }> {
      const { db, accountId } = current();
      await plain.query('delete from result_files');
      await plain.query('delete from result_file_days');
      const id = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await current().handOut();
      const agent = await current().connect();
      await agent.renewHeld();
      await current().handOut();
      await agent.renewHeld();
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      const replica = createAlertReplica(db, { background: await idleBackground(db), clock });
      for (let index = 0; index < runs; index++) {
        clock.set(first + index * minuteMs + 1_000);
        expect(await agent.report(keptResult(check, first + index * minuteMs))).toMatchObject([
          { outcome: 'stored' },
        ]);
        if (index === 0) await replica.follow();
      }
      return { agent, check };
    }
    const move = () => moveOldResults({ db: plain, files, now: clock.now, log: silent, afterDays: 1 }, never);
    const statusOf = async () => {
      const { db, accountId } = current();
      const [status] = await listStatuses(db, { accountId, limit: 10, offset: 0 });
      return status;
    };
    const inTable = async () =>
      (await plain.query('select 1 from check_results where status <> $1', ['missed'])).length;

    /** Two hours of runs four days ago, and one run now; all but the ones that are still needed are in files. */
    async function moved() {
      const known = await calmCheck();
      const later = first + 4 * 1440 * minuteMs;
      clock.set(later + 1_000);
      await known.agent.report(keptResult(known.check, later));
      await refreshBehind(current().db, new Date(clock.now() - dayMs));
      const before = await statusOf();
      expect(await move()).toBeGreaterThan(runs - 3);
      expect(await statusOf()).toEqual(before);
      return known;
    }

    it('the last run of a check stays in the table, also if its status does not name it', async () => {
      await calmCheck();
      const before = await statusOf();
      expect(before?.lastStartedAt).toEqual(new Date(first + (runs - 1) * minuteMs + 5));
      clock.set(first + 4 * dayMs);
      await move();
      expect(await statusOf()).toEqual(before);
    });

    it('a result that comes again is a duplicate', async () => {
      const { agent, check } = await moved();
      const kept = await inTable();
      const dueAt = first + 60 * minuteMs;
      expect(await agent.report(keptResult(check, dueAt))).toMatchObject([{ outcome: 'duplicate' }]);
      expect(await inTable()).toBe(kept);
    });

    it('runs with a result in a file are not recorded as missed', async () => {
      const { agent, check } = await moved();
      const range = {
        from: new Date(first + 100 * minuteMs).toISOString(),
        to: new Date(first + 130 * minuteMs).toISOString(),
      };
      const report = keptResult(check, first + 100 * minuteMs, {
        status: 'missed',
        details: { ...range, count: 31 },
        reason: { code: 'NO_AGENT', owner: 'ours', message: 'it was not running' },
      });
      await agent.report(report);
      const rows = await plain.query<{ at: Date; count: number }>(
        `select started_at as at, (body->'details'->>'count')::integer as count from check_results where status = 'missed'`,
      );
      expect(rows).toEqual([{ at: new Date(first + runs * minuteMs), count: 11 }]);
    });

    it('a damaged file keeps neither results nor checks waiting', async () => {
      const { agent, check } = await moved();
      for await (const { path } of files.list()) await files.put(path, Buffer.alloc(100));
      const dueAt = first + 60 * minuteMs;
      expect(await agent.report(keptResult(check, dueAt))).toMatchObject([{ outcome: 'stored' }]);
      expect(
        (await plain.query('select 1 from result_files where unreadable_since is not null')).length,
      ).toBeGreaterThan(0);
    });
  });
});
