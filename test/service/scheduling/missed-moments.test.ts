import { describe, expect, it } from 'vitest';
import { hasMoment, outside, partsOf } from '../../../src/service/scheduling/missed-moments.ts';

/** Every ten seconds. */
const every10 = (from: number, to: number) => ({ from, to, count: (to - from) / 10_000 + 1 });

describe('the moments of a record', () => {
  it.each([
    [20_000, true],
    [40_000, true],
    [25_000, false],
    [10_000, false],
    [50_000, false],
  ])('of every ten seconds from 20 to 40 s: %i', (at, has) => {
    expect(hasMoment(every10(20_000, 40_000), at)).toBe(has);
  });

  it('one moment is only that one', () => {
    expect(hasMoment(every10(20_000, 20_000), 20_000)).toBe(true);
    expect(hasMoment(every10(20_000, 20_000), 20_001)).toBe(false);
  });

  it('two moments are only those two', () => {
    const two = { from: 11_300, to: 20_000, count: 2 };
    expect([11_300, 15_000, 20_000].map((at) => hasMoment(two, at))).toEqual([true, false, true]);
    expect(outside(two, [every10(20_000, 40_000)])).toEqual([{ from: 11_300, to: 11_300, count: 1 }]);
  });

  it('nobody knows which they are if there is a gap, so all count', () => {
    const gappy = { from: 0, to: 50_000, count: 4 };
    expect(hasMoment(gappy, 10_000)).toBe(true);
    expect(hasMoment(gappy, 60_000)).toBe(false);
  });
});

describe('what is left', () => {
  const whole = every10(0, 50_000);

  it('without some moments', () => {
    expect(partsOf(whole, () => false)).toEqual([whole]);
    expect(partsOf(whole, (at) => [0, 20_000, 50_000].includes(at))).toEqual([
      every10(10_000, 10_000),
      every10(30_000, 40_000),
    ]);
    expect(partsOf(every10(10_000, 10_000), () => true)).toEqual([]);
  });

  it('without some of moments that are no whole seconds apart', () => {
    const odd = { from: 0, to: 4_500, count: 4 };
    expect(partsOf(odd, () => false)).toEqual([odd]);
    expect(partsOf(odd, (at) => at === 1_500)).toEqual([
      { from: 0, to: 0, count: 1 },
      { from: 3_000, to: 4_500, count: 2 },
    ]);
  });

  it('without the moments of other records', () => {
    expect(outside(whole, [])).toEqual([whole]);
    expect(outside(whole, [every10(60_000, 70_000)])).toEqual([whole]);
    expect(outside(whole, [every10(30_000, 70_000)])).toEqual([every10(0, 20_000)]);
    expect(outside(whole, [every10(10_000, 10_000), every10(40_000, 40_000)])).toEqual([
      every10(0, 0),
      every10(20_000, 30_000),
      every10(50_000, 50_000),
    ]);
  });

  it('records of another schedule take only what they share', () => {
    const shifted = every10(5_000, 45_000);
    expect(outside(whole, [shifted])).toEqual([whole]);
    const every20 = { from: 0, to: 40_000, count: 3 };
    expect(outside(whole, [every20])).toEqual([10_000, 30_000, 50_000].map((at) => every10(at, at)));
    expect(outside(every20, [whole])).toEqual([]);
  });

  it('a record with a gap is never cut, because its moments are not known', () => {
    const gappy = { from: 0, to: 50_000, count: 4 };
    expect(outside(gappy, [every10(0, 50_000)])).toEqual([]);
    expect(outside(gappy, [every10(60_000, 90_000)])).toEqual([gappy]);
    expect(outside(gappy, [every10(40_000, 90_000)])).toEqual([gappy]);
  });
});
