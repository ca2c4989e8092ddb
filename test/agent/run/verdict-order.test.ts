import { expect, test } from 'vitest';
import type { DelayReading, OwnDelay } from '../../../src/agent/load/own-delay.ts';
import { parseJob } from '../../../src/agent/claiming/parse-job.ts';
import { createMetrics } from '../../../src/agent/metrics/counters.ts';
import type { Finding, FinishedAttempt } from '../../../src/agent/own-network/own-network.ts';
import { createHolds } from '../../../src/agent/run/holds.ts';
import { createLanes } from '../../../src/agent/run/lanes.ts';
import { runJob } from '../../../src/agent/run/run-job.ts';
import { jobScrubbers } from '../../../src/agent/scrubbing/own-secrets.ts';
import type { Outcome } from '../../../src/executors/interface/executor.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import { reasonOf } from '../../../src/protocol/reasons.ts';
import type { Result } from '../../../src/protocol/result.ts';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { tcpJob } from '../link/protocol-peer.ts';

/**
 * Which verdict an attempt gets if several explanations apply: the own network, the agent's own delay, the target.
 * The delay and the finding are the test's; everything else is the agent's.
 */

const calm: DelayReading = {
  elapsedMs: 1000,
  loopMs: 0,
  waitedMs: 0,
  throttledMs: null,
  stoppedMs: null,
  childrenWaitedMs: null,
  pressurePercent: null,
};
const starved = { ...calm, loopMs: 900, waitedMs: 900 };
const brokenNetwork: Finding = {
  isOurs: true,
  cause: 'interface',
  summary: 'eth0 is switched off',
  evidence: [],
};
const base = { responseTime: 1000, timings: null, assertions: [], details: {} };
const good: Outcome = { ...base, base: { ok: true }, responseTime: 1 };
const timedOut: Outcome = { ...base, base: { ok: false, reason: reasonOf('ETIMEDOUT', 'no answer') } };

type Given = {
  outcome?: Outcome;
  delay?: DelayReading;
  finding?: Finding | null;
  job?: Record<string, unknown>;
  /** The lane is full until the deadline has passed. */
  isLaneFull?: boolean;
  /** The agent drains as soon as the first attempt has ended. */
  drainsAfterAttempt?: boolean;
};

async function ran(given: Given) {
  const { results, ...seen } = await play(given);
  const [result] = results;
  if (result === undefined || results.length > 1) throw new Error(`${results.length} results`);
  return { ...seen, result, verdict: [result.status, result.reason?.code ?? null] };
}

async function play({ outcome = good, delay = calm, finding = null, job = {}, ...given }: Given) {
  const results: Result[] = [];
  const asked: FinishedAttempt[] = [];
  const holds = createHolds();
  const released: string[] = [];
  let attempts = 0;
  let now = Date.now();
  const ownDelay: OwnDelay = { begin: () => ({ read: () => delay, end: () => {} }), close: () => {} };
  const network = createNetwork({ useOsDnsResolver: false });
  const lanes = createLanes({ uptime: 1 });
  const parsed = parseJob(tcpJob(1, { remainingMs: 5000, ...job }));
  if (parsed.job === null) throw parsed.error;
  if (given.isLaneFull === true) {
    void lanes.run('uptime', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      now += 5000;
    });
  }
  await runJob(parsed.job, {
    version: '1.2.3',
    lanes,
    leases: {
      hold: holds.hold,
      release: (_job, { reason }) => {
        released.push(reason);
        return Promise.resolve();
      },
    },
    metrics: createMetrics(),
    executorOf: () => () => {
      attempts += 1;
      if (given.drainsAfterAttempt === true) setTimeout(holds.drain, 100);
      return Promise.resolve(outcome);
    },
    network,
    scrubberOf: jobScrubbers([], createScrubber([])),
    deliver: (json) => {
      results.push(JSON.parse(json) as Result); // what runJob has just serialised
      return Promise.resolve();
    },
    resultBytes: () => 100_000,
    clockSkewMs: () => 0,
    fault: (error) => {
      throw error;
    },
    now: () => now,
    ownDelay,
    ownNetwork: {
      watch: () => ({
        network,
        conclude: (attempt) => {
          asked.push(attempt);
          return attempt.reason === null ? null : Promise.resolve(finding);
        },
      }),
    },
  });
  network.close();
  return { results, asked, attempts, released };
}

