import { expect, test } from 'vitest';
import { createHourMarks } from '../../../src/service/results/rollups-due.ts';

/** A replica marks the hour of a check once, and again where the mark may be gone. */

const minute = 60_000;
const start = Date.parse('2026-03-04T05:00:00.000Z');
const at = (minutes: number, checkId = 'a') => ({ checkId, startedAt: new Date(start + minutes * minute) });

function replica() {
  let now = start;
  const marks = createHourMarks(() => now);
  /** Stores these results after so many minutes; the transaction ends, or is rolled back. */
  return (minutes: number, due = [at(minutes)], ends = true) => {
    now = start + minutes * minute;
    const missing = marks.missing(due);
    if (ends) marks.areStored(missing);
    return missing;
  };
}

test('an hour is marked once for each check', () => {
  const store = replica();
  expect(store(1)).toEqual([at(1)]);
  expect(store(2, [at(2), at(2, 'b')])).toEqual([at(2, 'b')]);
  expect(store(3, [at(3), at(3, 'b')])).toEqual([]);
});

test('a mark that was rolled back is made again', () => {
  const store = replica();
  store(1, [at(1)], false);
  expect(store(2)).toEqual([at(2)]);
});

test('a mark is made again after ten minutes', () => {
  const store = replica();
  store(20);
  expect(store(29)).toEqual([]);
  expect(store(30)).toEqual([at(30)]);
});

test('the hour before is marked once more, in case the database was set back in its last minutes', () => {
  const store = replica();
  store(50);
  store(55);
  expect(store(60)).toEqual([at(0), at(60)]);
  expect(store(61)).toEqual([]);
  // A run that comes much later has its hour marked as any other.
  expect(store(135)).toEqual([at(135)]);
});

test('once an hour has ended, each of its results marks it', () => {
  const store = replica();
  store(59);
  expect(store(60, [at(59.9)])).toEqual([at(59.9)]);
  expect(store(60.1, [at(59.95)])).toEqual([at(59.95)]);
});

test('a clock that was set back forgets the marks, but not one that differs a little', () => {
  const store = replica();
  store(20);
  store(25);
  expect(store(24.5)).toEqual([]);
  expect(store(23)).toEqual([at(23)]);
});
