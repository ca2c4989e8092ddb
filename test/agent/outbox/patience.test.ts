import { expect, test } from 'vitest';
import { betweenCallsMs, createPatience } from '../../../src/agent/outbox/patience.ts';

/** Calm results share a call every two seconds; everything else is sent at once. */

const never = new AbortController().signal;

/** Milliseconds until the next batch is read. */
async function waited(wait: Promise<void>): Promise<number> {
  const begun = performance.now();
  await wait;
  return performance.now() - begun;
}

test('the first batch is sent at once, the next two seconds later', async () => {
  const patience = createPatience();
  expect(await waited(patience.wait(never))).toBeLessThan(betweenCallsMs / 2);
  expect(await waited(patience.wait(never))).toBeGreaterThanOrEqual(betweenCallsMs - 20);
});

test('after quiet seconds there is nothing to wait for', async () => {
  let now = 5_000;
  const patience = createPatience(() => now);
  await patience.wait(never);
  now += betweenCallsMs;
  expect(await waited(patience.wait(never))).toBeLessThan(betweenCallsMs / 2);
});

test('an urgent result is sent at once, also if it comes while others wait', async () => {
  const patience = createPatience();
  await patience.wait(never);
  patience.hurry();
  expect(await waited(patience.wait(never))).toBeLessThan(betweenCallsMs / 2);
  setTimeout(() => patience.hurry(), 10);
  expect(await waited(patience.wait(never))).toBeLessThan(betweenCallsMs / 2);
  // Only once: the next batch is calm again.
  expect(await waited(patience.wait(never))).toBeGreaterThanOrEqual(betweenCallsMs - 20);
});

test('a stopping agent waits for nothing', async () => {
  const patience = createPatience();
  const stopping = new AbortController();
  await patience.wait(stopping.signal);
  setTimeout(() => stopping.abort(), 10);
  expect(await waited(patience.wait(stopping.signal))).toBeLessThan(betweenCallsMs / 2);
});
