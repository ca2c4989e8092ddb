import { randomUUID } from 'node:crypto';
import { laneOf, type JobType } from '../../protocol/check-types.ts';
import type { EnvironmentVariable } from '../../protocol/job.ts';

/**
 * The common fields of jobs that `run` makes from a script or a project: one immediate run, with all artifacts kept.
 * `now`: milliseconds since the epoch; `limitMs`: the time limit of an attempt.
 */
export function localJob<T extends JobType>(
  checkType: T,
  options: { name: string; variables: readonly EnvironmentVariable[]; now: number; limitMs: number },
) {
  const until = new Date(options.now + options.limitMs).toISOString();
  return {
    jobId: randomUUID(),
    runId: randomUUID(),
    sequenceId: randomUUID(),
    checkId: randomUUID(),
    checkName: options.name,
    checkType,
    lane: laneOf[checkType],
    runLocation: 'local',
    runSource: 'CLI',
    testSession: true,
    dueAt: new Date(options.now).toISOString(),
    attempt: 1,
    firstAttemptAt: null,
    leaseToken: randomUUID(),
    leaseExpiresAt: until,
    deadline: until,
    shouldFail: false,
    degradedResponseTime: null,
    maxResponseTime: null,
    retryStrategy: null,
    environmentVariables: [...options.variables],
    proxyUrl: null,
  };
}
