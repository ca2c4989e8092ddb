import type { RetryStrategy } from '../../protocol/job.ts';
import type { Reason, ReasonCode } from '../../protocol/reasons.ts';
import type { ResultStatus } from '../../protocol/result.ts';

/** What the retry decision needs to know about the attempts so far. */
export type AttemptHistory = {
  /** Number of the attempt that has just ended; counts from 1, over all locations. */
  attempt: number;
  status: ResultStatus;
  reason: Reason | null;
  /** Start of attempt 1, and the current time: milliseconds since the epoch. */
  firstAttemptAt: number;
  now: number;
  /** No attempt may start at or after this moment. */
  deadline: number;
};

/** The next attempt: its number, the delay before it, and whether another location makes it. */
export type NextAttempt = { attempt: number; delayMs: number; elsewhere: boolean };

/**
 * Failures of names, routes and connections, which `onlyOn: NETWORK_ERROR` retries. An answer from the target is not
 * one.
 */
const networkCodes: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'EACCES',
  'CONNECTION_CLOSED',
  'SOCKET_TIMEOUT',
  'TIMEOUT',
  // The agent's own network: the next attempt may find it working again.
  'OWN_NETWORK',
]);

export function isNetworkFailure(reason: Reason | null): boolean {
  return reason !== null && networkCodes.has(reason.code);
}

/** Seconds to wait before retry `n` (from 1). EXPONENTIAL is the base to the power of n. */
export function backoffSeconds(
  strategy: Pick<RetryStrategy, 'type' | 'baseBackoffSeconds'>,
  n: number,
): number {
  const base = strategy.baseBackoffSeconds;
  switch (strategy.type) {
    case 'FIXED':
    case 'SINGLE_RETRY':
      return base;
    case 'LINEAR':
      return base * n;
    case 'EXPONENTIAL':
      return base ** n;
  }
}

/**
 * Whether and when a job gets another attempt; null = the last attempt is final.
 *
 * Failures are retried, and attempts that the agent's own network spoiled. Other errored attempts are our own fault and
 * do not reflect the target. A retry is skipped if it would start later than maxDurationSeconds after the start of
 * attempt 1, or after the job's deadline.
 */
export function nextAttempt(strategy: RetryStrategy | null, history: AttemptHistory): NextAttempt | null {
  if (strategy === null || !isRetried(history)) return null;
  const single = strategy.type === 'SINGLE_RETRY';
  if (history.attempt > (single ? 1 : strategy.maxRetries)) return null;
  if (strategy.onlyOn.includes('NETWORK_ERROR') && !isNetworkFailure(history.reason)) return null;
  const delayMs = backoffSeconds(strategy, history.attempt) * 1000;
  const startsAt = history.now + delayMs;
  if (startsAt >= history.deadline) return null;
  // SINGLE_RETRY has no such limit: the specification does not accept one for it.
  if (!single && startsAt - history.firstAttemptAt > strategy.maxDurationSeconds * 1000) return null;
  return { attempt: history.attempt + 1, delayMs, elsewhere: !strategy.sameRegion };
}

function isRetried({ status, reason }: Pick<AttemptHistory, 'status' | 'reason'>): boolean {
  return status === 'failed' || (status === 'errored' && reason?.code === 'OWN_NETWORK');
}
