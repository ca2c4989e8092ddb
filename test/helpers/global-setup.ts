import type { TestProject } from 'vitest/node';
import { buildPages, pagesFolder } from './build-pages.ts';
import { copyFolder, embeddedTemplate, serverTemplate } from './service/database-templates.ts';
import { postgresBinaries, startPostgres, type Postgres } from './service/postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the tests' PostgreSQL server, without a database's name; null = there are no binaries of one. */
    postgres: string | null;
  }
}

/** Each project of vitest.config.ts is set up by itself, in one process: what they share is made by the first. */
type Shared = { server: Promise<Postgres | null>; users: number };
const name = Symbol.for('location-agent.tests');
const processWide = globalThis as { [name]?: Shared };

/**
 * Runs once, before any test file: makes the databases that tests copy, where they are not made yet (several files would do so
 * at once, and a hook's time could pass on a busy machine), and starts the server on which each test makes its own. Builds the
 * pages of the service too.
 */
async function start(): Promise<Postgres | null> {
  // Services in tests run from src/.
  buildPages(pagesFolder);
  await embeddedTemplate({ migrated: true });
  const binaries = await postgresBinaries();
  if (binaries === null) return null;
  const folder = await serverTemplate(binaries);
  // Databases that live for seconds need no vacuum, which would go round through all of them.
  const settings = ['max_connections=300', 'autovacuum=off'];
  return startPostgres(binaries, settings, (dataDir, owner) => copyFolder(folder, dataDir, owner));
}

export async function setup(project: TestProject): Promise<void> {
  const shared = (processWide[name] ??= { server: start(), users: 0 });
  shared.users += 1;
  const server = await shared.server;
  project.provide('postgres', server?.url('') ?? null);
}

export async function teardown(): Promise<void> {
  const shared = processWide[name];
  if (shared === undefined || (shared.users -= 1) > 0) return;
  delete processWide[name];
  const server = await shared.server;
  await server?.stop();
}
