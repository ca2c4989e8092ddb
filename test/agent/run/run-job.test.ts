import { expect, test } from 'vitest';
import { createLanes } from '../../../src/agent/run/lanes.ts';
import type { Hold } from '../../../src/agent/run/holds.ts';
import { createMetrics } from '../../../src/agent/metrics/counters.ts';
import { jobScrubbers } from '../../../src/agent/scrubbing/own-secrets.ts';
import { parseJob } from '../../../src/agent/claiming/parse-job.ts';
import { runJob, type RunParts } from '../../../src/agent/run/run-job.ts';
import { AgentError } from '../../../src/errors.ts';
import type { Executor, Outcome } from '../../../src/executors/interface/executor.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import type { JobType } from '../../../src/protocol/check-types.ts';
import type { Job } from '../../../src/protocol/job.ts';
import type { Result } from '../../../src/protocol/result.ts';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { retryStrategy, tcpJob } from '../link/protocol-peer.ts';
import { testLeases } from './test-leases.ts';

/** What becomes of a job when its executor misbehaves: executors of the test's own, everything else as in the agent. */

const secrets = [{ name: 'TOKEN', value: 'very/secret' }];
const network = createNetwork({ useOsDnsResolver: false });

function parts(execute: Executor<JobType>, more: Partial<RunParts> = {}) {
  const results: Result[] = [];
  const faults: string[] = [];
  const holds: Hold[] = [];
  const lanes = createLanes({ uptime: 1 });
  const made: RunParts = {
    version: '1.2.3',
    lanes,
    leases: testLeases(holds),
    metrics: createMetrics(),
    executorOf: () => execute,
    network,
    scrubberOf: jobScrubbers(secrets, createScrubber(secrets)),
    deliver: (json) => {
      results.push(JSON.parse(json) as Result); // what runJob has just serialised
      return Promise.resolve();
    },
    resultBytes: () => 100_000,
    clockSkewMs: () => 0,
    fault: (error, message) => faults.push(`${message}: ${error.message}`),
    now: Date.now,
    ...more,
  };
  return { made, results, faults, holds, lanes };
}

function job(more: Record<string, unknown> = {}): Job {
  const parsed = parseJob(tcpJob(1, { retryStrategy: retryStrategy({ baseBackoffSeconds: 0 }), ...more }));
  if (parsed.job === null) throw parsed.error;
  return parsed.job;
}

const good: Outcome = { base: { ok: true }, responseTime: 1, timings: null, assertions: [], details: {} };
const verdicts = (results: Result[]) =>
  results.map(({ resultType, status, reason }) => [
    resultType,
    status,
    reason?.code ?? null,
    reason?.owner ?? null,
  ]);

test.each([
  [
    'our own fault with a code',
    new AgentError('ICMP_UNAVAILABLE', 'no right to ping'),
    'ICMP_UNAVAILABLE',
    [],
  ],
  [
    'an error that nobody expected',
    new TypeError('x is no function'),
    'INTERNAL',
    ['executor threw: x is no function'],
  ],
] as const)(
  '%s is an errored result, never retried, never the target’s',
  async (_name, error, code, told) => {
    const { made, results, faults } = parts(() => Promise.reject(error));
    await runJob(job({ shouldFail: true }), made);
    expect(verdicts(results)).toEqual([['FINAL', 'errored', code, 'ours']]);
    expect(results[0]).toMatchObject({ hasErrors: true, hasFailures: false });
    expect(faults).toEqual(told);
  },
);

test('an outcome that cannot be serialised still has a result', async () => {
  const details: Record<string, unknown> = {};
  details['self'] = 10n;
  const { made, results, faults } = parts(() => Promise.resolve({ ...good, details }));
  await runJob(job(), made);
  expect(verdicts(results)).toEqual([['FINAL', 'errored', 'INTERNAL', 'ours']]);
  expect(faults).toHaveLength(1);
});

test('an executor that rejects with the deadline has timed out', async () => {
  const waits: Executor<JobType> = (_job, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const { made, results, faults } = parts(waits);
  await runJob(job({ deadline: new Date(Date.now() + 150).toISOString() }), made);
  expect(verdicts(results)).toEqual([['FINAL', 'failed', 'TIMEOUT', 'target']]);
  expect(results[0]?.responseTime).toBeGreaterThan(100);
  expect(faults).toEqual([]);
});

test('a run that never finishes is given up, and its slot is freed', async () => {
  const { made, results, faults, lanes } = parts(() => new Promise(() => undefined));
  await runJob(job({ deadline: new Date(Date.now() + 100).toISOString() }), made);
  expect(verdicts(results)).toEqual([['FINAL', 'errored', 'INTERNAL', 'ours']]);
  expect(faults).toHaveLength(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(lanes.free('uptime')).toBe(1);
});

test('a job runs in the lane of its type, whatever lane it names', async () => {
  const { made, results, faults } = parts(() => Promise.resolve(good));
  await runJob(job({ lane: 'browser' }), made);
  expect(verdicts(results)).toEqual([['FINAL', 'passed', null, null]]);
  expect(faults).toEqual([]);
});

test('a run that finishes while it is being cancelled still counts', async () => {
  const { made, results, holds } = parts(() => {
    holds[0]?.abort('cancelled');
    return Promise.resolve(good);
  });
  await runJob(job(), made);
  expect(verdicts(results)).toEqual([['FINAL', 'passed', null, null]]);
});

test('secrets are masked in messages, details, keys and logs; codes and ids stay', async () => {
  const { made, results } = parts((_job, { log }) => {
    log('info', 'sent very/secret');
    return Promise.resolve({ ...good, details: { 'very/secret': ['dmVyeS9zZWNyZXQ=', 'very%2Fsecret'] } });
  });
  await runJob(job(), made);
  const text = JSON.stringify(results);
  expect(text).not.toMatch(/very\/secret|dmVyeS9zZWNyZX|very%2Fsecret/);
  expect(results[0]?.log).toEqual([{ time: expect.any(Number), level: 'info', msg: 'sent *********' }]);
});

test('a result that is too large is trimmed, counted and marked', async () => {
  const { made, results } = parts(() => Promise.resolve({ ...good, details: { body: 'x'.repeat(300_000) } }));
  await runJob(job(), made);
  expect(verdicts(results)).toEqual([['FINAL', 'passed', null, null]]);
  expect(made.metrics.resultsTrimmed).toBe(1);
  expect(results[0]?.log.at(-1)?.msg).toContain('more than 100000');
});
