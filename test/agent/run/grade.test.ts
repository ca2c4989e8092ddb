import { describe, expect, test } from 'vitest';
import { grade, type GradingRules } from '../../../src/agent/run/grade.ts';
import type { Outcome } from '../../../src/executors/interface/executor.ts';
import type { AssertionResult } from '../../../src/protocol/assertions.ts';
import { reasonOf } from '../../../src/protocol/reasons.ts';

const rules = (more: Partial<GradingRules> = {}): GradingRules => ({
  shouldFail: false,
  degradedResponseTime: 100,
  maxResponseTime: 200,
  ...more,
});
const outcome = (more: Partial<Outcome> = {}): Outcome => ({
  base: { ok: true },
  responseTime: 50,
  timings: null,
  assertions: [],
  details: {},
  ...more,
});
const assertion = (error: string | null): AssertionResult => ({
  source: 'STATUS_CODE',
  property: '',
  comparison: 'EQUALS',
  target: '200',
  regex: null,
  actual: 500,
  error,
});
const status500 = reasonOf('HTTP_STATUS', 'status 500');
const failedBase: Outcome['base'] = { ok: false, reason: status500 };
const short = (rule: GradingRules, seen: Outcome) => {
  const { status, reason, overMaxResponseTime } = grade(rule, seen);
  return [status, reason?.code ?? null, overMaxResponseTime];
};

describe('limits: reached at a response time equal to them', () => {
  test.each([
    [99.999, ['passed', null, false]],
    [100, ['degraded', 'RESPONSE_TOO_SLOW', false]],
    [199.999, ['degraded', 'RESPONSE_TOO_SLOW', false]],
    [200, ['failed', 'RESPONSE_TOO_SLOW', true]],
    [5000, ['failed', 'RESPONSE_TOO_SLOW', true]],
  ])('%d ms', (responseTime, expected) => {
    expect(short(rules(), outcome({ responseTime }))).toEqual(expected);
  });

  test('no limits', () => {
    const none = rules({ degradedResponseTime: null, maxResponseTime: null });
    expect(short(none, outcome({ responseTime: 1e9 }))).toEqual(['passed', null, false]);
  });

  test('a limit of 0 is always reached', () => {
    expect(short(rules({ maxResponseTime: 0 }), outcome({ responseTime: 0 }))[0]).toBe('failed');
    const degraded = rules({ degradedResponseTime: 0, maxResponseTime: null });
    expect(short(degraded, outcome({ responseTime: 0 }))[0]).toBe('degraded');
  });
});

describe('precedence: base, assertions, limits, degradation', () => {
  test.each([
    ['base alone', outcome({ base: failedBase }), ['failed', 'HTTP_STATUS', false]],
    ['base and slow', outcome({ base: failedBase, responseTime: 300 }), ['failed', 'HTTP_STATUS', true]],
    [
      'assertion',
      outcome({ assertions: [assertion(null), assertion('is not')] }),
      ['failed', 'ASSERTION_FAILED', false],
    ],
    [
      'base and assertion',
      outcome({ base: failedBase, assertions: [assertion('is not')] }),
      ['failed', 'HTTP_STATUS', false],
    ],
    [
      'assertion and slow',
      outcome({ assertions: [assertion('is not')], responseTime: 300 }),
      ['failed', 'ASSERTION_FAILED', true],
    ],
    ['assertions hold', outcome({ assertions: [assertion(null)] }), ['passed', null, false]],
    [
      'assertion and degraded time',
      outcome({ assertions: [assertion('is not')], responseTime: 150 }),
      ['failed', 'ASSERTION_FAILED', false],
    ],
  ] as const)('%s', (_name, seen, expected) => {
    expect(short(rules(), seen)).toEqual(expected);
  });

  test('the reason of a failed assertion names the assertion and the cause', () => {
    const seen = outcome({ assertions: [assertion(null), assertion('expected 200, got 500')] });
    expect(grade(rules(), seen).reason).toEqual({
      code: 'ASSERTION_FAILED',
      owner: 'target',
      message: 'assertion 2 of 2 failed: STATUS_CODE: expected 200, got 500',
    });
  });
});

