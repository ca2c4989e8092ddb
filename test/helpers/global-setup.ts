import { embeddedTemplate, serverTemplate } from './database-templates.ts';
import { postgresBinaries } from './postgres.ts';

/**
 * Runs once, before any test file: makes the databases that tests copy, where they are not made yet. Were it left to the test
 * files, several would make them at once, and a hook's time could pass on a busy machine.
 */
export default async function setup(): Promise<void> {
  await embeddedTemplate({ migrated: true });
  const binaries = await postgresBinaries();
  if (binaries !== null) await serverTemplate(binaries);
}
