import { afterEach, expect, test } from 'vitest';
import type { FatalError } from '../../../src/errors.ts';
import { createLoading, type Loading } from '../../../src/agent/claiming/loading.ts';

let loading: Loading<string> | null = null;
afterEach(() => loading?.stop());

function bench(failing: number) {
  let loads = 0;
  const faults: unknown[] = [];
  const ends: FatalError[] = [];
  loading = createLoading({
    load: () => {
      loads += 1;
      return loads <= failing ? Promise.reject(new Error('a module is missing')) : Promise.resolve('tools');
    },
    fault: (error) => faults.push(error),
    fail: (error) => ends.push(error),
    retryMs: 1,
  });
  return { loading, loads: () => loads, faults, ends };
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

test('after some failures the agent ends, so that another process tries', async () => {
  const { loading: own, loads, faults, ends } = bench(Infinity);
  await own.get().catch(() => undefined);
  await expect.poll(() => ends.length).toBe(1);
  expect(ends[0]).toMatchObject({
    code: 'MODULES_UNAVAILABLE',
    exitCode: 2,
    message:
      'what runs need cannot be loaded (a module is missing): start the agent again; if that does not help, install it again',
  });
  await expect(own.get()).rejects.toThrow('a module is missing');
  expect([loads(), faults.length, own.isBroken()]).toEqual([4, 4, true]);
});

test('an agent that is stopping does not try again, and does not end for that', async () => {
  const { loading: own, loads, ends } = bench(Infinity);
  await own.get().catch(() => undefined);
  own.stop();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([loads(), ends.length]).toEqual([1, 0]);
});
