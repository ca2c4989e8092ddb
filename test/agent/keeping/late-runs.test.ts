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

function begun(
  options: { spare?: () => number; busy?: () => number; isOver?: (dueAt: number) => boolean } = {},
) {
  const runs: string[] = [];
  const given: number[] = [];
  const late = createLateRuns({
    spare: options.spare ?? (() => 1_000),
    busy: options.busy ?? (() => 0),
    isOver: (_check, dueAt) => options.isOver?.(dueAt) === true,
    giveUp: (_check, dueAt) => given.push(dueAt),
    run: ({ checkId, job }, dueAt) => runs.push(`${checkId} ${dueAt} ${job}`),
  });
  return { runs, given, late };
}

test('as many as are spare, the first ones first, and nothing in the same turn', async () => {
  const { runs, late } = begun({ spare: () => 2 });
  for (let index = 0; index < 5; index++) expect(late.add(check('c'), index)).toBe(true);
  expect(runs).toEqual([]);
  await expect.poll(() => runs.slice(0, 2)).toEqual(['c 0 {}', 'c 1 {}']);
  await expect.poll(() => runs).toHaveLength(5);
  expect(runs.at(-1)).toBe('c 4 {}');
});

test('a run that waits is made in the last form that was added, once', async () => {
  const { runs, late } = begun();
  expect(late.add(check('c', '1'), 7)).toBe(true);
  expect(late.add(check('c', '2'), 7)).toBe(false);
  await expect.poll(() => runs).toEqual(['c 7 2']);
  // It waits no longer: another one is a new run.
  expect(late.add(check('c', '3'), 7)).toBe(true);
  late.clear();
});

test('a busy process begins one in each turn, and what was cleared is not begun', async () => {
  let turns = 0;
  const { runs, late } = begun({
    busy: () => {
      turns += 1;
      if (turns === 4) late.clear();
      return 1;
    },
  });
  for (let index = 0; index < 100; index++) late.add(check('c'), index);
  await expect.poll(() => turns).toBe(4);
  expect(runs).toHaveLength(3);
});

test('runs for which it is too late are given up, also while none may begin', async () => {
  const { runs, given, late } = begun({ spare: () => 0, isOver: (dueAt) => dueAt < 3 });
  for (let index = 0; index < 5; index++) late.add(check('c'), index);
  await expect.poll(() => given).toEqual([0, 1, 2]);
  expect(runs).toEqual([]);
  late.clear();
});
