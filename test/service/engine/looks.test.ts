import { expect, test } from 'vitest';
import { createLooks } from '../../../src/service/engine/looks.ts';

test('looks from the beginning at first, every five seconds, when the clock is set, and when it is told to', () => {
  let now = 1_000_000;
  const looks = createLooks(() => now);
  const after = (ms: number) => {
    now += ms;
    return looks.isFull();
  };
  expect([after(0), after(400), after(4_500), after(100), after(0)]).toEqual([true, false, false, true, false]);
  expect([after(-3_600_000), after(0)]).toEqual([true, false]);
  looks.again();
  expect([after(0), after(0)]).toEqual([true, false]);
});
