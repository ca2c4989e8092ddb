import { expect, test } from 'vitest';
import { createDueQueue, type Due } from '../../../src/agent/keeping/due-queue.ts';

/** The queue of held checks takes what is due in the order of the moments, whatever happens to the items meanwhile. */

type Item = Due & { name: number };
const item = (name: number, nextDueAt: number): Item => ({ name, nextDueAt, isGone: false });

test('items are taken in the order of their moments, and not before', () => {
  const queue = createDueQueue<Item>();
  for (const at of [50, 10, 40, 30, 20, 30]) queue.add(item(at, at));
  expect(queue.earliest()).toBe(10);
  expect(queue.take(9)).toBeNull();
  const taken = [];
  for (let next = queue.take(35); next !== null; next = queue.take(35)) taken.push(next.name);
  expect(taken).toEqual([10, 20, 30, 30]);
  expect(queue.earliest()).toBe(40);
});

test('an item counts once, at its latest moment; one that is gone does not count', () => {
  const queue = createDueQueue<Item>();
  const [moved, gone] = [item(1, 10), item(2, 10)];
  queue.add(moved);
  queue.add(gone);
  moved.nextDueAt = 30;
  queue.add(moved);
  gone.isGone = true;
  expect(queue.earliest()).toBe(30);
  expect(queue.take(30)).toBe(moved);
  moved.nextDueAt = 60;
  expect(queue.take(30)).toBeNull();
  expect(queue.earliest()).toBeNull();
  queue.add(moved);
  queue.clear();
  expect(queue.earliest()).toBeNull();
});

test('it agrees with a scan of all items through thousands of changes', () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const queue = createDueQueue<Item>();
  const items = Array.from({ length: 200 }, (_, name) => item(name, random(1_000)));
  for (const one of items) queue.add(one);
  for (let now = 0; now < 20_000; now += 50) {
    for (let changes = random(20); changes > 0; changes--) {
      const one = items[random(items.length)];
      if (one === undefined || one.isGone) continue;
      if (random(500) === 0) one.isGone = true;
      else {
        one.nextDueAt = now + random(1_000);
        queue.add(one);
      }
    }
    const held = items.filter(({ isGone }) => !isGone);
    expect(queue.earliest()).toBe(
      held.reduce((least, { nextDueAt }) => Math.min(least, nextDueAt), Infinity),
    );
    const due = held.filter(({ nextDueAt }) => nextDueAt <= now).map(({ name }) => name);
    const taken = [];
    for (let next = queue.take(now); next !== null; next = queue.take(now)) {
      taken.push(next.name);
      next.nextDueAt = now + 1 + random(1_000);
      queue.add(next);
    }
    expect(taken.toSorted((a, b) => a - b)).toEqual(due);
  }
});
