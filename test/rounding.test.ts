import { expect, test } from 'vitest';
import { shareOf } from '../src/rounding.ts';

/** Shares in percent, as the API returns them. */

test('a share is cut: only all of them are 100 percent, and none lose a hundredth by binary numbers', () => {
  expect([shareOf(0, 0), shareOf(0, 5), shareOf(5, 5)]).toEqual([null, 0, 100]);
  expect(shareOf(999_999, 1_000_000)).toBe(99.99);
  expect(shareOf(57, 100)).toBe(57);
  for (let part = 0; part <= 100; part += 1) expect(shareOf(part, 100)).toBe(part);
  expect(shareOf(2, 3, 4)).toBe(66.6666);
});
