import { expect, test } from 'vitest';
import { createSteadyClock } from '../src/steady-clock.ts';

const hour = 3_600_000;
const minute = 60_000;

/** A machine: `pass` lets time pass, `set` sets its clock by some milliseconds, `sleep` suspends it. */
function machine() {
  const start = Date.parse('2026-03-04T05:06:07Z');
  let elapsed = 1_000;
  let wall = start;
  let boot = 500_000;
  const clock = createSteadyClock({ wall: () => wall, elapsed: () => elapsed, boot: () => boot });
  return {
    /** Milliseconds since the start, by the steady clock. */
    since: () => clock.now() - start,
    adopted: clock.adopted,
    pass: (ms: number) => {
      for (let left = ms; left > 0; left -= 1_000) {
        elapsed += Math.min(left, 1_000);
        wall += Math.min(left, 1_000);
        boot += Math.min(left, 1_000);
        clock.now();
      }
    },
    set: (ms: number) => (wall += ms),
    sleep: (ms: number) => {
      wall += ms;
      boot += ms;
    },
  };
}

test.each([hour, -hour])('a clock that is set by %d ms and back is not noticed', (jump) => {
  const { since, adopted, pass, set } = machine();
  pass(minute);
  set(jump);
  expect(since()).toBe(minute);
  pass(3 * minute);
  set(-jump);
  pass(minute);
  expect([since(), adopted()]).toEqual([5 * minute, 0]);
});

test('a jump that lasts is adopted in one step', () => {
  const { since, adopted, pass, set } = machine();
  set(hour);
  pass(15 * minute);
  expect([since(), adopted()]).toEqual([15 * minute, 0]);
  pass(minute);
  expect([since(), adopted()]).toEqual([hour + 16 * minute, hour]);
});

test('a clock that jumps again and again is not adopted', () => {
  const { since, adopted, pass, set } = machine();
  for (let n = 0; n < 20; n++) {
    set(n % 2 === 0 ? hour : -hour);
    pass(10 * minute);
  }
  expect([since(), adopted()]).toEqual([200 * minute, 0]);
});

test('a small difference is followed slowly, and time never goes back', () => {
  const { since, pass, set } = machine();
  set(-1_000);
  const times = [];
  for (let second = 0; second < 300; second++) {
    pass(1_000);
    times.push(since());
  }
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(times[99]).toBe(100_000 - 500);
  expect(times[299]).toBe(300_000 - 1_000);
});

test('time that the machine slept has passed', () => {
  const { since, adopted, pass, sleep } = machine();
  sleep(hour);
  expect([since(), adopted()]).toEqual([hour, 0]);
  pass(minute);
  expect(since()).toBe(hour + minute);
});
