import { expect, test } from 'vitest';
import { percent } from '../../../src/service/pages/browser/base/words.ts';

/** One rule for percentages on all pages. */

test('percentages are cut to two places: 100 % only if nothing failed', () => {
  expect([null, undefined].map(percent)).toEqual(['–', '–']);
  expect([100, 99.999, 99.99, 99.5, 57, 0].map(percent)).toEqual([
    '100 %',
    '99.99 %',
    '99.99 %',
    '99.50 %',
    '57.00 %',
    '0.00 %',
  ]);
});

test('a figure of two places is shown as it is', () => {
  for (let hundredths = 0; hundredths < 10_000; hundredths += 1)
    expect(percent(hundredths / 100)).toBe(`${(hundredths / 100).toFixed(2)} %`);
});
