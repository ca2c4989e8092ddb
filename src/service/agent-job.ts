import { attemptTimeoutMs, jobTypes, type JobType } from '../protocol/check-types.ts';
import type { RetryStrategy } from '../protocol/job.ts';
import { openRequest } from './api/check-storage.ts';
import type { ClaimedJob } from './db/jobs-claim.ts';
import { openVariables, type Encryption } from './encryption.ts';

/** The job as an agent gets it, built from the check's stored definition. */

type Definition = {
  request: object;
  shouldFail?: boolean;
  doubleCheck?: boolean;
  degradedResponseTime?: number | null;
  maxResponseTime?: number | null;
  retryStrategy?: Partial<RetryStrategy> | null;
  environmentVariables?: { key: string; value: string; locked: boolean; secret: boolean }[] | null;
  clientCertificates?: unknown[];
  degradedPacketLossThreshold?: number;
  maxPacketLossThreshold?: number;
};

/** Beyond what attempts and waits may take: the way to the agent, its queue, its clock. */
const deadlineSlackMs = 60_000;

/** Throws EncryptionError when a secret of the check was sealed with another key. */
export function buildJob(
  claimed: ClaimedJob,
  { encryption, proxyUrl, now }: { encryption: Encryption; proxyUrl: string | null; now: number },
): Record<string, unknown> {
  const definition = claimed.definition as Definition; // written by check-storage.ts
  const retryStrategy = retryStrategyOf(definition, claimed.runParallel || claimed.locationCount < 2);
  return {
    jobId: claimed.jobId,
    runId: claimed.runId,
    sequenceId: claimed.sequenceId,
    checkId: claimed.checkId,
    checkName: claimed.checkName,
    checkType: claimed.checkType,
    lane: claimed.lane,
    runLocation: claimed.runLocation,
    runSource: claimed.runSource,
    dueAt: claimed.dueAt.toISOString(),
    attempt: claimed.attempt,
    firstAttemptAt: claimed.firstAttemptAt?.toISOString() ?? null,
    leaseToken: claimed.leaseToken,
    leaseExpiresAt: claimed.leaseExpiresAt.toISOString(),
    deadline: new Date(now + longestRunMs(claimed, retryStrategy)).toISOString(),
    shouldFail: definition.shouldFail ?? false,
    degradedResponseTime: definition.degradedResponseTime ?? null,
    maxResponseTime: definition.maxResponseTime ?? null,
    retryStrategy,
    environmentVariables: openVariables(definition.environmentVariables ?? [], encryption),
    proxyUrl,
    request: openRequest(definition.request, encryption),
    ...(claimed.checkType === 'API' ? { clientCertificates: definition.clientCertificates ?? [] } : {}),
    ...(claimed.checkType === 'ICMP'
      ? {
          degradedPacketLossThreshold: definition.degradedPacketLossThreshold ?? 10,
          maxPacketLossThreshold: definition.maxPacketLossThreshold ?? 20,
        }
      : {}),
  };
}

/**
 * The check's own strategy with its defaults (facts, section 3), else doubleCheck's one retry at once, else none.
 * `staysHere`: with runParallel, or with one location, there is no other one to go to.
 */
export function retryStrategyOf(
  definition: Pick<Definition, 'retryStrategy' | 'doubleCheck'>,
  staysHere: boolean,
): RetryStrategy | null {
  const { retryStrategy, doubleCheck } = definition;
  if (retryStrategy === undefined || retryStrategy === null) {
    if (doubleCheck !== true) return null;
    return {
      type: 'FIXED',
      baseBackoffSeconds: 0,
      maxRetries: 1,
      maxDurationSeconds: 600,
      sameRegion: staysHere,
      onlyOn: [],
    };
  }
  const type = retryStrategy.type ?? 'FIXED';
  return {
    type,
    baseBackoffSeconds: retryStrategy.baseBackoffSeconds ?? 60,
    maxRetries: type === 'SINGLE_RETRY' ? 1 : (retryStrategy.maxRetries ?? 2),
    maxDurationSeconds: retryStrategy.maxDurationSeconds ?? 600,
    sameRegion: staysHere || (retryStrategy.sameRegion ?? true),
    onlyOn: retryStrategy.onlyOn ?? [],
  };
}

/** The longest that a run may take from its claim on: its attempts and the waits between them. */
function longestRunMs(claimed: ClaimedJob, retryStrategy: RetryStrategy | null): number {
  const type: JobType | undefined = jobTypes.find((candidate) => candidate === claimed.checkType);
  const attemptMs = type === undefined ? 60_000 : attemptTimeoutMs[type];
  if (retryStrategy === null) return attemptMs + deadlineSlackMs;
  const { baseBackoffSeconds: base, maxRetries } = retryStrategy;
  let waitSeconds = 0;
  for (let retry = 1; retry <= maxRetries; retry++) {
    const delays = { FIXED: base, SINGLE_RETRY: base, LINEAR: base * retry, EXPONENTIAL: base ** retry };
    waitSeconds += delays[retryStrategy.type];
  }
  // No retry starts after maxDurationSeconds, but one that started before may still take its time.
  const retryingMs = Math.min(
    waitSeconds * 1000 + maxRetries * attemptMs,
    retryStrategy.maxDurationSeconds * 1000,
  );
  return retryingMs + attemptMs + deadlineSlackMs;
}
