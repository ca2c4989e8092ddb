import { describe, expect, test } from 'vitest';
import { backoffMs, pause } from '../../src/agent/link/backoff.ts';
import { anonymised } from '../../src/agent/link/fault-events.ts';
import { browserSlots, machine } from '../../src/agent/link/machine.ts';
import { serialised } from '../../src/agent/run/result.ts';
import type { HeardTime } from '../../src/agent/link/service-clock.ts';
import { createSession } from '../../src/agent/link/session.ts';
import { createTurnWatch } from '../../src/agent/metrics/turn-watch.ts';
import { ServiceError } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import type { Result } from '../../src/protocol/result.ts';

describe('backoff', () => {
  test.each([
    [1, 0, 250],
    [1, 1, 500],
    [2, 1, 1000],
    [3, 0.5, 1500],
    [6, 1, 15_000],
    [1000, 1, 15_000],
    [1000, 0, 7500],
  ])('failure %d, chance %d: %d ms', (failures, chance, expected) => {
    expect(backoffMs(failures, () => chance)).toBe(expected);
  });

  test('a pause is aborted by its signal', async () => {
    const controller = new AbortController();
    // Longer than this test may take.
    const waiting = pause(60_000, controller.signal);
    controller.abort();
    await waiting;
    await pause(60_000, controller.signal);
  });
});

describe('turn watch', () => {
  let clock = 0;
  const watch = createTurnWatch(() => clock);
  test('is stuck only after the time that the step was given', () => {
    clock = 0;
    expect(watch.isStuck()).toBe(false);
    watch.turn(100);
    clock = 100;
    expect(watch.isStuck()).toBe(false);
    clock = 101;
    expect(watch.isStuck()).toBe(true);
    watch.turn(100);
    expect(watch.isStuck()).toBe(false);
    watch.rest();
    clock = 1e9;
    expect(watch.isStuck()).toBe(false);
  });
});

test('a clock that is set is noticed, and compared with the service again', async () => {
  let time = 1_000_000;
  let steady = 0;
  let hellos = 0;
  const session = createSession({
    client: {
      call: <R>() => {
        hellos += 1;
        // The service's clock agrees with ours as it was at first.
        return Promise.resolve({
          agentId: 'a',
          time: new Date(1_000_000 + steady).toISOString(),
          location: {},
        } as R);
      },
      failingSince: () => null,
      onAnswer: () => undefined,
      close: () => undefined,
    },
    log: createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } }),
    watch: createTurnWatch(),
    instanceId: 'i',
    version: '1',
    abilities: () => ({ checkTypes: [], runtimes: [], engines: [], lanes: {} }),
    now: () => time,
    monotonicNow: () => steady,
    random: () => 0,
    stopped: new AbortController().signal,
    onAccepted: () => undefined,
  });
  const { signal } = new AbortController();
  await session.get(signal);
  expect(session.clockSkewMs()).toBe(0);
  time += 500;
  steady += 500;
  await session.get(signal);
  expect({ hellos, skew: session.clockSkewMs() }).toEqual({ hellos: 1, skew: 0 });
  time += 3_600_000;
  expect(session.clockSkewMs()).toBe(3_600_000);
  await session.get(signal);
  expect({ hellos, skew: session.clockSkewMs() }).toEqual({ hellos: 2, skew: 3_600_000 });
});

test('a clock of the service that was set is noticed, and compared again', async () => {
  let time = 0;
  let ahead = 0;
  let hellos = 0;
  let heard: (time: HeardTime) => void = () => undefined;
  const session = createSession({
    client: {
      call: <R>() => {
        hellos += 1;
        return Promise.resolve({
          agentId: 'a',
          time: new Date(time + ahead).toISOString(),
          location: {},
        } as R);
      },
      failingSince: () => null,
      onAnswer: (listener) => (heard = listener),
      close: () => undefined,
    },
    log: createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } }),
    watch: createTurnWatch(),
    instanceId: 'i',
    version: '1',
    abilities: () => ({ checkTypes: [], runtimes: [], engines: [], lanes: {} }),
    now: () => time,
    monotonicNow: () => time,
    random: () => 0,
    stopped: new AbortController().signal,
    onAccepted: () => undefined,
  });
  const { signal } = new AbortController();
  await session.get(signal);
  ahead = 900_000;
  for (let answers = 0; answers < 6; answers += 1) {
    time += 2_000;
    heard({ sentAt: time, receivedAt: time, serviceTime: time + ahead });
    await session.get(signal);
  }
  expect({ hellos, skew: session.clockSkewMs() }).toEqual({ hellos: 2, skew: -900_000 });
});

