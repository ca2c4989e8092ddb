import { expect, test } from 'vitest';
import { createLoading } from '../../../src/agent/keeping/loading.ts';

test('what could not be loaded is tried again after a while, once for all who ask', async () => {
  let now = 0;
  let loads = 0;
  let isBroken = true;
  const faults: unknown[] = [];
  const loading = createLoading({
    load: () => {
      loads += 1;
      return isBroken ? Promise.reject(new Error('a module is missing')) : Promise.resolve('tools');
    },
    fault: (error) => faults.push(error),
    now: () => now,
  });
  expect(loading.isBroken()).toBe(false);
  await expect(loading.get()).rejects.toThrow('a module is missing');
  expect(loading.isBroken()).toBe(true);
  now = 14_999;
  await loading.retry();
  expect(loads).toBe(1);
  now = 15_000;
  await Promise.all([loading.retry(), loading.retry()]);
  expect([loads, faults.length]).toEqual([2, 1]);
  isBroken = false;
  now = 30_000;
  await loading.retry();
  expect(loading.isBroken()).toBe(false);
  await loading.retry();
  expect(loads).toBe(3);
});
