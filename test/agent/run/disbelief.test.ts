import { describe, expect, test } from 'vitest';
import type { DelayReading } from '../../../src/agent/load/own-delay.ts';
import { isExplainedByDelay, judged, ownDelayMs } from '../../../src/agent/run/disbelief.ts';
import { grade, type GradingRules } from '../../../src/agent/run/grade.ts';
import type { Outcome } from '../../../src/executors/interface/executor.ts';
import { reasonOf, type ReasonCode } from '../../../src/protocol/reasons.ts';

/** Which bad results the agent's own delay explains. Pure: an outcome, limits and a reading make a verdict. */

const calm: DelayReading = {
  elapsedMs: 1000,
  loopMs: 0,
  waitedMs: 0,
  throttledMs: 0,
  stoppedMs: null,
  childrenWaitedMs: null,
  pressurePercent: null,
};
const limits: GradingRules = { shouldFail: false, degradedResponseTime: 500, maxResponseTime: 800 };
const good: Outcome = { base: { ok: true }, responseTime: 100, timings: null, assertions: [], details: {} };
const failed = (code: ReasonCode): Outcome => ({ ...good, base: { ok: false, reason: reasonOf(code, 'x') } });
const assertion = (source: string, more: object) => ({
  source,
  property: '',
  comparison: 'LESS_THAN',
  target: '300',
  regex: null,
  actual: 900,
  error: 'expected to be less than 300',
  ...more,
});

function isExplained(outcome: Outcome, delay: Partial<DelayReading>, withChildren = false): boolean {
  return isExplainedByDelay({
    rules: limits,
    attempted: { outcome, grade: grade(limits, outcome) },
    delay: { ...calm, ...delay },
    withChildren,
  });
}

describe('slow responses', () => {
  const slow = (responseTime: number): Outcome => ({ ...good, responseTime });
  test.each([
    ['a failed response that would be below the limit', 900, { loopMs: 101 }, true],
    ['one that would still reach it', 900, { loopMs: 100 }, false],
    ['a degraded response that would pass', 600, { waitedMs: 200 }, true],
    ['one that would stay degraded', 600, { waitedMs: 90 }, false],
    ['no delay at all', 900, {}, false],
    ['a response that passed', 400, { loopMs: 900 }, false],
    ['a delay that exceeds the attempt', 1_500_000, { loopMs: 2_000_000 }, false],
  ] as const)('%s', (_name, responseTime, delay, expected) => {
    expect(isExplained(slow(responseTime), delay)).toBe(expected);
  });
});

describe('waits', () => {
  const codes = ['TIMEOUT', 'SOCKET_TIMEOUT', 'ETIMEDOUT', 'EAI_AGAIN', 'ECONNRESET', 'CONNECTION_CLOSED'];
  test.each(codes as ReasonCode[])('%s is ours if we took a quarter of the time', (code) => {
    expect(isExplained(failed(code), { elapsedMs: 30_000, loopMs: 7500 })).toBe(true);
    expect(isExplained(failed(code), { elapsedMs: 30_000, waitedMs: 7500 })).toBe(true);
    expect(isExplained(failed(code), { elapsedMs: 30_000, loopMs: 7000, waitedMs: 7000 })).toBe(false);
    expect(isExplained(failed(code), { elapsedMs: 100, loopMs: 90 })).toBe(false);
  });

  test.each(['ENOTFOUND', 'ECONNREFUSED', 'HTTP_STATUS', 'CERT_HAS_EXPIRED', 'DNS_RCODE'] as ReasonCode[])(
    '%s never comes from lateness',
    (code) => expect(isExplained(failed(code), { loopMs: 1000, waitedMs: 1000 })).toBe(false),
  );

  test('lost pings are ours if a reply may have waited for us', () => {
    expect(isExplained(failed('PACKET_LOSS'), { elapsedMs: 7000, loopMs: 1200 })).toBe(true);
    expect(isExplained(failed('PACKET_LOSS'), { elapsedMs: 7000, loopMs: 900 })).toBe(false);
    const degraded: Outcome = { ...good, base: { ok: true, degraded: reasonOf('PACKET_LOSS', 'x') } };
    expect(isExplained(degraded, { elapsedMs: 7000, loopMs: 1200 })).toBe(true);
  });
});

