import { integer, type Environment } from './read.ts';

/** When results leave the database for files in the artifact store. */
export type ResultFilesConfig = {
  /** Results stay in the database for so many days after their own day (UTC); 0 = for as long as they are kept. */
  readonly afterDays: number;
};

const defaultDays = 1;
const maxDays = 3650;

/**
 * `isEmbedded`: the database is, so that one process has both stores. Results leave a database server only if it is configured:
 * replicas of an earlier release and older backups know nothing of the files. Throws FatalError (78).
 */
export function readResultFiles(
  env: Environment,
  { isEmbedded }: { isEmbedded: boolean },
): ResultFilesConfig {
  return Object.freeze({
    afterDays: integer(env, 'SERVICE_RESULT_FILES_AFTER_DAYS', isEmbedded ? defaultDays : 0, 0, maxDays),
  });
}
