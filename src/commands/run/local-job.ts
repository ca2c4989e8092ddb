import { randomUUID } from 'node:crypto';
import { laneOf, type JobType } from '../../protocol/check-types.ts';
import type { EnvironmentVariable } from '../../protocol/job.ts';

/**
 * What jobs that `run` makes of a script or a project have in common: made here and now, at once, once, by somebody who waits
 * and wants to see everything. `now`: milliseconds since the epoch; `limitMs`: what an attempt may take.
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
