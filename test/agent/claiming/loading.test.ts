import { afterEach, expect, test } from 'vitest';
import { createLoading, type Loading } from '../../../src/agent/claiming/loading.ts';

let loading: Loading<string> | null = null;
afterEach(() => loading?.stop());

function bench(failing: number) {
  let loads = 0;
  const faults: unknown[] = [];
  loading = createLoading({
    load: () => {
      loads += 1;
      return loads <= failing ? Promise.reject(new Error('a module is missing')) : Promise.resolve('tools');
    },
    fault: (error) => faults.push(error),
    retryMs: 1,
  });
  return { loading, loads: () => loads, faults };
}

test('what could not be loaded is tried again after a while, once for all who ask', async () => {
  const { loading: own, loads, faults } = bench(2);
  expect(own.isBroken()).toBe(false);
  expect(loads()).toBe(0);
  const asked = [own.get(), own.get()];
  await expect(asked[0]).rejects.toThrow('a module is missing');
  await expect(asked[1]).rejects.toThrow('a module is missing');
  expect(own.isBroken()).toBe(true);
  expect([loads(), faults.length]).toEqual([1, 1]);
  await expect.poll(own.isBroken).toBe(false);
  expect([loads(), faults.length]).toEqual([3, 2]);
  expect([await own.get(), loads()]).toEqual(['tools', 3]);
});
