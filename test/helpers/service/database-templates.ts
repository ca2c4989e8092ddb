import { PGlite } from '@electric-sql/pglite';
import { createHash } from 'node:crypto';
import {
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { mkdtemp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '../../../src/service/db/migrate.ts';
import { openDatabase } from '../../../src/service/db/open-database.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import { startPostgres } from './postgres.ts';

/**
 * Databases as they are before a test: making an empty one takes seconds, and so do the migrations. Each is made once for
 * its version and these migrations, kept beside node_modules, and copied.
 */

const packageRoot = fileURLToPath(new URL('../../..', import.meta.url));
const cache = join(packageRoot, 'node_modules/.cache/location-agent');
const unusedMs = 86_400_000;

/** A folder with an embedded database: empty, or migrated. */
export function embeddedTemplate({ migrated }: { migrated: boolean }): Promise<string> {
  const version = packageVersion('@electric-sql/pglite');
  if (!migrated)
    return template(`pglite-${version}`, async (folder) => {
      const engine = await PGlite.create(folder);
      await engine.close();
    });
  return template(`migrated-pglite-${version}-${hashOfSchema()}`, async (folder) => {
    const dataDir = `${folder}-data`;
    mkdirSync(dataDir);
    copyFolder(await embeddedTemplate({ migrated: false }), join(dataDir, 'database'));
    const db = await openDatabase({ databaseUrl: null, dataDir });
    await migrate(db);
    // No further databases are created in it; this halves the files that each test copies.
    await db.exec('update pg_database set datistemplate = false');
    for (const name of ['template0', 'template1']) await db.exec(`drop database ${name}`);
    await db.exec('checkpoint');
    await db.close();
    copyFolder(join(dataDir, 'database'), folder);
    rmSync(dataDir, { recursive: true });
  });
}

/** The database of a server's template that is migrated; others are made from it. */
export const migratedDatabase = 'migrated';

/** The data folder of a server that these binaries run, which has `migratedDatabase`. */
export function serverTemplate(binaries: string): Promise<string> {
  const { size, mtimeMs } = statSync(join(binaries, 'postgres'));
  const key = createHash('sha256').update(`${binaries} ${size} ${mtimeMs}`).digest('hex').slice(0, 8);
  return template(`server-${key}-${hashOfSchema()}`, async (folder) => {
    const postgres = await startPostgres(binaries);
    try {
      const open = (name: string) =>
        openDatabase({ databaseUrl: new Secret(postgres.url(name)), dataDir: '' });
      const admin = await open('postgres');
      await admin.exec(`create database ${migratedDatabase}`);
      await admin.close();
      const db = await open(migratedDatabase);
      await migrate(db);
      await db.close();
    } finally {
      await postgres.stop((dataDir) => copyFolder(dataDir, folder));
    }
  });
}

/** Copies a folder of files and folders, in a twentieth of the time that Node's `cp` takes for a database. */
export function copyFolder(from: string, to: string, owner?: { uid: number; gid: number }): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  if (owner !== undefined) chownSync(to, owner.uid, owner.gid);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      copyFolder(source, target, owner);
      continue;
    }
    copyFileSync(source, target);
    if (owner !== undefined) chownSync(target, owner.uid, owner.gid);
  }
}

async function template(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cache, name);
  const now = new Date();
  try {
    utimesSync(folder, now, now);
    return folder;
  } catch {
    // Not made yet.
  }
  mkdirSync(cache, { recursive: true });
  removeUnused();
  const making = await mkdtemp(`${folder}-`);
  await make(making);
  // Another test file may have been quicker.
  await rename(making, folder).catch(() => rmSync(making, { recursive: true, force: true }));
  return folder;
}

/** Of earlier migrations, for example. */
function removeUnused(): void {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    const used = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (Date.now() - used > unusedMs) rmSync(folder, { recursive: true, force: true });
  }
}

/** All that decides on what a migrated database holds. */
function hashOfSchema(): string {
  const folder = join(packageRoot, 'src/service/db');
  const migrations = readdirSync(join(folder, 'migrations')).sort();
  const files = [
    '../../../test/helpers/service/database-templates.ts',
    'migrate.ts',
    'database-embedded.ts',
    'database-server.ts',
    ...migrations.map((name) => join('migrations', name)),
  ];
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(folder, file)));
  return hash.digest('hex').slice(0, 16);
}

function packageVersion(name: string): string {
  const manifest = readFileSync(join(packageRoot, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
