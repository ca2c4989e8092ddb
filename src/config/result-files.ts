import { integer, type Environment } from './read.ts';

/** When results leave the database for files in the artifact store. */
export type ResultFilesConfig = {
  /** Results stay in the database for so many days after their own day (UTC); 0 = for as long as they are kept. */
  readonly afterDays: number;
};

const defaultDays = 1;
const maxDays = 3650;

/**
 * `isShared`: every process that reads results reaches the same store, and keeps it. Of a folder next to a database server that
 * is not known, so results leave that database only if it is configured. Throws FatalError (78).
 */
export function readResultFiles(env: Environment, { isShared }: { isShared: boolean }): ResultFilesConfig {
  return Object.freeze({
    afterDays: integer(env, 'SERVICE_RESULT_FILES_AFTER_DAYS', isShared ? defaultDays : 0, 0, maxDays),
  });
}
