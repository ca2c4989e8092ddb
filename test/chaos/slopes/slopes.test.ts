import { expect, test } from 'vitest';
import { slopesOf, steepOf, type Sample } from './slopes.ts';

const minute = 60_000;
/** An hour of samples, one a minute. */
const samplesOf = (valueAt: (minutes: number) => number): Sample[] =>
  Array.from({ length: 61 }, (_, at) => ({
    at: at * minute,
    values: new Map([['agent 0 MB', valueAt(at)]]),
  }));
const tolerance = () => ({ share: 0.1, least: 10 });

test('the slope is that of the second half: warm-up does not count', () => {
  const [slope] = slopesOf(samplesOf((at) => (at < 30 ? at * 10 : 300)));
  expect(slope).toMatchObject({ name: 'agent 0 MB', mean: 300, last: 300, perHour: 0, growth: 0 });
  expect(steepOf(slopesOf(samplesOf((at) => (at < 30 ? at * 10 : 300))), tolerance)).toEqual([]);
});

test('steady growth beyond the tolerance is found, and noise is not', () => {
  const leak = slopesOf(samplesOf((at) => 100 + at * 2));
  expect(leak[0]?.perHour).toBeCloseTo(120);
  expect(steepOf(leak, tolerance)).toEqual([
    'agent 0 MB grew by 60.0 in the second half, and 19.0 is allowed',
  ]);
  const noise = slopesOf(samplesOf((at) => 100 + (at % 7) * 3));
  expect(steepOf(noise, tolerance)).toEqual([]);
});

test('a value with a limit may fill up to it in steps, and not beyond', () => {
  const filled = slopesOf(samplesOf((at) => (at < 40 ? 0 : 500)));
  expect(steepOf(filled, () => ({ most: 500 }))).toEqual([]);
  const passed = slopesOf(samplesOf((at) => (at === 45 ? 501 : 0)));
  expect(steepOf(passed, () => ({ most: 500 }))).toEqual(['agent 0 MB reached 501, and 500 is its limit']);
});

test('a value without a tolerance may grow', () => {
  expect(steepOf(slopesOf(samplesOf((at) => at * 1_000)), () => null)).toEqual([]);
});
