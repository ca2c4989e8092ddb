import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockDatabase } from '../../../src/service/db/database-lock.ts';
import { sqlState, type Db } from '../../../src/service/db/database.ts';
import { openDatabase } from '../../../src/service/db/open-database.ts';
import { migrate } from '../../../src/service/db/migrate.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import { databases } from '../../helpers/service/database.ts';

describe.each(databases)('database: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    let db: Db;
    beforeAll(async () => {
      db = await database.open({ migrated: false });
    });
    afterAll(() => database.close());

    it('gives the same values whatever the driver', async () => {
      const time = new Date('2026-03-04T05:06:07.089Z');
      const rows = await db.query(
        `select 1::int4 as int4, 9007199254740991::int8 as int8, count(*) as count, 1.5::numeric as numeric, 0.25::float8 as float8,
           $1::timestamptz as timestamptz, $2::jsonb as jsonb, $3::bytea as bytea, date '2026-03-04' as date,
           '0198c0de-0000-7000-8000-000000000000'::uuid as uuid, $4::uuid[] as uuids, $5::text[] as texts,
           null::text as nothing, true as yes, $6::timestamptz[] as times, $7::float8[] as floats`,
        [
          time,
          JSON.stringify([{ a: 1 }]),
          Buffer.from('00ff', 'hex'),
          ['0198c0de-0000-7000-8000-000000000000'],
          ['a,b', 'c"d', '', null],
          [time, null],
          [1.5, null],
        ],
      );
      expect(rows).toEqual([
        {
          int4: 1,
          int8: 9007199254740991,
          count: 1,
          numeric: 1.5,
          float8: 0.25,
          timestamptz: time,
          jsonb: [{ a: 1 }],
          bytea: Buffer.from('00ff', 'hex'),
          date: '2026-03-04',
          uuid: '0198c0de-0000-7000-8000-000000000000',
          uuids: ['0198c0de-0000-7000-8000-000000000000'],
          texts: ['a,b', 'c"d', '', null],
          nothing: null,
          yes: true,
          times: [time, null],
          floats: [1.5, null],
        },
      ]);
    });

    it('takes every text, list and object as a parameter', async () => {
      const texts = ['', 'NULL', '{a,b}', '"\\\n', '\u{1F600}', '$1', "'; drop table x; --"];
      const [row] = await db.query(
        `select $1::text[] as texts, $2::text as backslashes, $3::integer[][] as nested, $4::jsonb as object,
           $5::bytea[] as files, $6::text[] as none, $7::text as missing, $8::boolean[] as answers`,
        [texts, '\\x00', [[1], [2]], { a: ['"'] }, [Buffer.from('"')], [], undefined, [true, false]],
      );
      expect(row).toEqual({
        texts,
        backslashes: '\\x00',
        nested: [[1], [2]],
        object: { a: ['"'] },
        files: [Buffer.from('"')],
        none: [],
        missing: null,
        answers: [true, false],
      });
    });

    it.each([
      { what: 'a statement that is wrong', sql: 'select no_such_column', params: [], state: '42703' },
      { what: 'a value of another type', sql: 'select $1::integer', params: ['many'], state: '22P02' },
      { what: 'a text with a zero byte', sql: 'select $1::text', params: ['a\0b'], state: '22021' },
      { what: 'a parameter too few', sql: 'select $1::text, $2::text', params: ['a'], state: '08P01' },
      { what: 'two statements at once', sql: 'select 1; select 2', params: [''], state: '42601' },
    ])('refuses $what, and continues', async ({ sql, params, state }) => {
      const error = await db.query(sql, params).catch((thrown: unknown) => thrown);
      expect(sqlState(error)).toBe(state);
      expect(await db.query('select 1 as one')).toEqual([{ one: 1 }]);
      const inside = db.tx(async (tx) => {
        await tx.query(sql, params).catch(() => undefined);
        return tx.query('select 1 as one');
      });
      expect(sqlState(await inside.catch((thrown: unknown) => thrown))).toBe('25P02');
      expect(await db.query('select 1 as one')).toEqual([{ one: 1 }]);
    });

    it('runs statements of one transaction that are sent at once one after the other, and keeps others out', async () => {
      await db.exec('create table counted (n integer)');
      const [inside, outside] = await Promise.all([
        db.tx(async (tx) => {
          await Promise.all([1, 2, 3].map((n) => tx.query('insert into counted values ($1)', [n])));
          return tx.query('select n from counted order by n');
        }),
        db.query<{ count: number }>('select count(*) from counted'),
      ]);
      expect(inside).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
      expect([0, 3]).toContain(outside[0]?.count);
    });

    it('repeats a statement in a transaction as often as it is sent, also when its table changes meanwhile', async () => {
      await db.exec('create table repeated (n integer)');
      const insert = 'insert into repeated (n) values ($1) returning n';
      const read = 'select * from repeated where n = $1';
      await db.tx(async (tx) => {
        for (let n = 0; n < 40; n++) {
          expect(await tx.query(insert, [n])).toEqual([{ n }]);
          expect(await tx.query(read, [n])).toEqual([{ n }]);
        }
        await tx.exec('create index repeated_n on repeated (n)');
        expect(await tx.query(read, [39])).toEqual([{ n: 39 }]);
      });
      const failing = db.tx(async (tx) => {
        for (let n = 0; n < 30; n++) await tx.query(insert, [n]);
        await tx.query(insert, ['many']);
      });
      expect(sqlState(await failing.catch((thrown: unknown) => thrown))).toBe('22P02');
      expect(await db.query('select count(*) from repeated')).toEqual([{ count: 40 }]);
      expect(await db.query('select count(*) from pg_prepared_statements')).toEqual([{ count: 0 }]);
    });

    it('rolls a failed transaction back, and names the error by its SQLSTATE', async () => {
      await db.exec('create table rolled (n integer primary key); insert into rolled values (1)');
      const failed = db.tx(async (tx) => {
        await tx.query('insert into rolled values (2)');
        await tx.query('insert into rolled values (1)');
      });
      const error = await failed.then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(sqlState(error)).toBe('23505');
      expect(await db.query('select n from rolled')).toEqual([{ n: 1 }]);
    });

    it('notifies listeners at commit, and no longer once they have stopped', async () => {
      const heard: string[] = [];
      const stop = await db.listen('test_channel', (payload) => heard.push(payload));
      await db.tx(async (tx) => {
        await tx.notify('test_channel', 'one');
      });
      await db.notify('test_channel', 'two');
      await expect.poll(() => heard).toEqual(['one', 'two']);
      await stop();
      await db.notify('test_channel', 'three');
      await db.query('select 1');
      expect(heard).toEqual(['one', 'two']);
    });

    it('migrates once when replicas start together, and refuses a newer database', async () => {
      const replicas = await database.openReplicas(3, { migrated: false });
      const applied = await Promise.all(replicas.map((replica) => migrate(replica)));
      expect(applied.flat().length).toBeGreaterThan(0);
      expect(applied.filter((versions) => versions.length > 0).length).toBe(1);
      const [first] = replicas;
      expect(await migrate(first as Db)).toEqual([]);
      await first?.query(`insert into schema_migrations (version, name) values (9000, 'from-the-future')`);
      await expect(migrate(first as Db)).rejects.toMatchObject({
        code: 'CONFIGURATION',
        exitCode: 78,
        message: expect.stringMatching(
          /^the database has schema version 9000, .* run a newer version of the program$/,
        ),
      });
    });

    it.runIf(database.name === 'server')(
      'lets others pass while it waits for a table that is read for long',
      async () => {
        const folder = await mkdtemp(join(tmpdir(), 'location-agent-migrations-'));
        await writeFile(join(folder, '0001-changed.sql'), 'alter table dumped add column more text;');
        const [dump, replica, other] = await database.openReplicas(3, { migrated: false });
        await dump?.exec('create table dumped (n integer)');
        const migrated: Promise<number[]>[] = [];
        await dump?.tx(async (tx) => {
          await tx.query('select * from dumped');
          migrated.push(migrate(replica as Db, pathToFileURL(`${folder}/`), { waitMs: 300, pauseMs: 100 }));
          const waits = () =>
            tx.query(`select 1 from pg_locks where not granted and relation = 'dumped'::regclass`);
          await expect.poll(async () => (await waits()).length).toBe(1);
          // It reads the table although the change waits for it.
          expect(await other?.query('select * from dumped')).toEqual([]);
        });
        expect(await Promise.all(migrated)).toEqual([[1]]);
        await rm(folder, { recursive: true });
      },
    );

    it('applies all missing migrations or none', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'location-agent-migrations-'));
      await writeFile(join(folder, '0001-good.sql'), 'create table good (n integer);');
      await writeFile(join(folder, '0002-bad.sql'), 'create table bad (n no_such_type);');
      const target = await database.open({ migrated: false });
      await expect(migrate(target, pathToFileURL(`${folder}/`))).rejects.toThrow(/no_such_type/);
      expect(await target.query(`select to_regclass('good')::text as good`)).toEqual([{ good: null }]);
      await rm(folder, { recursive: true });
    });
  });
});

