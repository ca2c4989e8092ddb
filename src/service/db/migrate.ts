import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { exitCodes, FatalError } from '../../errors.ts';
import { sqlState, type Db } from './database.ts';

/**
 * Numbered SQL files: `0001-core.sql` is version 1. Each is applied once, in order, and never changes after its
 * release.
 */

type Migration = { version: number; name: string; url: URL };

/** Arbitrary, but the same in every replica. */
const advisoryLock = 4_400_001;
/**
 * A change of a table waits for statements that read it, such as a dump, and everything else waits for the change. So it
 * gives up after `waitMs` and tries again after `pauseMs`.
 */
const usualPace = { waitMs: 3_000, pauseMs: 5_000 };
const lockNotAvailable = '55P03';

// The compiled program runs from another folder of the package, but the SQL files stay here (package.json, "files").
const folderInPackage = 'src/service/db/migrations/';
const maxFoldersUp = 8;

/**
 * Migrates the database to this program's version and returns the applied versions. Replicas that start together take
 * turns. Throws FatalError CONFIGURATION if the database is newer than the program.
 */
export async function migrate(
  db: Db,
  folder: URL = migrationsFolder(),
  { waitMs, pauseMs } = usualPace,
): Promise<number[]> {
  const migrations = await listMigrations(folder);
  for (;;) {
    try {
      return await applyMissing(db, migrations, waitMs);
    } catch (error) {
      if (sqlState(error) !== lockNotAvailable) throw error;
      await setTimeout(pauseMs);
    }
  }
}

async function applyMissing(db: Db, migrations: readonly Migration[], waitMs: number): Promise<number[]> {
  const newest = migrations.at(-1)?.version ?? 0;
  return db.tx(async (tx) => {
    await tx.query(`select set_config('statement_timeout', '0', true)`);
    await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
    await tx.query(`select set_config('lock_timeout', $1, true)`, [String(waitMs)]);
    await tx.exec(
      `create table if not exists schema_migrations (
         version integer primary key, name text not null, applied_at timestamptz not null default now())`,
    );
    const rows = await tx.query<{ version: number }>('select version from schema_migrations');
    const applied = new Set(rows.map(({ version }) => version));
    const highest = Math.max(0, ...applied);
    if (highest > newest) {
      throw new FatalError(
        'CONFIGURATION',
        `the database has schema version ${highest}, but this program supports versions up to ${newest}`,
        { exitCode: exitCodes.configuration, remedy: 'run a newer version of the program' },
      );
    }
    const missing = migrations.filter(({ version }) => !applied.has(version));
    for (const { version, name, url } of missing) {
      await tx.exec(await readFile(url, 'utf8'));
      await tx.query('insert into schema_migrations (version, name) values ($1, $2)', [version, name]);
    }
    return missing.map(({ version }) => version);
  });
}

function migrationsFolder(): URL {
  let folder = new URL('./', import.meta.url);
  for (let up = 0; up < maxFoldersUp; up++, folder = new URL('../', folder)) {
    const candidate = new URL(folderInPackage, folder);
    if (existsSync(candidate)) return candidate;
  }
  throw new Error(`the package is incomplete: ${folderInPackage} is missing`);
}

async function listMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const migrations = names.map((name) => {
    const version = Number(/^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1]);
    return { version, name: name.slice(0, -'.sql'.length), url: new URL(name, folder) };
  });
  // Gaps are harmless: a missing number is applied once its file exists.
  const bad = migrations.find(({ version }, index) => !(version > (migrations[index - 1]?.version ?? 0)));
  if (bad !== undefined) throw new Error(`${bad.name}.sql: each migration must have a unique number`);
  return migrations;
}
