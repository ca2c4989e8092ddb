import { fail, integer, type Environment } from './read.ts';

/** How long the service keeps data, in days. */
export type RetentionConfig = {
  /** Raw results, sessions and error events. */
  readonly resultDays: number;
  /** Files of runs. */
  readonly artifactDays: number;
  /** Hourly figures, from which analytics and reports are made. */
  readonly rollupDays: number;
};

export const defaultRetention: RetentionConfig = { resultDays: 30, artifactDays: 30, rollupDays: 400 };

const max = 3650;

/** Throws FatalError (78). */
export function readRetention(env: Environment): RetentionConfig {
  // At least two days, because a result may arrive up to one day late.
  const resultDays = integer(env, 'SERVICE_RETENTION_DAYS', defaultRetention.resultDays, 2, max);
  const artifactDays = integer(env, 'SERVICE_ARTIFACT_RETENTION_DAYS', resultDays, 1, max);
  const rollupDays = integer(
    env,
    'SERVICE_ROLLUP_RETENTION_DAYS',
    Math.max(defaultRetention.rollupDays, resultDays),
    2,
    max,
  );
  if (artifactDays > resultDays) {
    fail(
      `SERVICE_ARTIFACT_RETENTION_DAYS must be at most SERVICE_RETENTION_DAYS (${resultDays}): artifacts are found by their results`,
    );
  }
  if (rollupDays < resultDays) {
    fail(
      `SERVICE_ROLLUP_RETENTION_DAYS must be at least SERVICE_RETENTION_DAYS (${resultDays}): analytics read rollups first`,
    );
  }
  return Object.freeze({ resultDays, artifactDays, rollupDays });
}
