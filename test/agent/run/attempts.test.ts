import { describe, expect, test } from 'vitest';
import { backoffSeconds, nextAttempt, type AttemptHistory } from '../../../src/agent/run/attempts.ts';
import type { RetryStrategy } from '../../../src/protocol/job.ts';
import { reasonOf, type ReasonCode } from '../../../src/protocol/reasons.ts';

const strategy = (more: Partial<RetryStrategy> = {}): RetryStrategy => ({
  type: 'FIXED',
  baseBackoffSeconds: 60,
  maxRetries: 2,
  maxDurationSeconds: 600,
  sameRegion: true,
  onlyOn: [],
  ...more,
});

const start = 1_000_000_000;
const history = (more: Partial<AttemptHistory> = {}): AttemptHistory => ({
  attempt: 1,
  status: 'failed',
  reason: reasonOf('HTTP_STATUS', 'status 500'),
  firstAttemptAt: start,
  now: start + 1000,
  deadline: start + 3_600_000,
  ...more,
});

describe('wait before retry n', () => {
  test.each([
    ['FIXED', 5, [5, 5, 5]],
    ['LINEAR', 5, [5, 10, 15]],
    ['EXPONENTIAL', 5, [5, 25, 125]],
    ['EXPONENTIAL', 60, [60, 3600, 216_000]],
    ['EXPONENTIAL', 1, [1, 1, 1]],
    ['EXPONENTIAL', 0, [0, 0, 0]],
    ['SINGLE_RETRY', 5, [5, 5, 5]],
  ] as const)('%s with base %d', (type, baseBackoffSeconds, expected) => {
    expect([1, 2, 3].map((n) => backoffSeconds({ type, baseBackoffSeconds }, n))).toEqual(expected);
  });
});

describe('whether there is a next attempt', () => {
  test('no strategy, no retry', () => {
    expect(nextAttempt(null, history())).toBeNull();
  });

  test.each(['passed', 'degraded', 'errored', 'cancelled', 'missed'] as const)(
    '%s is not retried',
    (status) => {
      expect(nextAttempt(strategy(), history({ status }))).toBeNull();
    },
  );

  test('a failure is, with the wait of its retry', () => {
    expect(nextAttempt(strategy({ type: 'LINEAR' }), history({ attempt: 2 }))).toEqual({
      attempt: 3,
      delayMs: 120_000,
      elsewhere: false,
    });
  });

  test.each([
    [1, 2, 2],
    [2, 2, 3],
    [3, 2, null],
    [1, 1, 2],
    [2, 1, null],
    [10, 10, 11],
    [11, 10, null],
  ])('attempt %d of a strategy with %d retries is followed by %s', (attempt, maxRetries, next) => {
    const decided = nextAttempt(strategy({ maxRetries, baseBackoffSeconds: 0 }), history({ attempt }));
    expect(decided?.attempt ?? null).toBe(next);
  });

  test('SINGLE_RETRY is one retry, regardless of maxRetries and maxDurationSeconds', () => {
    const single = strategy({ type: 'SINGLE_RETRY', maxRetries: 10, maxDurationSeconds: 0 });
    expect(nextAttempt(single, history())).toEqual({ attempt: 2, delayMs: 60_000, elsewhere: false });
    expect(nextAttempt(single, history({ attempt: 2 }))).toBeNull();
  });

  test('sameRegion: false asks for another location', () => {
    expect(nextAttempt(strategy({ sameRegion: false }), history())?.elsewhere).toBe(true);
  });

  test.each([
    // Two minutes in all, a run of one and a half: half a minute is left.
    [120, 90, 30, 2],
    [120, 90, 31, null],
    [120, 90, 29, 2],
    [0, 1, 0, null],
    [600, 1, 600, null],
    [600, 0, 600, 2],
  ])(
    'of %d s in all %d s have gone: a retry after %d s is attempt %s',
    (maxDurationSeconds, gone, baseBackoffSeconds, next) => {
      const decided = nextAttempt(
        strategy({ maxDurationSeconds, baseBackoffSeconds }),
        history({ now: start + gone * 1000 }),
      );
      expect(decided?.attempt ?? null).toBe(next);
    },
  );

  test('maxDurationSeconds counts from attempt 1, also over a hand-back', () => {
    const late = history({ attempt: 2, now: start + 599_000 });
    expect(nextAttempt(strategy({ baseBackoffSeconds: 1 }), late)?.attempt).toBe(3);
    expect(nextAttempt(strategy({ baseBackoffSeconds: 2 }), late)).toBeNull();
  });

  test('no attempt begins at or after the job deadline', () => {
    const soon = { now: start, deadline: start + 60_000 };
    expect(nextAttempt(strategy({ baseBackoffSeconds: 59.999 }), history(soon))?.attempt).toBe(2);
    expect(nextAttempt(strategy({ baseBackoffSeconds: 60 }), history(soon))).toBeNull();
  });
});

describe('onlyOn NETWORK_ERROR', () => {
  const only = strategy({ onlyOn: ['NETWORK_ERROR'] });
  const retried = (code: ReasonCode) => nextAttempt(only, history({ reason: reasonOf(code, '') })) !== null;

  test.each([
    'ECONNRESET',
    'ENOTFOUND',
    'ETIMEDOUT',
    'EAI_AGAIN',
    'ECONNREFUSED',
    'EHOSTUNREACH',
    'TIMEOUT',
  ] as const)('%s is retried', (code) => expect(retried(code)).toBe(true));
  test.each([
    'HTTP_STATUS',
    'ASSERTION_FAILED',
    'RESPONSE_TOO_SLOW',
    'CERT_HAS_EXPIRED',
    'SHOULD_HAVE_FAILED',
  ] as const)('%s is not', (code) => expect(retried(code)).toBe(false));
});
