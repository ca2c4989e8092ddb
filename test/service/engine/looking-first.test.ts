import { expect, test } from 'vitest';
import { lookingFirst } from '../../../src/service/engine/looking-first.ts';

test('looks once nothing was found, and works again as soon as there is something', async () => {
  const calls: string[] = [];
  let left = 2;
  const next = lookingFirst(
    () => {
      calls.push('look');
      return Promise.resolve(left > 0);
    },
    () => {
      calls.push('work');
      const done = left;
      left = 0;
      return Promise.resolve(done);
    },
  );
  expect([await next(), await next(), await next(), await next()]).toEqual([2, 0, 0, 0]);
  expect(calls).toEqual(['work', 'work', 'look', 'look']);
  left = 1;
  expect(await next()).toBe(1);
  expect(calls.slice(4)).toEqual(['look', 'work']);
});

test('work that failed is done again without a look', async () => {
  const calls: string[] = [];
  let fails = false;
  const next = lookingFirst(
    () => {
      calls.push('look');
      return Promise.resolve(true);
    },
    () => {
      calls.push('work');
      return fails ? Promise.reject(new Error('the database is away')) : Promise.resolve(0);
    },
  );
  await next();
  fails = true;
  await expect(next()).rejects.toThrow('away');
  await expect(next()).rejects.toThrow('away');
  expect(calls).toEqual(['work', 'look', 'work', 'work']);
});
