import { integer, type Environment } from './read.ts';

/** When results leave the database for files in the artifact store. */
export type ResultFilesConfig = {
  /** Results stay in the database for so many days after their own day (UTC); 0 = for as long as they are kept. */
  readonly afterDays: number;
};

const defaultDays = 0;
const maxDays = 3650;

/** Throws FatalError (78). */
export function readResultFiles(env: Environment): ResultFilesConfig {
  return Object.freeze({
    afterDays: integer(env, 'SERVICE_RESULT_FILES_AFTER_DAYS', defaultDays, 0, maxDays),
  });
}
