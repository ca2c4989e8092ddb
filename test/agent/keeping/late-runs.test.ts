import { expect, test } from 'vitest';
import { createLateRuns } from '../../../src/agent/keeping/late-runs.ts';
import { packedCheck } from './samples.ts';

/** Late runs use the time that is left, in the order of their moments. */

const check = (checkId: string, job = '{}') => packedCheck({ checkId, job });

function begun(
  options: { spare?: number; busy?: () => number; mayRun?: () => boolean; clock?: () => number } = {},
) {
  const runs: string[] = [];
  const given: number[] = [];
  const late = createLateRuns({
    now: () => 3,
    // As if the window of each check were as long as its name says.
    until: ({ checkId }, dueAt) => dueAt + Number(checkId),
    mayRun: options.mayRun ?? (() => true),
    spare: () => options.spare ?? 1_000,
    busy: options.busy ?? (() => 0),
    clock: options.clock ?? (() => 0),
    giveUp: (_check, dueAt) => given.push(dueAt),
    run: ({ checkId, job }, dueAt) => runs.push(`${checkId} ${dueAt} ${job}`),
  });
  return { runs, given, late };
}

test('as many as are spare, those that are too late first begin first, and nothing in the same turn', async () => {
  const { runs, late } = begun({ spare: 2 });
  for (let index = 0; index < 5; index++) expect(late.add(check('50'), index)).toBe(true);
  expect(late.add(check('10'), 5)).toBe(true);
  expect(runs).toEqual([]);
  await expect.poll(() => runs).toHaveLength(6);
  expect(runs).toEqual(['10 5 {}', ...[0, 1, 2, 3, 4].map((at) => `50 ${at} {}`)]);
});

test('a run that waits is made in the last form that was added, once', async () => {
  const { runs, late } = begun();
  expect(late.add(check('50', '1'), 7)).toBe(true);
  expect(late.add(check('50', '2'), 7)).toBe(false);
  await expect.poll(() => runs).toEqual(['50 7 2']);
  // It waits no longer: another one is a new run.
  expect(late.add(check('50', '3'), 7)).toBe(true);
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
  for (let index = 0; index < 100; index++) late.add(check('50'), index);
  await expect.poll(() => turns).toBe(4);
  expect(runs).toHaveLength(3);
});

test('a busy process whose turns are late begins as many as if they were not, up to a limit', async () => {
  const counts: number[] = [];
  const passed = [10, 10, 39, 5_000, 10];
  let now = 0;
  const { runs, late } = begun({
    // Asked once at the beginning of each turn.
    mayRun: () => {
      now += passed[counts.length] ?? 0;
      if (counts.length <= passed.length) counts.push(runs.length);
      return counts.length <= passed.length;
    },
    busy: () => 1,
    clock: () => now,
  });
  for (let index = 0; index < 100; index++) late.add(check('50'), index);
  await expect.poll(() => counts).toHaveLength(6);
  late.clear();
  expect(counts).toEqual([0, 1, 2, 5, 9, 10]);
});

test('runs for which it is too late are given up, as soon as the agent may run anything', async () => {
  let asked = 0;
  const { runs, given, late } = begun({ spare: 0, mayRun: () => ++asked > 3 });
  for (let index = 0; index < 5; index++) late.add(check('1'), index);
  await expect.poll(() => given).toEqual([0, 1, 2]);
  expect(asked).toBeGreaterThan(3);
  expect(runs).toEqual([]);
  late.clear();
});
