import { describe, expect, test } from 'vitest';
import { cutMissed } from '../../../src/service/scheduling/cut-missed.ts';

/** Taking one moment out of a record of missed runs. */

const record = (from: number, to: number, count: number) => ({ from: from * 1000, to: to * 1000, count });
/** In seconds. */
const cut = (whole: ReturnType<typeof record>, moment: number, step: number) =>
  cutMissed(whole, moment * 1000, step * 1000);

describe('cutMissed', () => {
  test('the only moment leaves nothing', () => {
    expect(cut(record(60, 60, 1), 60, 60)).toEqual([]);
  });

  test.each([
    ['the first', 60, [record(120, 300, 4)]],
    ['the last', 300, [record(60, 240, 4)]],
    ['one in the middle', 180, [record(60, 120, 2), record(240, 300, 2)]],
    ['the second', 120, [record(60, 60, 1), record(180, 300, 3)]],
    ['the last but one', 240, [record(60, 180, 3), record(300, 300, 1)]],
    ['none of the record', 360, [record(60, 300, 5)]],
  ])('of five moments, %s', (_which, moment, left) => {
    expect(cut(record(60, 300, 5), moment, 60)).toEqual(left);
  });

  test('the distance of the moments is that of the record, not that of the changed check', () => {
    expect(cut(record(60, 300, 5), 180, 1_000)).toEqual([record(60, 120, 2), record(240, 300, 2)]);
  });

  test('a record with a gap is cut by the distance of the check, and counts one less', () => {
    // 60, 120, then a pause, then 1000, 1060
    expect(cut(record(60, 1060, 4), 120, 60)).toEqual([record(60, 60, 1), record(180, 1060, 2)]);
    expect(cut(record(60, 1060, 4), 60, 60)).toEqual([record(120, 1060, 3)]);
    expect(cut(record(60, 1060, 4), 1060, 60)).toEqual([record(60, 1000, 3)]);
  });

  test('a moment between the two of a record is not one of them', () => {
    expect(cut(record(60, 180, 2), 120, 60)).toEqual([record(60, 180, 2)]);
  });
});
