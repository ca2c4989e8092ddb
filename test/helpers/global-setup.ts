import type { TestProject } from 'vitest/node';
import { copyFolder, embeddedTemplate, serverTemplate } from './database-templates.ts';
import { postgresBinaries, startPostgres, type Postgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the tests' PostgreSQL server, without a database's name; null = there are no binaries of one. */
    postgres: string | null;
  }
}

let server: Postgres | null = null;

/**
 * Runs once, before any test file: makes the databases that tests copy, where they are not made yet (several files would do so
 * at once, and a hook's time could pass on a busy machine), and starts the server on which each test makes its own.
 */
export async function setup(project: TestProject): Promise<void> {
  await embeddedTemplate({ migrated: true });
  const binaries = await postgresBinaries();
  if (binaries !== null) {
    const folder = await serverTemplate(binaries);
    // Databases that live for seconds need no vacuum, which would go round through all of them.
    const settings = ['max_connections=300', 'autovacuum=off'];
    server = await startPostgres(binaries, settings, (dataDir, owner) => copyFolder(folder, dataDir, owner));
  }
  project.provide('postgres', server?.url('') ?? null);
}

export async function teardown(): Promise<void> {
  await server?.stop();
}
