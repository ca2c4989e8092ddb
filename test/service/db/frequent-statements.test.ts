import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db, Queryable } from '../../../src/service/db/database.ts';
import { createFrequentStatements } from '../../../src/service/db/frequent-statements.ts';
import { databases } from '../../helpers/service/database.ts';

const often = 30;

describe('which statements are prepared', () => {
  it('names one that is repeated within a minute, the same in each process', () => {
    const names = [0, 1].map(() => {
      const frequent = createFrequentStatements(() => 0);
      for (let n = 0; n < often; n++) frequent.nameOf('select 1');
      expect(frequent.nameOf('select 2')).toBeUndefined();
      return frequent.nameOf('select 1');
    });
    expect(names[0]).toMatch(/^frequent_[0-9a-f]{32}$/);
    expect(names[1]).toBe(names[0]);
  });

  it('names none that is asked for once in a few seconds', () => {
    let time = 0;
    const frequent = createFrequentStatements(() => time);
    for (; time < 3_600_000; time += 5_000) expect(frequent.nameOf('select 1')).toBeUndefined();
  });

  it('counts a transaction that repeats a statement once', () => {
    const frequent = createFrequentStatements(() => 0);
    const seen = new Set<string>();
    for (let n = 0; n < often; n++) expect(frequent.nameOf('select 1', seen)).toBeUndefined();
  });

  it('names no more than a limited number', () => {
    const frequent = createFrequentStatements(() => 0);
    const named = Array.from({ length: 300 }, (_, statement) => {
      for (let n = 0; n < often; n++) frequent.nameOf(`select ${statement}`);
      return frequent.nameOf(`select ${statement}`);
    }).filter((name) => name !== undefined);
    expect(named).toHaveLength(100);
  });
});

it('gives plans up after a slow statement, at most four times a minute', () => {
  let time = 0;
  const frequent = createFrequentStatements(() => time);
  const after = (ms: number, took: number) => {
    time += ms;
    frequent.took(took);
    return frequent.plansOf();
  };
  expect([after(0, 19), after(0, 20), after(14_000, 900), after(1_000, 19), after(0, 21)]).toEqual([
    0, 1, 1, 1, 2,
  ]);
});

describe.each(databases)('prepared statements: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    let db: Db;
    beforeAll(async () => {
      db = await database.open({ migrated: false });
      await db.exec('create table things (id integer primary key, name text)');
    });
    afterAll(() => database.close());

    const prepared = async () => {
      const rows = await db.query<{ name: string }>(
        `select name from pg_prepared_statements where name like 'frequent_%' and statement like '%things%'`,
      );
      return rows.length;
    };

    it('are planned again once one is slow: their tables may have been empty before', async () => {
      await db.exec('create table grown (id integer primary key, name text)');
      if (db.kind === 'server') await db.exec('alter table grown set (autovacuum_enabled = false)');
      await db.exec('analyze grown');
      const often = async (run: () => Promise<unknown>) => {
        for (let uses = 0; uses < 40; uses++) await run();
      };
      const find = (on: Queryable) => on.query('select name from grown where id = $1', [7]);
      await often(() => db.tx(find));
      await db.exec("insert into grown select n, 'name' from generate_series(1, 20000) as n");
      const plan = () =>
        db.tx(async (tx) => {
          const [known] = await tx.query<{ name: string }>(
            `select name from pg_prepared_statements where statement like '%from grown where%' and name like 'frequent_%'`,
          );
          const rows = await tx.query<{ 'QUERY PLAN': string }>(`explain execute ${known?.name}(7)`);
          return rows.map((row) => row['QUERY PLAN']).join('\n');
        });
      expect(await plan()).toMatch(/Seq Scan/);
      await often(() => db.query('select pg_sleep($1)', [0.03]));
      await db.tx(find);
      expect(await plan()).toMatch(/Index Scan/);
    });

    it('keeps one that is repeated, with the values of each use', async () => {
      for (let id = 0; id < often; id++) {
        await db.query('insert into things (id, name) values ($1, $2)', [id, `thing ${id}`]);
        const rows = await db.query('select name from things where id = $1', [id]);
        expect(rows).toEqual([{ name: `thing ${id}` }]);
      }
      await db.tx(async (tx) => {
        expect(await tx.query('select name from things where id = $1', [7])).toEqual([{ name: 'thing 7' }]);
      });
      expect(await prepared()).toBe(2);
    });

    it('goes on after a use that fails', async () => {
      const insert = 'insert into things (id, name) values ($1, upper($2))';
      for (let n = 0; n < often; n++) {
        await expect(db.query(insert, [1, 'again'])).rejects.toThrow(/duplicate key/);
      }
      await db.query(insert, [1000, 'new']);
      await expect(db.tx((tx) => tx.query(insert, [1000, 'again']))).rejects.toThrow(/duplicate key/);
      await db.query(insert, [1001, 'new']);
      expect(await db.query('select name from things where id >= 1000')).toHaveLength(2);
    });

    // Only this process uses the embedded database, and it changes its tables before anything else.
    const isShared = database.name === 'server';
    it.runIf(isShared)('reads a table whose columns have changed since', async () => {
      const read = 'select * from things where id = $1';
      for (let n = 0; n < often; n++) await db.query(read, [2]);
      await db.exec('alter table things add column more text');
      const found = [{ id: 2, name: 'thing 2', more: null }];
      expect(await db.tx((tx) => tx.query(read, [2]))).toEqual(found);
      expect(await db.query(read, [2])).toEqual(found);
    });

    it.runIf(isShared)(
      'reads it on several connections at once, and several such tables in one transaction',
      async () => {
        const reads = Array.from(
          { length: 6 },
          (_, n) => `select * from things where id = $1 limit ${n + 1}`,
        );
        const all = () => Promise.all(reads.flatMap((read) => [1, 2, 3].map(() => db.query(read, [2]))));
        for (let n = 0; n < often; n++) await all();
        await db.exec('alter table things add column still_more text');
        expect((await all()).flat()).toHaveLength(18);
        await db.exec('alter table things drop column still_more');
        for (let n = 0; n < often; n++) await all();
        const others = reads.map((read) => `${read} offset 0`);
        for (let n = 0; n < often; n++) for (const read of others) await db.query(read, [2]);
        await db.exec('alter table things add column last text');
        const found = await db.tx(async (tx) => {
          const rows = [];
          for (const read of others) rows.push(...(await tx.query(read, [2])));
          return rows;
        });
        expect(found).toHaveLength(6);
      },
    );

    it.runIf(isShared)('goes on when a pooler takes what was prepared away', async () => {
      const read = 'select name from things where id = $1 limit 1';
      for (let n = 0; n < often; n++) await db.query(read, [3]);
      await db.exec('deallocate all');
      expect(await db.tx((tx) => tx.query(read, [3]))).toEqual([{ name: 'thing 3' }]);
      expect(await db.query(read, [3])).toEqual([{ name: 'thing 3' }]);
    });
  });
});
