import { expect, test } from 'vitest';
import { createHourMarks } from '../../../src/service/results/rollups-due.ts';

/** A replica marks the hour of a check once, and again where the mark may be gone. */

const minute = 60_000;
const start = Date.parse('2026-03-04T05:00:00.000Z');
const at = (minutes: number, checkId = 'a') => ({ checkId, startedAt: new Date(start + minutes * minute) });

/** Marks what is missing after these minutes; the transaction ends, or is rolled back. */
function mark(marks: ReturnType<typeof createHourMarks>, minutes: number, due = [at(minutes)], ends = true) {
  const now = start + minutes * minute;
  const missing = marks.missing(due, now);
  if (ends) marks.areStored(missing, now);
  return missing;
}

test('an hour is marked once for each check', () => {
  const marks = createHourMarks();
  expect(mark(marks, 1)).toEqual([at(1)]);
  expect(mark(marks, 2, [at(2), at(2, 'b')])).toEqual([at(2, 'b')]);
  expect(mark(marks, 3, [at(3), at(3, 'b')])).toEqual([]);
});

test('a mark that was rolled back is made again', () => {
  const marks = createHourMarks();
  mark(marks, 1, [at(1)], false);
  expect(mark(marks, 2)).toEqual([at(2)]);
});

test('each hour has its own, in any order', () => {
  const marks = createHourMarks();
  mark(marks, 59);
  expect(mark(marks, 60)).toEqual([at(60)]);
  expect(mark(marks, 60, [at(59)])).toEqual([at(59)]);
});

test('a mark is made again after ten minutes, or when the clock was set back', () => {
  const marks = createHourMarks();
  mark(marks, 20);
  expect(mark(marks, 29)).toEqual([]);
  expect(mark(marks, 30)).toEqual([at(30)]);
  expect(mark(marks, 29)).toEqual([at(29)]);
});