describe('packet loss: a base that is degraded', () => {
  const loss = reasonOf('PACKET_LOSS', '10 % lost');
  const unlimited = rules({ degradedResponseTime: null, maxResponseTime: null });
  test('degrades a run that passed otherwise', () => {
    const seen = outcome({ base: { ok: true, degraded: loss } });
    expect(grade(unlimited, seen)).toEqual({
      status: 'degraded',
      reason: loss,
      hasFailures: false,
      hasErrors: false,
      isDegraded: true,
      overMaxResponseTime: false,
      isCancelled: false,
    });
  });
  test('yields to a failed assertion', () => {
    const seen = outcome({ base: { ok: true, degraded: loss }, assertions: [assertion('no')] });
    expect(short(unlimited, seen)[0]).toBe('failed');
  });
});

describe('shouldFail inverts only the base status', () => {
  const inverted = rules({ shouldFail: true });
  test.each([
    ['a success fails', outcome(), ['failed', 'SHOULD_HAVE_FAILED', false]],
    ['a failure passes', outcome({ base: failedBase }), ['passed', null, false]],
    [
      'a refused connection passes',
      outcome({ base: { ok: false, reason: reasonOf('ECONNREFUSED', '') } }),
      ['passed', null, false],
    ],
    [
      'a proxy that fails says nothing of the target',
      outcome({ base: { ok: false, reason: reasonOf('PROXY_FAILED', '') } }),
      ['failed', 'PROXY_FAILED', false],
    ],
    [
      'a script that threw stays failed',
      outcome({ base: { ok: false, reason: reasonOf('SCRIPT_THREW', '') } }),
      ['failed', 'SCRIPT_THREW', false],
    ],
    [
      'an assertion still decides',
      outcome({ base: failedBase, assertions: [assertion('no')] }),
      ['failed', 'ASSERTION_FAILED', false],
    ],
    [
      'a limit still decides',
      outcome({ base: failedBase, responseTime: 200 }),
      ['failed', 'RESPONSE_TOO_SLOW', true],
    ],
    [
      'so does degradation',
      outcome({ base: failedBase, responseTime: 100 }),
      ['degraded', 'RESPONSE_TOO_SLOW', false],
    ],
    [
      'a degraded base is a success',
      outcome({ base: { ok: true, degraded: reasonOf('PACKET_LOSS', '') } }),
      ['failed', 'SHOULD_HAVE_FAILED', false],
    ],
    [
      'a request that never left is no failure of the target',
      outcome({ base: { ok: false, reason: reasonOf('INVALID_URL', '') } }),
      ['failed', 'INVALID_URL', false],
    ],
    [
      'nor is one that could not be made',
      outcome({ base: { ok: false, reason: reasonOf('INVALID_REQUEST', '') } }),
      ['failed', 'INVALID_REQUEST', false],
    ],
    [
      'our own fault stays an error',
      outcome({ base: { ok: false, reason: reasonOf('ICMP_UNAVAILABLE', '') } }),
      ['errored', 'ICMP_UNAVAILABLE', false],
    ],
  ] as const)('%s', (_name, seen, expected) => {
    expect(short(inverted, seen)).toEqual(expected);
  });
});

test.each([
  [outcome(), { hasFailures: false, hasErrors: false, isDegraded: false }],
  [outcome({ base: failedBase }), { hasFailures: true, hasErrors: false, isDegraded: false }],
  [outcome({ responseTime: 150 }), { hasFailures: false, hasErrors: false, isDegraded: true }],
  [
    outcome({ base: { ok: false, reason: reasonOf('INTERNAL', '') } }),
    { hasFailures: false, hasErrors: true, isDegraded: false },
  ],
])('flags follow the status %#', (seen, flags) => {
  expect(grade(rules(), seen)).toMatchObject(flags);
});
