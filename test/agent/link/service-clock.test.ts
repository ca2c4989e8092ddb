import { expect, test } from 'vitest';
import { createServiceClock } from '../../../src/agent/link/service-clock.ts';

/** The service's clock is ahead of the monotonic one by this much. */
const ahead = 1_790_000_000_000;
/** A call from `sentAt` to `receivedAt` in which the service read its clock at `readAt`. */
const call = (sentAt: number, readAt: number, receivedAt: number) => ({
  sentAt,
  receivedAt,
  serviceTime: Math.floor(ahead + readAt),
});
const errorOf = (clock: ReturnType<typeof createServiceClock>) => (clock.offsetMs() ?? Number.NaN) - ahead;

test('nothing is known before the first hello', () => {
  const clock = createServiceClock();
  clock.correct(call(0, 1, 2));
  expect(clock.offsetMs()).toBeNull();
});

test.each([
  ['late', 0, -400],
  ['early', 800, 400],
])('a slow hello is corrected by the first quick answer (answer read %s)', (_, readAt, error) => {
  const clock = createServiceClock();
  clock.begin(call(0, readAt, 800));
  expect(errorOf(clock)).toBeCloseTo(error, -1);
  clock.correct(call(1000, 1001, 1003));
  expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(2);
});

test('slow answers and long polls make nothing worse', () => {
  const clock = createServiceClock();
  clock.begin(call(0, 1, 2));
  const before = errorOf(clock);
  clock.correct(call(10, 25_000, 25_001));
  clock.correct(call(30_000, 30_001, 30_900));
  clock.correct(call(40_000, 40_900, 40_900));
  expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(Math.abs(before));
});

test('a clock that is slowly fast is followed by long polls as well', () => {
  const clock = createServiceClock();
  clock.begin(call(0, 1, 2));
  // 100 millionths fast, for three hours.
  for (let at = 0; at < 10_800_000; at += 25_000)
    clock.correct(call(at, (at + 25_000) * 1.0001, at + 25_001));
  expect(errorOf(clock) / 1080).toBeCloseTo(1, 1);
});

test.each([3_600_000, -3_600_000, 150, -150])(
  'a clock that was set by %d ms is not followed before a hello',
  (setBy) => {
    const clock = createServiceClock();
    clock.begin(call(0, 1, 2));
    const before = errorOf(clock);
    clock.correct(call(1000, 1001 + setBy, 1002));
    expect(errorOf(clock)).toBe(before);
    clock.begin(call(2000, 2001 + setBy, 2002));
    expect(errorOf(clock) - setBy).toBeCloseTo(before, 0);
  },
);