test.each([
  [0, 30_000],
  [1, 37_500],
])('hello waits as long as the service asks, chance %d: %d ms', async (chance, expected) => {
  const stopped = new AbortController();
  const lines: string[] = [];
  const session = createSession({
    client: {
      call: () =>
        Promise.reject(
          new ServiceError('SERVICE_REFUSED', 'too many', {
            status: 429,
            retryable: true,
            retryAfterMs: 30_000,
          }),
        ),
      failingSince: () => null,
      onAnswer: () => undefined,
      close: () => undefined,
    },
    log: createLog({
      level: 'WARN',
      scrub: (line) => line,
      destination: {
        write: (line: string) => {
          lines.push(line);
          // The wait has begun: the agent stops, so that the test need not wait.
          stopped.abort();
        },
      },
    }),
    watch: createTurnWatch(),
    instanceId: 'i',
    version: '1',
    abilities: () => ({ checkTypes: [], runtimes: [], engines: [], lanes: {} }),
    now: () => 0,
    random: () => chance,
    stopped: stopped.signal,
    onAccepted: () => undefined,
  });
  await expect(session.get(new AbortController().signal)).rejects.toThrow();
  expect(lines.map((line) => (JSON.parse(line) as { retryInMs: number }).retryInMs)).toEqual([expected]);
});

test.each([
  [{ cores: 8, memoryBytes: 16 * 2 ** 30 }, 8],
  [{ cores: 8, memoryBytes: 4 * 2 ** 30 }, 2],
  [{ cores: 8, memoryBytes: 2 ** 30 }, 1],
  [{ cores: 1, memoryBytes: 64 * 2 ** 30 }, 1],
])('browser slots of %j', (host, expected) => {
  expect(browserSlots(host)).toBe(expected);
});

test('the machine has cores and memory', () => {
  const { cores, memoryBytes } = machine();
  expect(cores).toBeGreaterThanOrEqual(1);
  expect(Number.isSafeInteger(memoryBytes) && memoryBytes > 2 ** 20).toBe(true);
});

describe('error events contain no customer data', () => {
  test.each([
    ['GET https://user:pw@intern.example.org/path?token=1 failed', 'GET [url] failed'],
    [
      'Unexpected token \'<\', "<html>secret</html>" is not valid JSON',
      'Unexpected token [text], [text] is not valid JSON',
    ],
    ['connect ECONNREFUSED 10.20.30.40:8080', 'connect ECONNREFUSED [address]'],
    ['connect ECONNREFUSED fd00:1:2::5', 'connect ECONNREFUSED [address]'],
    ['getaddrinfo ENOTFOUND db.intern.example.org', 'getaddrinfo ENOTFOUND [host]'],
    ['ENOSPC: no space left on device, write', 'ENOSPC: no space left on device, write'],
    ["open '/var/lib/agent/outbox'", 'open [text]'],
    ['open /var/lib/agent/outbox', 'open [path]'],
    ['    at runJob (src/agent/run-job.ts:10:5)', '    at runJob (src/agent/run-job.ts:10:5)'],
  ])('%s', (text, expected) => {
    expect(anonymised(text)).toBe(expected);
  });
});

describe('size of a result', () => {
  const result = (more: Partial<Result> = {}): Result => ({
    jobId: 'j',
    leaseToken: 't',
    attempt: 1,
    sequenceId: 's',
    checkId: 'c',
    checkType: 'URL',
    resultType: 'FINAL',
    status: 'failed',
    hasFailures: true,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: 1,
    startedAt: '2026-01-01T00:00:00.000Z',
    stoppedAt: '2026-01-01T00:00:00.001Z',
    runLocation: 'l',
    attempts: 0,
    reason: { code: 'HTTP_STATUS', owner: 'target', message: 'status 500' },
    assertions: [],
    timings: { total: 1 },
    details: { status: 500, body: 'x' },
    artifacts: [],
    log: [],
    ...more,
  });
  const read = (json: string) => JSON.parse(json) as Result;

  test('a small result is unchanged', () => {
    expect(serialised(result(), 10_000)).toEqual({ json: JSON.stringify(result()), trimmed: false });
  });

  test('a large result keeps its status and loses long texts', () => {
    const { json, trimmed } = serialised(
      result({ details: { status: 500, body: 'ä'.repeat(50_000) } }),
      10_000,
    );
    expect(trimmed).toBe(true);
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(10_000);
    expect(read(json)).toMatchObject({
      status: 'failed',
      reason: { code: 'HTTP_STATUS' },
      details: { status: 500 },
    });
    expect(read(json).log.at(-1)?.msg).toContain('more than 10000');
  });

  test('a result that is large in all fields keeps only its status', () => {
    const details = Object.fromEntries(
      Array.from({ length: 90 }, (_, index) => [`k${index}`, 'x'.repeat(2000)]),
    );
    const { json } = serialised(result({ details }), 5000);
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(5000);
    expect(read(json)).toMatchObject({
      status: 'failed',
      reason: { code: 'HTTP_STATUS' },
      details: {},
      assertions: [],
    });
  });

  test('the limit is counted in bytes', () => {
    const exact = Buffer.byteLength(JSON.stringify(result({ details: { body: '€'.repeat(1000) } })));
    const of = (limit: number) => serialised(result({ details: { body: '€'.repeat(1000) } }), limit).trimmed;
    expect([of(exact), of(exact - 1)]).toEqual([false, true]);
  });
});
