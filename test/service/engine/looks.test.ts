import { expect, test } from 'vitest';
import { createLooks } from '../../../src/service/engine/looks.ts';

test('looks from the beginning at first, every five seconds, when the clock is set, and when it is told to', async () => {
  let now = 1_000_000;
  const looks = createLooks(() => now);
  const kinds: boolean[] = [];
  const after = async (...waits: number[]) => {
    for (const ms of waits) {
      now += ms;
      kinds.push(await looks.look((isFull) => Promise.resolve(isFull)));
    }
    return kinds.splice(0);
  };
  expect(await after(0, 400, 4_500, 100, 0)).toEqual([true, false, false, true, false]);
  expect(await after(-3_600_000, 0)).toEqual([true, false]);
  looks.again();
  expect(await after(0, 0)).toEqual([true, false]);
});

test('a full look that failed is repeated', async () => {
  const looks = createLooks(() => 1_000_000);
  const away = () => Promise.reject(new Error('the database is away'));
  await expect(looks.look(away)).rejects.toThrow('away');
  const kind = () => looks.look((isFull) => Promise.resolve(isFull));
  expect(await kind()).toBe(true);
  await expect(looks.look(away)).rejects.toThrow('away');
  expect(await kind()).toBe(false);
});
