import { describe, expect, it } from 'vitest';
import { addCheck, connectAgent, createAgentService, resultOf } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { schedulerBench } from '../../helpers/service/scheduler-bench.ts';

/** What the service deletes with time, and how it keeps the embedded database small. */

describe.each(databases)('retention: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = schedulerBench(database);
    const { clock } = bench;

    it('deletes results by day, and other old rows', async () => {
      const { db, service, accountId, office } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const agent = await connectAgent(service.app, office);
      const partitions = async () =>
        (
          await db.query<{ name: string }>(
            `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'check_results'::regclass order by 1`,
          )
        ).map(({ name }) => name);
      clock.advance(59_000);
      await service.scheduler.tick();
      const [job] = await agent.claim();
      if (job === undefined) throw new Error('no job');
      await agent.report(resultOf(job, clock.now()));
      await service.retention.tick();
      expect(await partitions()).toEqual(
        expect.arrayContaining(['check_results_20260304', 'check_results_20260306']),
      );
      clock.set('2026-04-03T12:00:00Z');
      await service.retention.tick();
      expect(await partitions()).toContain('check_results_20260304');
      expect(await db.query('select 1 from check_results')).toHaveLength(1);
      expect(await db.query('select 1 from finished_jobs')).toEqual([]);
      clock.set('2026-04-04T12:00:00Z');
      await service.retention.tick();
      expect(await partitions()).not.toContain('check_results_20260304');
      expect(await db.query('select 1 from check_results')).toEqual([]);
      expect(await db.query('select 1 from agents')).toEqual([]);
    });

    it.skipIf(database.name === 'server')('keeps the log of the embedded database small', async () => {
      const { db, service } = bench;
      await db.exec('create table filler (text text)');
      for (let round = 0; round < 3; round++) {
        await db.query(
          'insert into filler select repeat(md5(n::text), 50) from generate_series(1, 5000) as n',
        );
        await service.retention.tick();
      }
      const [log] = await db.query<{ bytes: number }>(
        'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn) as bytes from pg_control_checkpoint()',
      );
      expect(log?.bytes).toBeLessThan(4 * 1024 * 1024);
      await db.exec('drop table filler');
    });

    it.skipIf(database.name === 'server')('creates the next log file before it is needed', async () => {
      const fresh = await database.open();
      const files = () =>
        fresh.query<{ ahead: boolean }>(
          `select name > pg_walfile_name(pg_current_wal_lsn()) as ahead from pg_ls_waldir() where length(name) = 24`,
        );
      expect((await files()).filter(({ ahead }) => ahead)).toEqual([]);
      const { app, retention } = await createAgentService(fresh, clock);
      await retention.tick();
      expect((await files()).filter(({ ahead }) => ahead)).toHaveLength(1);
      await app.close();
    });
  });
});
