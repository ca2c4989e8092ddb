import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { openDatabase } from '../../../src/service/db/open-database.ts';
import type { Db, DatabaseOptions } from '../../../src/service/db/database.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import { copyFolder, embeddedTemplate, migratedDatabase } from './database-templates.ts';

/**
 * Both kinds of database, for `describe.each(databases)`:
 *
 *   describe.each(databases)('jobs on $name', (database) => {
 *     describe.skipIf(database.unavailable !== null)(…) { const db = await database.open(); … await database.close() }
 */
export type TestDatabase = {
  name: 'embedded' | 'server';
  /** The reason why tests of this kind cannot run here; null = they can. */
  unavailable: string | null;
  /** A new database, migrated by default. Several replicas are several pools on it (server only). */
  open(options?: OpenOptions): Promise<Db>;
  openReplicas(count: number, options?: OpenOptions): Promise<Db[]>;
  /** Closes all that was opened. */
  close(): Promise<void>;
};
type OpenOptions = { migrated?: boolean; onStatement?: DatabaseOptions['onStatement'] };

/** The URL of the server for these tests, without a database name. */
const url = inject('postgres');

export const databases: readonly TestDatabase[] = [embedded(), server()];

/**
 * For tests whose subject is not the database: the tests' server where there is one, which takes a fraction of the processor
 * time that an embedded database of a file's own takes.
 */
export const anyDatabase = databases.findLast(({ unavailable }) => unavailable === null) as TestDatabase; // the embedded one is there

const cascades = new WeakMap<Db, Map<string, string>>();

/**
 * Deletes all rows of these tables (`a, b`) and of all that refer to them: what `truncate … cascade` does, in a hundredth of the
 * time, because that makes new files for each table and each index.
 */
export async function emptyTables(db: Db, tables: string): Promise<void> {
  const known = cascades.get(db) ?? new Map<string, string>();
  cascades.set(db, known);
  let statements = known.get(tables);
  if (statements === undefined) {
    const found = await db.query<{ name: string }>(
      `with recursive emptied (id) as (
         select oid from pg_class where oid = any (regexp_split_to_array($1, ', *')::regclass[])
         union
         select conrelid from pg_constraint join emptied on confrelid = id where contype = 'f')
       select id::regclass::text as name from emptied where id not in (select inhrelid from pg_inherits)`,
      [tables],
    );
    statements = found.map(({ name }) => `delete from ${name};`).join('\n');
    known.set(tables, statements);
  }
  // Rows that refer to others may go after them.
  await db.exec(`do $$ begin set local session_replication_role = replica; ${statements} end $$`);
}

function embedded(): TestDatabase {
  const closers: (() => Promise<void>)[] = [];
  async function open(options: OpenOptions = {}): Promise<Db> {
    const dataDir = await dataDirOf({ migrated: options.migrated !== false });
    const db = await openDatabase({ databaseUrl: null, dataDir, ...observed(options) });
    closers.push(async () => {
      await db.close();
      await rm(dataDir, { recursive: true, force: true });
    });
    return db;
  }
  return {
    name: 'embedded',
    unavailable: null,
    open,
    // One process, one connection: its replicas share it.
    openReplicas: async (count, options) => Array<Db>(count).fill(await open(options)),
    close: () => closeAll(closers),
  };
}

/** Databases of one server, which all test files share. */
function server(): TestDatabase {
  const closers: (() => Promise<void>)[] = [];
  let made = 0;
  const open = (name: string, options: OpenOptions = {}): Promise<Db> =>
    openDatabase({ databaseUrl: new Secret(`${url}${name}`), dataDir: '', ...observed(options) });
  async function openReplicas(count: number, options: OpenOptions = {}): Promise<Db[]> {
    if (url === null) throw new Error('no PostgreSQL binaries');
    const name = `test_${process.pid}_${++made}`;
    const admin = await open('postgres');
    await admin.exec(
      `create database ${name}${options.migrated === false ? '' : ` template ${migratedDatabase}`}`,
    );
    await admin.close();
    const replicas = await Promise.all(Array.from({ length: count }, () => open(name, options)));
    closers.push(...replicas.map((db) => () => db.close()));
    return replicas;
  }
  return {
    name: 'server',
    unavailable: url === null ? 'no PostgreSQL binaries: apt-get install postgresql' : null,
    open: async (options) => {
      const [db] = await openReplicas(1, options);
      if (db === undefined) throw new Error('not opened');
      return db;
    },
    openReplicas,
    close: () => closeAll(closers),
  };
}

const observed = ({ onStatement }: OpenOptions) => (onStatement === undefined ? {} : { onStatement });

async function closeAll(closers: (() => Promise<void>)[]): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

/** The variables for a service in its own process: of an existing database, and of its data folder. */
export type ServicePlace = {
  env: { SERVICE_DATA_DIR: string; [name: string]: string };
  remove: () => Promise<void>;
};

/**
 * On the tests' server where there is one, which takes a fraction of the processor time that an embedded database in each
 * program takes: for tests whose subject is not the database.
 */
export async function servicePlace({ embedded = url === null } = {}): Promise<ServicePlace> {
  const remove = (folder: string) => rm(folder, { recursive: true, force: true });
  if (embedded) {
    const folder = await dataDirOf({ migrated: true });
    return { env: { SERVICE_DATA_DIR: folder }, remove: () => remove(folder) };
  }
  const name = `service_${process.pid}_${++servicePlaces}`;
  const admin = await openDatabase({ databaseUrl: new Secret(`${url}postgres`), dataDir: '' });
  await admin.exec(`create database ${name} template ${migratedDatabase}`);
  await admin.close();
  const folder = await mkdtemp(join(tmpdir(), 'location-agent-test-'));
  const encryption = { SERVICE_ENCRYPTION_KEY: 'a key for tests of a service as a program' };
  return {
    env: { SERVICE_DATA_DIR: folder, DATABASE_URL: `${url}${name}`, ...encryption },
    remove: () => remove(folder),
  };
}
let servicePlaces = 0;

/** Puts an embedded database that is made already into a data directory, which may not be there yet. */
export async function fillDataDir(dataDir: string): Promise<void> {
  copyFolder(await embeddedTemplate({ migrated: true }), join(dataDir, 'database'));
}

/** A data directory with an empty embedded database. */
export const emptyDataDir = (): Promise<string> => dataDirOf({ migrated: false });

async function dataDirOf(kind: { migrated: boolean }): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-test-'));
  copyFolder(await embeddedTemplate(kind), join(dataDir, 'database'));
  return dataDir;
}
