import { expect, test } from 'vitest';
import { createPageCache } from '../../../src/service/public-pages/page-cache.ts';

/** How often a status page is read. */

test('a page that takes long to read is shared while it is read, and kept ten times as long', async () => {
  let time = 0;
  let reads = 0;
  const cache = createPageCache({ cacheMs: 1_000, now: () => time });
  const finish: (() => void)[] = [];
  const read = (): Promise<undefined> => {
    reads += 1;
    return new Promise((resolve) => finish.push(() => resolve(undefined)));
  };
  const first = cache.page('shop', read);
  time = 4_000;
  const second = cache.page('shop', read);
  finish[0]?.();
  await Promise.all([first, second]);
  expect(reads).toBe(1);
  time = 43_999;
  await cache.page('shop', read);
  expect(reads).toBe(1);
  time = 44_000;
  const third = cache.page('shop', read);
  finish[1]?.();
  await third;
  expect(reads).toBe(2);
  time = 45_000;
  const fourth = cache.page('shop', read);
  finish[2]?.();
  await fourth;
  expect(reads).toBe(3);
});