describe('server', () => {
  it('refuses an address where no database answers, without telling the URL', async () => {
    const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as { port: number };
    const url = new Secret(`postgres://me:hunter2222@127.0.0.1:${port}/x`);
    const opened = openDatabase({ databaseUrl: url, dataDir: '' });
    await expect(opened).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringMatching(/^DATABASE_URL: (?!.*hunter)/),
    });
    listener.close();
  });

  const [, server] = databases;
  it.skipIf(server?.unavailable !== null)(
    'survives the loss of its connections, and listens again',
    async () => {
      if (server === undefined) return;
      const [db, other] = await server.openReplicas(2, { migrated: false });
      const heard: string[] = [];
      let gaps = 0;
      await db?.listen(
        'mended',
        (payload) => heard.push(payload),
        () => gaps++,
      );
      const heardToo: string[] = [];
      const stop = await db?.listen('mended_too', (payload) => heardToo.push(payload));
      const listening = await other?.query(
        `select 1 from pg_stat_activity where datname = current_database() and query ilike 'listen %'`,
      );
      expect(listening).toHaveLength(1);
      expect(gaps).toBe(0);
      await other?.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      );
      await expect.poll(() => db?.query('select 1 as one').catch(() => null)).toEqual([{ one: 1 }]);
      const hears = async (channel: string, where: string[]): Promise<void> => {
        const payload = randomUUID();
        const isHeard = async () => {
          await other?.notify(channel, payload);
          return where.at(-1);
        };
        await expect.poll(isHeard, { timeout: 10_000, interval: 200 }).toBe(payload);
      };
      await hears('mended', heard);
      await hears('mended_too', heardToo);
      expect(gaps).toBe(1);
      // One channel ends without the other, and begins again on the same connection.
      await stop?.();
      const later: string[] = [];
      await db?.listen('mended_too', (payload) => later.push(payload));
      await hears('mended_too', later);
      expect(heardToo).not.toContain(later[0]);
      await server.close();
    },
  );
});

