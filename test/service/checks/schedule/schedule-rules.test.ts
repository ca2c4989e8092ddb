import { describe, expect, it } from 'vitest';
import {
  frequencies,
  intervalSeconds,
  maxFrequencyOffset,
  offsetProblem,
  offsetSeconds,
} from '../../../../src/service/checks/schedule/rules.ts';
import { claimWindowSeconds, lastDue, nextDue } from '../../../../src/protocol/schedule.ts';

const id = '0198c0de-0000-7000-8000-000000000001';

describe('frequencyOffset', () => {
  it.each([
    [1, 10],
    [2, 20],
    [5, 50],
    [10, 100],
    [15, 150],
    [30, 300],
    [60, 600],
    [120, 2],
    [180, 3],
    [360, 6],
    [720, 12],
    [1440, 24],
  ])('frequency %i: 1 to %i', (frequency, max) => {
    expect(maxFrequencyOffset(frequency)).toBe(max);
    for (const frequencyOffset of [1, max, undefined, null]) {
      expect(
        offsetProblem({ frequency, ...(frequencyOffset === undefined ? {} : { frequencyOffset }) }),
      ).toBeNull();
    }
    for (const frequencyOffset of [0, -1, max + 1, 1.5]) {
      expect(offsetProblem({ frequency, frequencyOffset })).toBe(
        `must be a whole number from 1 to ${max} when frequency is ${frequency}`,
      );
    }
    // The unit makes the range span the interval: the largest offset is a whole interval, so due at its multiples.
    expect(offsetSeconds({ frequency, frequencyOffset: max }, id)).toBe(0);
    expect(offsetSeconds({ frequency, frequencyOffset: 1 }, id)).toBe(
      (frequency <= 60 ? 6 : 3600) % (frequency * 60),
    );
  });

  it.each([10, 20, 30])('frequency 0: a run every %i s', (frequencyOffset) => {
    expect(offsetProblem({ frequency: 0, frequencyOffset })).toBeNull();
    expect(intervalSeconds({ frequency: 0, frequencyOffset })).toBe(frequencyOffset);
    const offset = offsetSeconds({ frequency: 0, frequencyOffset }, id);
    expect(offset).toBeGreaterThanOrEqual(0);
    expect(offset).toBeLessThan(frequencyOffset);
  });

  it.each([undefined, null, 0, 1, 15, 40, 60])('frequency 0: refuses the offset %s', (frequencyOffset) => {
    expect(
      offsetProblem({ frequency: 0, ...(frequencyOffset === undefined ? {} : { frequencyOffset }) }),
    ).toBe('must be 10, 20 or 30 (seconds between runs) when frequency is 0');
  });

  it('spreads checks without an offset evenly and deterministically', () => {
    const ids = Array.from({ length: 6_000 }, (_, n) => `check-${n}`);
    const offsets = ids.map((checkId) => offsetSeconds({ frequency: 1 }, checkId));
    expect(ids.map((checkId) => offsetSeconds({ frequency: 1 }, checkId))).toEqual(offsets);
    const perSecond = new Map<number, number>();
    for (const offset of offsets)
      perSecond.set(Math.floor(offset), (perSecond.get(Math.floor(offset)) ?? 0) + 1);
    expect(perSecond.size).toBe(60);
    expect(Math.max(...perSecond.values())).toBeLessThan(160); // 100 on average
    expect(Math.min(...perSecond.values())).toBeGreaterThan(50);
  });
});

describe('due moments', () => {
  const day = Date.parse('2026-03-04T00:00:00Z');
  it.each([
    [{ frequency: 5, frequencyOffset: 10 }, '2026-03-04T00:00:00.000Z', '2026-03-04T00:01:00.000Z'],
    [{ frequency: 5, frequencyOffset: 10 }, '2026-03-04T00:00:59.999Z', '2026-03-04T00:01:00.000Z'],
    [{ frequency: 5, frequencyOffset: 10 }, '2026-03-04T00:01:00.000Z', '2026-03-04T00:06:00.000Z'],
    [{ frequency: 1440, frequencyOffset: 3 }, '2026-03-04T02:00:00.000Z', '2026-03-04T03:00:00.000Z'],
    [{ frequency: 1440, frequencyOffset: 24 }, '2026-03-04T02:00:00.000Z', '2026-03-05T00:00:00.000Z'],
    [{ frequency: 120, frequencyOffset: 1 }, '2026-03-04T02:00:00.000Z', '2026-03-04T03:00:00.000Z'],
  ])('%j after %s: %s', (timing, after, due) => {
    const schedule = { intervalSeconds: intervalSeconds(timing), offsetSeconds: offsetSeconds(timing, id) };
    expect(new Date(nextDue(schedule, Date.parse(after))).toISOString()).toBe(due);
  });

  it.each(frequencies)('frequency %i: exact multiples of the interval, without drift', (frequency) => {
    const timing = { frequency, ...(frequency === 0 ? { frequencyOffset: 20 } : {}) };
    const schedule = { intervalSeconds: intervalSeconds(timing), offsetSeconds: offsetSeconds(timing, id) };
    let due = nextDue(schedule, day);
    const first = due;
    for (let n = 1; n <= 1000; n++) {
      // However late the scheduler looks within the interval.
      const late = due + ((n * 7919) % (schedule.intervalSeconds * 1000));
      expect(lastDue(schedule, late)).toBe(due);
      due = nextDue(schedule, late);
      expect(due).toBe(first + n * schedule.intervalSeconds * 1000);
    }
  });

  it.each([
    [10, 10],
    [60, 60],
    [300, 300],
    [600, 360],
    [86_400, 360],
  ])('a run every %i s may wait %i s', (interval, window) => {
    expect(claimWindowSeconds(interval)).toBe(window);
  });
});
