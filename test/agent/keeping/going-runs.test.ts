import { expect, test } from 'vitest';
import { afterDeath, createGoingRuns, mergedRuns } from '../../../src/agent/keeping/going-runs.ts';
import { packedCheck } from './samples.ts';

/** Which runs a dead process is charged with. */

const dueAt = 1_790_000_040_000;
const check = packedCheck({});
const { checkId, locationId } = check;
const run = { checkId, locationId, dueAt };

function bench() {
  let passedMs = 0;
  let since: number | null = 0;
  const going = createGoingRuns({
    now: () => dueAt + passedMs,
    clock: () => passedMs,
    attemptSince: () => since,
  });
  return {
    going,
    pass: (ms: number) => (passedMs += ms),
    waits: () => (since = null),
    begins: () => (since = passedMs),
  };
}

test('a run counts once it is in progress for some time, until it ends', () => {
  const { going, pass } = bench();
  going.begin(check, dueAt);
  expect(going.has(check, dueAt)).toBe(true);
  pass(4_999);
  expect(going.kept(false)).toEqual([]);
  pass(1);
  expect(going.kept(false)).toEqual([{ ...run, deaths: 0, isGoing: true }]);
  // A process that stops aborts it.
  expect(going.kept(true)).toEqual([]);
  going.end(check, dueAt);
  expect(going.has(check, dueAt)).toBe(false);
  expect(going.kept(false)).toEqual([]);
});

test('a run that waits for its slot or its next attempt does not count', () => {
  const { going, pass, waits, begins } = bench();
  going.begin(check, dueAt);
  waits();
  pass(60_000);
  expect(going.kept(false)).toEqual([]);
  begins();
  pass(4_999);
  expect(going.kept(false)).toEqual([]);
  pass(1);
  expect(going.kept(false)).toEqual([{ ...run, deaths: 0, isGoing: true }]);
});

test('of too many runs, those in progress are kept, and then those with most deaths', () => {
  const { going, pass } = bench();
  const others = Array.from({ length: 600 }, (_, index) => ({ ...run, dueAt: dueAt - 1 - index }));
  going.restore(others.map((other, index) => ({ ...other, deaths: index === 599 ? 2 : 1, isGoing: false })));
  going.begin(check, dueAt);
  pass(5_000);
  const kept = going.kept(false);
  expect(kept).toHaveLength(500);
  expect(kept.slice(0, 2)).toEqual([
    { ...run, deaths: 0, isGoing: true },
    { ...run, dueAt: dueAt - 600, deaths: 2, isGoing: false },
  ]);
});

test('two deaths spend a run, and those before it began again are remembered', () => {
  const { going, pass } = bench();
  going.restore(afterDeath([{ ...run, deaths: 0, isGoing: true }]));
  expect(going.has(check, dueAt)).toBe(false);
  expect(going.isSpent(check, dueAt)).toBe(false);
  expect(going.kept(false)).toEqual([{ ...run, deaths: 1, isGoing: false }]);
  going.begin(check, dueAt);
  expect(going.kept(false)).toEqual([{ ...run, deaths: 1, isGoing: false }]);
  pass(5_000);
  const kept = going.kept(false);
  expect(kept).toEqual([{ ...run, deaths: 1, isGoing: true }]);
  const next = bench().going;
  next.restore(afterDeath(kept));
  expect(next.isSpent(check, dueAt)).toBe(true);
  expect(next.isSpent(check, dueAt + 60_000)).toBe(false);
});

test('runs that nobody makes any more are forgotten', () => {
  const { going, pass } = bench();
  going.restore([{ ...run, deaths: 1, isGoing: false }]);
  pass(3_600_001);
  expect(going.kept(false)).toEqual([]);
});

test('of two processes that shared a folder, the larger number of deaths counts', () => {
  const one = { ...run, deaths: 1, isGoing: false };
  const other = { ...run, dueAt: dueAt + 1_000, deaths: 1, isGoing: true };
  expect(mergedRuns([one], [{ ...one, deaths: 0, isGoing: true }, other])).toEqual([
    { ...one, isGoing: true },
    other,
  ]);
});
