import { expect, test } from 'vitest';
import { createHeardClock } from '../../../src/agent/link/service-clock.ts';

/** The service's clock is ahead of the monotonic one by this much. */
const ahead = 1_790_000_000_000;
/** A call from `sentAt` to `receivedAt` in which the service read its clock at `readAt`. */
const call = (sentAt: number, readAt: number, receivedAt: number) => ({
  sentAt,
  receivedAt,
  serviceTime: Math.floor(ahead + readAt),
});
const errorOf = (clock: ReturnType<typeof createHeardClock>) => (clock.offsetMs() ?? Number.NaN) - ahead;

test('nothing is known before the first hello', () => {
  const clock = createHeardClock();
  clock.correct(call(0, 1, 2));
  expect(clock.offsetMs()).toBeNull();
});

test.each([
  ['late', 0, -400],
  ['early', 800, 400],
])('a slow hello is corrected by the first quick answer (answer read %s)', (_, readAt, error) => {
  const clock = createHeardClock();
  clock.begin(call(0, readAt, 800));
  expect(errorOf(clock)).toBeCloseTo(error, -1);
  clock.correct(call(1000, 1001, 1003));
  expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(2);
});

test('slow answers and long polls make nothing worse', () => {
  const clock = createHeardClock();
  clock.begin(call(0, 1, 2));
  const before = errorOf(clock);
  clock.correct(call(10, 25_000, 25_001));
  clock.correct(call(30_000, 30_001, 30_900));
  clock.correct(call(40_000, 40_900, 40_900));
  expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(Math.abs(before));
});

test('a clock that is slowly fast is followed by long polls as well', () => {
  const clock = createHeardClock();
  clock.begin(call(0, 1, 2));
  // 100 millionths fast, for three hours.
  for (let at = 0; at < 10_800_000; at += 25_000)
    clock.correct(call(at, (at + 25_000) * 1.0001, at + 25_001));
  expect(errorOf(clock) / 1080).toBeCloseTo(1, 1);
});

test.each([3_600_000, -3_600_000, 400, -400])(
  'a clock that was set by %d ms is followed after a hello, which quick answers ask for',
  (setBy) => {
    const clock = createHeardClock();
    clock.begin(call(0, 1, 2));
    const before = errorOf(clock);
    // One replica that differs asks for nothing, nor do slow answers.
    clock.correct(call(1000, 1001 + setBy, 1002));
    clock.correct(call(2000, 2001, 2002));
    for (let at = 5000; at < 14_000; at += 2000) clock.correct(call(at - 2500, at + setBy, at));
    expect(errorOf(clock)).toBe(before);
    for (const at of [20_000, 22_000, 24_000]) {
      expect(clock.isDisputed()).toBe(false);
      clock.correct(call(at, at + 1 + setBy, at + 2));
    }
    expect(errorOf(clock)).toBe(before);
    expect(clock.isDisputed()).toBe(true);
    clock.begin(call(30_000, 30_001 + setBy, 30_002));
    expect(errorOf(clock) - setBy).toBeCloseTo(before, 0);
    expect(clock.isDisputed()).toBe(false);
  },
);

test('clocks that parted during an outage, or are being corrected, are followed', () => {
  const clock = createHeardClock();
  clock.begin(call(0, 1, 2));
  // 20 millionths for 24 hours.
  const day = 86_400_000;
  clock.correct(call(day, day + 1 + 1_728, day + 2));
  expect(errorOf(clock)).toBeCloseTo(1_728, -1);
  // A service whose clock is moved by 5 ms each second.
  for (let at = day + 2_000; at < day + 60_000; at += 2_000) {
    const by = 1_728 + (at - day) * 0.005;
    clock.correct(call(at, at + 1 + by, at + 2));
    expect(errorOf(clock) - by).toBeCloseTo(0, -1);
  }
});

test('a hello that is slow does not make a good estimate worse', () => {
  const clock = createHeardClock();
  clock.begin(call(0, 1, 2));
  const before = errorOf(clock);
  clock.begin(call(10_000, 22_000, 22_000));
  expect(errorOf(clock)).toBe(before);
});

test('calls that are slow on their way there and on their way back leave half of the difference between the two', () => {
  const clock = createHeardClock();
  clock.begin(call(0, 20, 300));
  expect(errorOf(clock)).toBeLessThan(-100);
  // Each has one quick way.
  clock.correct(call(1_000, 1_012, 1_080));
  clock.correct(call(2_000, 2_090, 2_102));
  expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(1);
  // What is known is not given up for a long poll, nor for one call that is quick on one way only.
  clock.correct(call(3_000, 12_000, 12_014));
  clock.correct(call(13_000, 13_013, 13_500));
  expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(1);
});
