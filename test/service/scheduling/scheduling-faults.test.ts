import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createVacuum } from '../../../src/service/engine/vacuum.ts';
import { createScheduler } from '../../../src/service/scheduling/scheduler.ts';
import { createSweep } from '../../../src/service/scheduling/sweep.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
  silent,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { dayMs } from '../../../src/durations.ts';

/** What the service's own work does when the database was away, is in use, or has grown. */

const start = '2026-03-04T05:06:07.000Z';
const [embedded, server] = databases;

describe('on the embedded database', () => {
  let db: Db;
  beforeAll(async () => {
    if (embedded === undefined) throw new Error('no embedded database');
    db = await embedded.open();
  });
  afterAll(() => embedded?.close());

  test('after an outage of the database, no job is reassigned for the length of a lease', async () => {
    const clock = createClock(start);
    const service = await createAgentService(db, clock);
    const accountId = await addAccount(db);
    const office = await addLocation(db, { accountId, slug: 'office' });
    const agent = await connectAgent(service.app, office);
    await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
    clock.advance(60_000);
    await agent.claim(0);
    await service.scheduler.tick();
    const [job] = await agent.claim();
    expect(job).toBeDefined();

    let isAway = false;
    const fails = () => Promise.reject(new Error('the connection was closed'));
    // The database itself, except while it is away.
    const reached: Db = {
      ...db,
      query: (text, params) => (isAway ? fails() : db.query(text, params)),
      tx: (work) => (isAway ? fails() : db.tx(work)),
    };
    const sweep = createSweep({ db: reached, now: clock.now, log: silent, partitions: createPartitions(db) });
    const state = async () => (await db.query<{ state: string }>('select state from jobs'))[0]?.state;
    /** As the sweep does it, once a second. */
    const seconds = async (count: number) => {
      for (let n = 0; n < count; n++) {
        clock.advance(1_000);
        await sweep.tick();
      }
    };
    await sweep.tick();
    await seconds(29);
    await agent.renew(job === undefined ? [] : [job]);
    isAway = true;
    // Longer than the lease: its agent could not renew it.
    clock.advance(60_000);
    await expect(sweep.tick()).rejects.toThrow('the connection was closed');
    isAway = false;
    await sweep.tick();
    await seconds(29);
    expect(await state()).toBe('leased');
    await seconds(1);
    expect(await state()).toBe('queued');
    await service.app.close();
  });

  test(
    'a database that stops for 40 s, in any statement of the sweep, costs no agent its leases',
    { timeout: 120_000 },
    async () => {
      let statements = 0;
      for (let pausedAt = 1; pausedAt < 20; pausedAt++) {
        await emptyAccounts(db);
        const clock = createClock(start);
        const service = await createAgentService(db, clock);
        const accountId = await addAccount(db);
        const office = await addLocation(db, { accountId, slug: 'office' });
        const agent = await connectAgent(service.app, office);
        await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
        clock.advance(60_000);
        await agent.claim(0);
        await service.scheduler.tick();
        const [job] = await agent.claim();
        if (job === undefined) throw new Error('no job');
        await db.query('update checks set activated = false');

        let isArmed = false;
        statements = 0;
        const pauses = () => {
          if (isArmed && ++statements === pausedAt) clock.advance(40_000);
        };
        const counted = (on: Db): Db => ({
          ...on,
          query: async (text, params) => {
            pauses();
            return on.query(text, params);
          },
          tx: (work) => on.tx((tx) => work(counted(tx))),
        });
        const partitions = createPartitions(db);
        const sweep = createSweep({ db: counted(db), now: clock.now, log: silent, partitions });
        for (let second = 0; second < 40; second++) {
          clock.advance(1_000);
          if (second % 5 === 0) await agent.renew([job]);
          await sweep.tick();
        }
        await agent.renew([job]);
        isArmed = true;
        await sweep.tick();
        isArmed = false;
        for (let second = 0; second < 5; second++) {
          clock.advance(1_000);
          await sweep.tick();
        }
        expect([pausedAt, await agent.renew([job])]).toMatchObject([pausedAt, { renewed: [job.jobId] }]);
        await service.app.close();
        if (statements < pausedAt) return;
      }
      throw new Error(`the sweep has more statements than expected: ${statements}`);
    },
  );

  test('work that hangs for minutes does not look as if the service were away', async () => {
    await emptyAccounts(db);
    await db.query('delete from service_beat');
    const clock = createClock(start);
    let release = () => {};
    const gate = new Promise<void>((done) => (release = done));
    let isSlow = false;
    const slow: Db = {
      ...db,
      tx: async (work) => {
        if (isSlow) await gate;
        return db.tx(work);
      },
    };
    const scheduler = createScheduler({ db: slow, now: clock.now, log: silent, random: () => 0 });
    // The sweep begins to work 30 s after its first beat.
    for (let times = 0; times < 5; times++) {
      await scheduler.tick();
      clock.advance(8_000);
    }
    isSlow = true;
    scheduler.start();
    const beats = () => db.query('select at, away_from as away from service_beat');
    for (let times = 0; times < 3; times++) {
      await expect.poll(beats, { timeout: 10_000 }).toEqual([{ at: new Date(clock.now()), away: null }]);
      clock.advance(8_000);
    }
    release();
    await scheduler.stop();
    expect(await beats()).toMatchObject([{ away: null }]);
  });

  test('a clock that jumps forward by an hour makes no missed runs, and runs continue at once', async () => {
    await emptyAccounts(db);
    const clock = createClock(start);
    let adopted = 0;
    const accountId = await addAccount(db);
    await addLocation(db, { accountId, slug: 'office' });
    await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
    const scheduler = createScheduler({
      db,
      now: clock.now,
      adopted: () => adopted,
      log: silent,
      random: () => 0,
    });
    await scheduler.tick();
    clock.advance(3_600_000);
    adopted = 3_600_000;
    await scheduler.tick();
    expect(await db.query('select 1 from check_results')).toEqual([]);
    clock.advance(60_000);
    await scheduler.tick();
    // The last moment before the jump's end still takes place: it is not late.
    expect(await db.query('select due_at as at from jobs order by 1')).toEqual([
      { at: new Date('2026-03-04T06:06:06.000Z') },
      { at: new Date('2026-03-04T06:07:06.000Z') },
    ]);
    expect(await db.query('select 1 from check_results')).toEqual([]);
  });

  test('a table is vacuumed once a fifth of it, and a thousand rows, are of no use', async () => {
    const vacuum = createVacuum({ db, log: silent });
    const vacuumed = async (table: string) => {
      // Statistics are flushed when the backend is idle, or by this call.
      await db.query('select pg_stat_force_next_flush()');
      await vacuum.tick();
      const [row] = await db.query<{ count: number }>(
        'select vacuum_count as count from pg_stat_user_tables where relname = $1',
        [table],
      );
      return row?.count;
    };
    await db.exec('create table grown (n integer); insert into grown select generate_series(1, 10000)');
    await db.exec('delete from grown where n <= 2400');
    expect(await vacuumed('grown')).toBe(0);
    await db.exec('delete from grown where n <= 2600');
    expect(await vacuumed('grown')).toBe(1);
    expect(await vacuumed('grown')).toBe(1);
    await db.exec('create table little (n integer); insert into little select generate_series(1, 900)');
    await db.exec('delete from little');
    expect(await vacuumed('little')).toBe(0);
  });

  test('a table is analysed for the planner once it has grown', async () => {
    const vacuum = createVacuum({ db, log: silent });
    const expected = async (table: string) => {
      await db.query('select pg_stat_force_next_flush()');
      await vacuum.tick();
      const [row] = await db.query<{ rows: number }>(
        'select reltuples::float8 as rows from pg_class where relname = $1',
        [table],
      );
      return row?.rows;
    };
    await db.exec('create table learnt (n integer); insert into learnt select generate_series(1, 400)');
    expect(await expected('learnt')).toBe(-1);
    await db.exec('insert into learnt select generate_series(401, 2000)');
    expect(await expected('learnt')).toBe(2000);
    await db.exec('insert into learnt select generate_series(2001, 2400)');
    expect(await expected('learnt')).toBe(2000);
    await db.exec('insert into learnt select generate_series(2401, 4000)');
    expect(await expected('learnt')).toBe(4000);
  });
});

describe.skipIf(server === undefined || server.unavailable !== null)(
  server?.unavailable ?? 'on a server',
  () => {
    afterAll(() => server?.close());

    test('a partition that is in use is dropped another time', async () => {
      if (server === undefined) throw new Error('no server');
      const [db, other] = await server.openReplicas(2);
      if (db === undefined || other === undefined) throw new Error('not opened');
      const day = Date.parse(start);
      const partitions = createPartitions(db);
      await partitions.make([day, day + dayMs]);
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      let isRead = (): void => undefined;
      const read = new Promise<void>((resolve) => (isRead = resolve));
      const reading = other.tx(async (tx) => {
        await tx.query('select count(*) from check_results');
        isRead();
        await held;
      });
      await read;
      // It gives up while the reader still holds the table.
      expect(await partitions.drop('check_results', day + dayMs)).toEqual([]);
      release();
      await reading;
      expect(await partitions.drop('check_results', day + dayMs)).toEqual(['check_results_20260304']);
      expect(await partitions.drop('check_results', day + dayMs)).toEqual([]);
    });
  },
);
