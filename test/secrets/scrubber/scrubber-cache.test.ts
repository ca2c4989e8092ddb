import { expect, test } from 'vitest';
import { createScrubberCache } from '../../../src/secrets/scrubber/cache.ts';

const set = (...values: string[]) => values.map((value, i) => ({ name: `V${i}`, value }));

test('the same set has the same scrubber; another value, name or order another one', () => {
  const cache = createScrubberCache();
  const first = cache.scrubberFor(set('walnut-tree', 'chestnut'));
  expect(cache.scrubberFor(set('walnut-tree', 'chestnut'))).toBe(first);
  expect(cache.scrubberFor(set('walnut-tree', 'chestnus'))).not.toBe(first);
  expect(cache.scrubberFor(set('walnut-tree'))).not.toBe(first);
  expect(cache.scrubberFor([{ name: 'OTHER', value: 'walnut-tree' }])).not.toBe(first);
  expect(cache.size).toBe(4);
});

test('a set that is changed afterwards is not confused with its earlier state', () => {
  const cache = createScrubberCache();
  const secrets = [{ name: 'A', value: 'walnut-tree' }];
  cache.scrubberFor(secrets);
  secrets[0] = { name: 'A', value: 'chestnut-tree' };
  expect(cache.scrubberFor(secrets).text('walnut-tree chestnut-tree')).toBe('walnut-tree *********');
});

test('the least recently used set is evicted first, and clear removes all', () => {
  const cache = createScrubberCache({ maxEntries: 2 });
  const first = cache.scrubberFor(set('secret-one'));
  const second = cache.scrubberFor(set('secret-two'));
  expect(cache.scrubberFor(set('secret-one'))).toBe(first);
  cache.scrubberFor(set('secret-three'));
  expect(cache.size).toBe(2);
  expect(cache.scrubberFor(set('secret-one'))).toBe(first);
  expect(cache.scrubberFor(set('secret-two'))).not.toBe(second);
  cache.clear();
  expect([cache.size, cache.memoryBytes]).toEqual([0, 0]);
});

test('tables beyond the limit are used once and not kept', () => {
  const cache = createScrubberCache({ maxBytes: 1000 });
  expect(cache.scrubberFor(set('walnut-tree')).text('walnut-tree')).toBe('*********');
  expect(cache.size).toBe(0);
});
