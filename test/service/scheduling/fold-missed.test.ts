import { describe, expect, test } from 'vitest';
import { foldMissed, type Missed } from '../../../src/service/scheduling/fold-missed.ts';
import type { OpenMissed } from '../../../src/service/scheduling/missed.ts';

/** Which record a missed run joins, without a database. Moments are minutes. */

const stepMs = 60_000;
const at = (minute: number) => minute * stepMs;

function missed(from: number, to = from, code: Missed['code'] = 'NOT_CLAIMED'): Missed {
  const count = to - from + 1;
  return {
    accountId: 'a',
    checkId: 'c',
    checkType: 'URL',
    runLocation: 'l',
    from: at(from),
    to: at(to),
    count,
    code,
  };
}

function record(from: number, to = from): OpenMissed {
  return {
    checkId: 'c',
    runLocation: 'l',
    resultId: 'r',
    resultStartedAt: new Date(at(from)),
    count: to - from + 1,
    from: new Date(at(from)),
    to: new Date(at(to)),
    reason: 'NOT_CLAIMED',
  };
}

/** The records after a fold, as `[from, to, count]` in minutes: the open one first. */
function fold(options: { open: OpenMissed | null; items: Missed[]; live?: number[] }) {
  const live = (options.live ?? []).map((minute) => new Date(at(minute)));
  const { grown, fresh } = foldMissed({ open: options.open, items: options.items, live, stepMs });
  return {
    grown: grown && [grown.from.getTime() / stepMs, grown.to.getTime() / stepMs, grown.count],
    fresh: fresh.map(({ item, isOpen }) => [item.from / stepMs, item.to / stepMs, item.count, isOpen]),
  };
}

describe('foldMissed', () => {
  test('the next moment extends the open record', () => {
    expect(fold({ open: record(1), items: [missed(2)] })).toEqual({ grown: [1, 2, 2], fresh: [] });
  });

  test('a record does not grow over a moment that it does not count', () => {
    // The run of minute 2 ended before minute 1 was recorded, so it has closed nothing.
    expect(fold({ open: record(1), items: [missed(3)] })).toEqual({ grown: null, fresh: [[3, 3, 1, true]] });
    expect(fold({ open: record(5), items: [missed(3)] })).toEqual({ grown: null, fresh: [[3, 3, 1, false]] });
    expect(fold({ open: null, items: [missed(1), missed(3)] })).toEqual({
      grown: null,
      fresh: [
        [1, 1, 1, false],
        [3, 3, 1, true],
      ],
    });
  });

  test('a record does not grow over a run that may still take place', () => {
    expect(fold({ open: record(1), items: [missed(2)], live: [3] }).grown).toEqual([1, 2, 2]);
    const split = { ...record(1), to: new Date(at(1.5)) };
    expect(fold({ open: split, items: [missed(2)], live: [1.75] }).grown).toBeNull();
  });

  test('a moment that the record has is not counted again', () => {
    expect(fold({ open: record(1, 4), items: [missed(2, 6)] })).toEqual({ grown: [1, 6, 6], fresh: [] });
    expect(fold({ open: record(1, 4), items: [missed(3)] })).toEqual({ grown: null, fresh: [] });
  });

  test('items that overlap lose none of their moments', () => {
    // Two processes of one agent report the same time, before a record that another one has begun.
    const items = [missed(1, 2), missed(1, 3)];
    expect(fold({ open: record(6), items })).toEqual({ grown: null, fresh: [[1, 3, 3, false]] });
    expect(fold({ open: record(6), items: items.toReversed() }).fresh).toEqual([[1, 3, 3, false]]);
    expect(fold({ open: null, items }).fresh).toEqual([[1, 3, 3, true]]);
    expect(fold({ open: record(3, 4), items: [missed(1, 6)] })).toEqual({ grown: [1, 6, 6], fresh: [] });
  });

  test('another reason makes another record', () => {
    expect(fold({ open: record(1), items: [missed(2, 2, 'NO_AGENT')] })).toEqual({
      grown: null,
      fresh: [[2, 2, 1, true]],
    });
  });

  test('moments of two schedules are not in one record, of which no single one could be removed', () => {
    const often = (from: number, count: number) => ({
      ...missed(from),
      to: at(from + (count - 1) / 6),
      count,
    });
    // Every ten seconds, then every minute, and the other way round.
    expect(fold({ open: record(1, 3), items: [often(3.5, 4)] })).toEqual({
      grown: null,
      fresh: [[3.5, 4, 4, true]],
    });
    expect(fold({ open: null, items: [often(1, 7), missed(2.5), missed(3.5)] }).fresh).toEqual([
      [1, 2, 7, false],
      [2.5, 3.5, 2, true],
    ]);
    expect(fold({ open: record(5, 6), items: [often(4, 4)] })).toEqual({
      grown: null,
      fresh: [[4, 4.5, 4, false]],
    });
  });
});