describe('assertions', () => {
  const withAssertions = (...assertions: ReturnType<typeof assertion>[]): Outcome => ({
    ...good,
    assertions,
  });
  test('about times are ours if they would hold without the delay', () => {
    expect(isExplained(withAssertions(assertion('RESPONSE_TIME', {})), { loopMs: 601 })).toBe(true);
    expect(isExplained(withAssertions(assertion('RESPONSE_TIME', {})), { loopMs: 600 })).toBe(false);
    expect(isExplained(withAssertions(assertion('LATENCY', { actual: { avg: 900 } })), { loopMs: 601 })).toBe(
      true,
    );
  });
  test('about anything else stay the target’s', () => {
    const body = assertion('JSON_BODY', { actual: 'x' });
    expect(isExplained(withAssertions(body), { loopMs: 1000 })).toBe(false);
    expect(isExplained(withAssertions(assertion('RESPONSE_TIME', {}), body), { loopMs: 1000 })).toBe(false);
  });
});

describe('customer code', () => {
  const thrown = (code: ReasonCode, message: string): Outcome => ({
    ...good,
    base: { ok: false, reason: reasonOf(code, message) },
  });
  const delay = { elapsedMs: 10_000, childrenWaitedMs: 6000 };
  test('the waits of its processes count', () => {
    expect(isExplained(thrown('TEST_FAILED', 'Timeout 5000ms exceeded.'), delay, true)).toBe(true);
    expect(isExplained(failed('SCRIPT_TIMEOUT'), { elapsedMs: 10_000, throttledMs: 6000 }, true)).toBe(true);
    expect(isExplained(failed('MARKED_DEGRADED'), { elapsedMs: 10_000, stoppedMs: 9000 }, true)).toBe(true);
    expect(isExplained(failed('MARKED_DEGRADED'), { elapsedMs: 10_000, stoppedMs: 8000 }, true)).toBe(false);
  });
  test.each([
    ['Timeout 5000ms exceeded.', true],
    ['page.waitForSelector: Timed out 1000ms', true],
    ['connect ETIMEDOUT 10.0.0.1:443', true],
    ['expected "Welcome" to be "Hello"', false],
    ["Cannot read properties of undefined (reading 'id')", false],
    ['the limit of 3 retries was exceeded', false],
  ])('what it threw counts if it is about time: %s', (message, isOurs) => {
    for (const code of ['TEST_FAILED', 'SCRIPT_THREW', 'INSTALL_FAILED'] as const)
      expect(isExplained(thrown(code, message), delay, true)).toBe(isOurs);
  });
  test('up to half of the time is usual next to other scripts', () => {
    expect(isExplained(failed('SCRIPT_TIMEOUT'), { ...delay, childrenWaitedMs: 4000 }, true)).toBe(false);
  });
  test('they do not count for attempts without any', () => {
    expect(isExplained(failed('TIMEOUT'), delay, false)).toBe(false);
  });
});

test('the delay is never more than the attempt took', () => {
  expect(ownDelayMs({ ...calm, elapsedMs: 50, loopMs: 70, waitedMs: 60 }, false)).toBe(50);
});

test('a disbelieved attempt is our own fault, with the evidence and the remedy', () => {
  const outcome = { ...good, responseTime: 900 };
  const attempted = {
    outcome,
    grade: grade(limits, outcome),
    artifacts: [],
    log: [],
    startedAt: 0,
    stoppedAt: 900,
  };
  const delay = {
    ...calm,
    elapsedMs: 900,
    loopMs: 700,
    waitedMs: 650,
    throttledMs: 600,
    pressurePercent: 88.8,
  };
  const doubted = judged({ rules: limits, attempted, delay, withChildren: false });
  expect(doubted).toMatchObject({
    disbelieved: { code: 'RESPONSE_TOO_SLOW' },
    grade: {
      status: 'errored',
      hasErrors: true,
      hasFailures: false,
      isDegraded: false,
      overMaxResponseTime: false,
      reason: { code: 'AGENT_OVERLOADED', owner: 'ours' },
    },
  });
  expect(doubted.grade.reason?.message).toBe(
    'the agent was delayed for 700 ms of 900 ms (event loop 700 ms late, 650 ms without a core, 600 ms stopped by the CPU quota, CPU pressure 89%), so this result is not believed: RESPONSE_TOO_SLOW: the response took 900 ms; the limit is 800 ms; give the agent more processor time (docs/guards.md)',
  );
  expect(judged({ rules: limits, attempted, delay: calm, withChildren: false })).toBe(attempted);
});
