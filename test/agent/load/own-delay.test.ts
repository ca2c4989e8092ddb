import { afterEach, expect, test, vi } from 'vitest';
import { createOwnDelay, tickMs, type OwnDelay } from '../../../src/agent/load/own-delay.ts';
import type { HostFigures } from '../../../src/agent/load/host-figures.ts';

/** The stopwatch of the agent's own delay, with a clock of the test's own. */

afterEach(() => void vi.useRealTimers());

const idle: HostFigures = {
  throttledMs: 0,
  stoppedMs: null,
  childrenWaitedMs: 0,
  pressurePercent: 3,
};

function stage() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let time = 1000;
  const host = { waitedMs: 0 as number | null, figures: { ...idle }, reads: 0 };
  const ownDelay: OwnDelay = createOwnDelay({
    clock: () => time,
    waitedMs: () => host.waitedMs,
    figures: {
      read: () => {
        host.reads += 1;
        return { ...host.figures };
      },
    },
  });
  /** The clock moves on by `milliseconds`, and then the event loop gets to its timers. */
  const stall = (milliseconds: number) => {
    time += milliseconds;
    vi.advanceTimersByTime(tickMs);
  };
  const pass = (milliseconds: number) => {
    for (let passed = 0; passed < milliseconds; passed += tickMs) stall(tickMs);
  };
  return { ownDelay, host, stall, pass, jump: (milliseconds: number) => (time += milliseconds) };
}

test('a loop that is on time adds nothing', () => {
  const { ownDelay, pass } = stage();
  const stopwatch = ownDelay.begin(false);
  pass(10_000);
  expect(stopwatch.read()).toEqual({
    elapsedMs: 10_000,
    loopMs: 0,
    waitedMs: 0,
    throttledMs: 0,
    stoppedMs: null,
    childrenWaitedMs: 0,
    pressurePercent: 3,
  });
});

test('every late turn counts, but a millisecond is within the precision of timers', () => {
  const { ownDelay, stall } = stage();
  const stopwatch = ownDelay.begin(false);
  for (const by of [1, 100, 2, 300]) stall(tickMs + by);
  expect(stopwatch.read()).toMatchObject({ elapsedMs: 4 * tickMs + 403, loopMs: 400 });
});

test('a delay that goes on is seen before the timer has fired', () => {
  const { ownDelay, jump } = stage();
  const stopwatch = ownDelay.begin(false);
  jump(tickMs + 5000);
  expect(stopwatch.read().loopMs).toBe(5000);
});

test('a delay before the attempt is not part of it', () => {
  const { ownDelay, stall, jump } = stage();
  ownDelay.begin(false);
  jump(tickMs + 700);
  const late = ownDelay.begin(false);
  stall(0);
  expect(late.read().loopMs).toBe(0);
  stall(tickMs + 60);
  expect(late.read().loopMs).toBe(60);
});

test('counters of the host count from the start of the attempt', () => {
  const { ownDelay, host, pass } = stage();
  Object.assign(host, { waitedMs: 500, figures: { ...idle, throttledMs: 100, childrenWaitedMs: 10 } });
  const stopwatch = ownDelay.begin(true);
  pass(400);
  Object.assign(host, { waitedMs: 800, figures: { ...idle, throttledMs: 350, childrenWaitedMs: 30 } });
  expect(stopwatch.read()).toMatchObject({ waitedMs: 300, throttledMs: 250, childrenWaitedMs: 20 });
});

test('what the host does not tell stays unknown', () => {
  const { ownDelay, host } = stage();
  host.waitedMs = null;
  host.figures = { throttledMs: null, stoppedMs: null, childrenWaitedMs: null, pressurePercent: null };
  expect(ownDelay.begin(true).read()).toMatchObject({
    waitedMs: null,
    throttledMs: null,
    childrenWaitedMs: null,
    pressurePercent: null,
  });
});

test('attempts of the same second share the reading of the host’s figures', () => {
  const { ownDelay, host, pass } = stage();
  for (let i = 0; i < 500; i++) ownDelay.begin(false).end();
  expect(host.reads).toBe(1);
  pass(1000);
  for (let i = 0; i < 500; i++) ownDelay.begin(false).end();
  expect(host.reads).toBe(2);
});

test('without attempts there is no timer', () => {
  const { ownDelay, pass } = stage();
  const [one, two] = [ownDelay.begin(false), ownDelay.begin(true)];
  one.end();
  one.end();
  pass(200);
  expect(vi.getTimerCount()).toBe(1);
  two.end();
  pass(200);
  expect(vi.getTimerCount()).toBe(0);
  const again = ownDelay.begin(false);
  expect(vi.getTimerCount()).toBe(1);
  again.end();
  ownDelay.close();
  expect(vi.getTimerCount()).toBe(0);
});

test('on Linux this process can read how long it waited for a core', () => {
  if (process.platform !== 'linux') return console.warn('skipped: not Linux');
  const ownDelay = createOwnDelay();
  const stopwatch = ownDelay.begin(true);
  const reading = stopwatch.read();
  expect(reading.waitedMs).toBeGreaterThanOrEqual(0);
  expect(reading.loopMs).toBeGreaterThanOrEqual(0);
  ownDelay.close();
});