describe('folder of the embedded database', () => {
  it('that is a file is named, as a mistake in the configuration', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'location-agent-file-'));
    const dataDir = join(folder, 'data');
    await writeFile(dataDir, '');
    await expect(openDatabase({ dataDir, databaseUrl: null })).rejects.toMatchObject({
      exitCode: 78,
      message: expect.stringMatching(/^SERVICE_DATA_DIR: cannot write in .*EEXIST.*folder/) as unknown,
    });
    await rm(folder, { recursive: true });
  });
});

describe('lock of the embedded database', () => {
  const holder = (dataDir: string) => {
    // Only what another process would have: a socket that listens.
    const script = `
      import { createServer } from 'node:net';
      import { join } from 'node:path';
      const server = createServer((socket) => socket.end(String(process.pid)));
      server.listen(join(${JSON.stringify(dataDir)}, 'database.lock'), () => process.stdout.write('held'));`;
    return spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  };

  it('refuses a second owner with one line, and takes the lock of a killed one over', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-lock-'));
    const child = holder(dataDir);
    await once(child.stdout, 'data');
    const refused = await lockDatabase(dataDir).then(
      () => null,
      (error: Error) => error,
    );
    expect(refused).toMatchObject({
      code: 'DATABASE_IN_USE',
      exitCode: 2,
      message: `another process (pid ${child.pid}) uses the embedded database in ${dataDir}: stop it, set another SERVICE_DATA_DIR, or share a PostgreSQL server through DATABASE_URL`,
    });
    child.kill('SIGKILL');
    await once(child, 'exit');
    const taken = await Promise.allSettled([
      lockDatabase(dataDir),
      lockDatabase(dataDir),
      lockDatabase(dataDir),
    ]);
    const won = taken.filter((result) => result.status === 'fulfilled');
    expect(won.length).toBe(1);
    await won[0]?.value();
    const again = await lockDatabase(dataDir);
    await again();
    await rm(dataDir, { recursive: true });
  });

  it('holds in a folder whose path is longer than a socket may have', async () => {
    const base = await mkdtemp(join(tmpdir(), 'location-agent-lock-'));
    const dataDir = join(base, 'x'.repeat(120));
    await mkdir(dataDir);
    const unlock = await lockDatabase(dataDir);
    await expect(lockDatabase(dataDir)).rejects.toMatchObject({ code: 'DATABASE_IN_USE' });
    await unlock();
    await rm(base, { recursive: true });
  });

  it('a database can be opened once, and again when it is closed', async () => {
    const { emptyDataDir } = await import('../../helpers/service/database.ts');
    const dataDir = await emptyDataDir();
    const first = await openDatabase({ databaseUrl: null, dataDir });
    await first.exec('create table kept (n integer); insert into kept values (7)');
    await expect(openDatabase({ databaseUrl: null, dataDir })).rejects.toMatchObject({
      code: 'DATABASE_IN_USE',
    });
    await first.close();
    const second = await openDatabase({ databaseUrl: null, dataDir });
    expect(await second.query('select n from kept')).toEqual([{ n: 7 }]);
    await second.close();
    await rm(dataDir, { recursive: true });
  });
});

