import type { RetryStrategy } from '../../protocol/job.ts';
import type { Reason, ReasonCode } from '../../protocol/reasons.ts';
import type { ResultStatus } from '../../protocol/result.ts';

/** What the decision about another attempt needs to know of the attempts so far. */
export type AttemptHistory = {
  /** The attempt that has just ended; counts from 1, over all locations. */
  attempt: number;
  status: ResultStatus;
  reason: Reason | null;
  /** Start of attempt 1, and now: milliseconds since the epoch. */
  firstAttemptAt: number;
  now: number;
  /** No attempt may start at or after this moment. */
  deadline: number;
};

/** The next attempt: which, how long to wait before it, and whether another location is to make it. */
export type NextAttempt = { attempt: number; delayMs: number; elsewhere: boolean };

/** Failures of names, routes and connections: what `onlyOn: NETWORK_ERROR` retries. An answer of the target is none. */
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
]);

export function isNetworkFailure(reason: Reason | null): boolean {
  return reason !== null && networkCodes.has(reason.code);
}

/** Seconds to wait before retry `n` (from 1). EXPONENTIAL is the base to the power of n, as the strategy's name says. */
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
 * Whether and when a job gets another attempt; null = the one that ended was the last.
 *
 * Only a failure is retried: an errored attempt is our own fault, and says nothing about the target. A retry that would
 * begin after maxDurationSeconds (counted from the start of attempt 1, running time included) or after the job's
 * deadline does not begin at all.
 */
export function nextAttempt(strategy: RetryStrategy | null, history: AttemptHistory): NextAttempt | null {
  if (strategy === null || history.status !== 'failed') return null;
  const single = strategy.type === 'SINGLE_RETRY';
  if (history.attempt > (single ? 1 : strategy.maxRetries)) return null;
  if (strategy.onlyOn.includes('NETWORK_ERROR') && !isNetworkFailure(history.reason)) return null;
  const delayMs = backoffSeconds(strategy, history.attempt) * 1000;
  const startsAt = history.now + delayMs;
  if (startsAt >= history.deadline) return null;
  // SINGLE_RETRY has no such limit: the specification accepts none for it.
  if (!single && startsAt - history.firstAttemptAt > strategy.maxDurationSeconds * 1000) return null;
  return { attempt: history.attempt + 1, delayMs, elsewhere: !strategy.sameRegion };
}
