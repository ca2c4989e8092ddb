import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createCommitTimer } from '../../../src/agent/outbox/commit-timer.ts';

/** The outbox writes at the earliest of the times that were asked for. */

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function bench() {
  const commits: number[] = [];
  const begun = performance.now();
  const timer = createCommitTimer(() => commits.push(performance.now() - begun));
  return { commits, timer };
}

test('a result that is waited for is not held up by a calm one', () => {
  const { commits, timer } = bench();
  timer.within(50);
  vi.advanceTimersByTime(1);
  timer.within(10);
  vi.advanceTimersByTime(100);
  expect(commits).toEqual([11]);
});

test('a calm one does not hold up what is waited for', () => {
  const { commits, timer } = bench();
  timer.within(10);
  timer.within(50);
  vi.advanceTimersByTime(100);
  expect(commits).toEqual([10]);
});

test('each write is followed by the next', () => {
  const { commits, timer } = bench();
  timer.within(50);
  timer.within(0);
  expect(commits).toEqual([0]);
  vi.advanceTimersByTime(100);
  // The one that was planned has been made.
  expect(commits).toEqual([0]);
  timer.within(50);
  vi.advanceTimersByTime(50);
  timer.within(10);
  vi.advanceTimersByTime(10);
  expect(commits).toEqual([0, 150, 160]);
});

test('what asks during a write gets another one', () => {
  const commits: number[] = [];
  const timer = createCommitTimer(() => {
    commits.push(performance.now());
    if (commits.length === 1) timer.within(10);
  });
  timer.within(0);
  vi.advanceTimersByTime(10);
  expect(commits.length).toBe(2);
});

test('nothing is written after the end', () => {
  const { commits, timer } = bench();
  timer.within(50);
  timer.stop();
  vi.advanceTimersByTime(100);
  expect(commits).toEqual([]);
});
