import { expect, test } from 'vitest';
import { createLateRuns } from '../../../src/agent/keeping/late-runs.ts';
import type { PackedCheck } from '../../../src/agent/keeping/packed.ts';

/** Late runs use the time that is left, in the order of their moments. */

const check = (checkId: string, job = '{}'): PackedCheck => ({
  checkId,
  holder: 'a',
  locationId: 'l',
  epoch: 1,
  from: 0,
  intervalSeconds: 60,
  offsetSeconds: 0,
  pauses: [],
  job,
});

function begun(most: number, busy = () => 0) {
  const runs: string[] = [];
  const ends: (() => void)[] = [];
  const late = createLateRuns({
    most: () => most,
    busy,
    run: ({ checkId, job }, dueAt) => {
      runs.push(`${checkId} ${dueAt} ${job}`);
      return new Promise((resolve) => ends.push(resolve));
    },
  });
  return { runs, late, end: () => ends.shift()?.() };
}

test('so many at a time, the first ones first, and nothing in the same turn', async () => {
  const { runs, late, end } = begun(2);
  for (let index = 0; index < 5; index++) expect(late.add(check('c'), index)).toBe(true);
  expect(runs).toEqual([]);
  await expect.poll(() => runs).toEqual(['c 0 {}', 'c 1 {}']);
  end();
  await expect.poll(() => runs).toHaveLength(3);
  end();
  end();
  await expect.poll(() => runs.at(-1)).toBe('c 4 {}');
  late.clear();
});

test('a run that waits is made in the last form that was added, once', async () => {
  const { runs, late } = begun(10);
  expect(late.add(check('c', '1'), 7)).toBe(true);
  expect(late.add(check('c', '2'), 7)).toBe(false);
  await expect.poll(() => runs).toEqual(['c 7 2']);
  // It waits no longer: another one is a new run.
  expect(late.add(check('c', '3'), 7)).toBe(true);
  late.clear();
});

test('a busy process begins one in each turn, and what was cleared is not begun', async () => {
  let turns = 0;
  const { runs, late } = begun(1_000, () => {
    turns += 1;
    if (turns === 4) late.clear();
    return 1;
  });
  for (let index = 0; index < 100; index++) late.add(check('c'), index);
  await expect.poll(() => turns).toBe(4);
  expect(runs.length).toBeLessThanOrEqual(4);
  expect(runs.length).toBeGreaterThanOrEqual(3);
});
