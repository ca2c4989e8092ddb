import { expect, test } from 'vitest';
import { percent } from '../../../src/service/pages/browser/base/words.ts';

/** One rule for percentages on all pages. */

test('percentages are rounded to two places, and are 100 % only if nothing failed', () => {
  expect([null, undefined].map(percent)).toEqual(['–', '–']);
  expect([100, 99.999, 99.99, 99.5, 200 / 3, 57, 0].map(percent)).toEqual([
    '100 %',
    '99.99 %',
    '99.99 %',
    '99.50 %',
    '66.67 %',
    '57.00 %',
    '0.00 %',
  ]);
});

test('a figure of two places is shown as it is', () => {
  for (let hundredths = 0; hundredths < 10_000; hundredths += 1)
    expect(percent(hundredths / 100)).toBe(`${(hundredths / 100).toFixed(2)} %`);
});