it('a folder that is not a database is not used or overwritten', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-no-database-'));
  const file = join(dataDir, 'database', 'notes');
  await mkdir(join(dataDir, 'database'));
  await writeFile(file, 'kept');
  await expect(openDatabase({ databaseUrl: null, dataDir })).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('are not a database: move them away') as string,
  });
  expect(await readFile(file, 'utf8')).toBe('kept');
  await rm(dataDir, { recursive: true });
});

it('a broken embedded database is reported once', { timeout: 60_000 }, async () => {
  const broken: string[] = [];
  const db = await openDatabase({
    databaseUrl: null,
    dataDir: 'memory://',
    onBroken: ({ message }) => void broken.push(message),
  });
  await expect(db.query('select nothing')).rejects.toThrow('does not exist');
  expect(broken).toEqual([]);
  // A fatal case for the engine: its stack overflows, and that error is interrupted.
  await db.exec(`create function deeper(n int) returns int language sql as 'select deeper($1 + 1)'`);
  await db.query('select deeper(1)').catch(() => undefined);
  await db.query('select pg_cancel_backend(pg_backend_pid())').catch(() => undefined);
  await db.query('select 1').catch(() => undefined);
  await db.query('select 1').catch(() => undefined);
  expect(broken).toHaveLength(1);
  await db.close().catch(() => undefined);
});