test('evidence of a broken network is stronger than a delay of the agent', async () => {
  const { verdict, result, asked, attempts } = await ran({
    outcome: timedOut,
    delay: starved,
    finding: brokenNetwork,
  });
  expect(verdict).toEqual(['errored', 'OWN_NETWORK']);
  // The network was asked about the failure itself, not about the agent's verdict.
  expect(asked[0]?.reason?.code).toBe('ETIMEDOUT');
  expect(result.details['ownNetwork']).toMatchObject({ failure: { code: 'ETIMEDOUT' } });
  expect(result.log.map(({ msg }) => msg).join('\n')).toMatch(/the agent was delayed for 900 ms/);
  expect(attempts).toBe(1);
});

test('a slow response that the delay explains is compared with known trouble of the network', async () => {
  const slow = { ...good, responseTime: 1000 };
  const given = { outcome: slow, delay: starved, job: { maxResponseTime: 500 } };
  const { verdict, asked } = await ran({ ...given, finding: brokenNetwork });
  expect([asked[0]?.reason?.code, verdict]).toEqual(['RESPONSE_TOO_SLOW', ['errored', 'OWN_NETWORK']]);
  expect((await ran(given)).verdict).toEqual(['errored', 'AGENT_OVERLOADED']);
});

test('without evidence against the network, the delay explains the failure', async () => {
  const finding = { ...brokenNetwork, isOurs: false, cause: null, summary: 'other targets answer' };
  const { verdict, result } = await ran({ outcome: timedOut, delay: starved, finding });
  expect(verdict).toEqual(['errored', 'AGENT_OVERLOADED']);
  expect(result.details['ownNetwork']).toMatchObject({ isAtFault: false });
});

test('without a delay and without evidence, the target is at fault', async () => {
  expect((await ran({ outcome: timedOut })).verdict).toEqual(['failed', 'ETIMEDOUT']);
});

test('an expected failure that the delay explains does not count as a success', async () => {
  const job = { shouldFail: true };
  expect((await ran({ outcome: timedOut, job })).verdict).toEqual(['passed', null]);
  expect((await ran({ outcome: timedOut, delay: starved, job })).verdict).toEqual([
    'errored',
    'AGENT_OVERLOADED',
  ]);
  const refused = { ...timedOut, base: { ok: false as const, reason: reasonOf('ECONNREFUSED', 'no') } };
  expect((await ran({ outcome: refused, delay: starved, job })).verdict).toEqual(['passed', null]);
});

test('a job without a slot before its deadline blames the overload only if there was one', async () => {
  const overloaded = await ran({ delay: starved, isLaneFull: true });
  expect([overloaded.verdict, overloaded.attempts]).toEqual([['errored', 'AGENT_OVERLOADED'], 0]);
  expect(overloaded.result.reason).toMatchObject({
    owner: 'ours',
    message: expect.stringMatching(
      /^the agent was delayed for 900 ms of 1000 ms \(.*\), so no slot became free before the deadline of the job; give the agent more processor time/,
    ) as string,
  });
  expect((await ran({ isLaneFull: true })).verdict).toEqual(['errored', 'INTERNAL']);
});

test.each([
  [
    'a held check: its result says that the agent was overloaded',
    true,
    ['FINAL errored AGENT_OVERLOADED'],
    [],
  ],
  ['a job of the queue: it is handed back', false, [], ['draining']],
])('a drain before a spoiled attempt can be repeated, of %s', async (_name, isKept, results, released) => {
  const drained = await play({
    outcome: timedOut,
    delay: starved,
    job: { remainingMs: 60_000, isKept },
    drainsAfterAttempt: true,
  });
  expect(
    drained.results.map(({ resultType, status, reason }) => `${resultType} ${status} ${reason?.code}`),
  ).toEqual(results);
  expect(drained.released).toEqual(released);
  expect(drained.attempts).toBe(1);
});
