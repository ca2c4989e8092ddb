import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createVacuum } from '../../../src/service/engine/vacuum.ts';
import { createSweep } from '../../../src/service/scheduling/sweep.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
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
    await sweep.tick();
    clock.advance(29_000);
    await agent.renew(job === undefined ? [] : [job]);
    await sweep.tick();
    isAway = true;
    // Longer than the lease: its agent could not renew it.
    clock.advance(60_000);
    await expect(sweep.tick()).rejects.toThrow('the connection was closed');
    isAway = false;
    await sweep.tick();
    clock.advance(29_000);
    await sweep.tick();
    expect(await state()).toBe('leased');
    clock.advance(1_000);
    await sweep.tick();
    expect(await state()).toBe('queued');
    await service.app.close();
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
