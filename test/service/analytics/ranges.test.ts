import { describe, expect, test } from 'vitest';
import { readRetention } from '../../../src/config/retention.ts';
import { quickRange, type QuickRange } from '../../../src/service/analytics/ranges.ts';
import { rolledUpHours, spansOf } from '../../../src/service/analytics/spans.ts';

const at = (text: string) => Date.parse(text);
const shown = ({ from, to }: { from: Date; to: Date }) => [from.toISOString(), to.toISOString()];

test.each<[QuickRange, string, string, string]>([
  ['last24Hours', '2026-03-29T01:30:00.000Z', '2026-03-28T01:30:00.000Z', '2026-03-29T01:30:00.000Z'],
  ['last7Days', '2026-03-05T12:00:00.000Z', '2026-02-26T12:00:00.000Z', '2026-03-05T12:00:00.000Z'],
  ['last30Days', '2026-03-05T12:00:00.000Z', '2026-02-03T12:00:00.000Z', '2026-03-05T12:00:00.000Z'],
  // A Thursday, a Monday at its first moment, a Sunday.
  ['thisWeek', '2026-03-05T12:00:00.000Z', '2026-03-02T00:00:00.000Z', '2026-03-05T12:00:00.000Z'],
  ['thisWeek', '2026-03-02T00:00:00.000Z', '2026-03-02T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
  ['thisWeek', '2026-03-08T23:59:59.999Z', '2026-03-02T00:00:00.000Z', '2026-03-08T23:59:59.999Z'],
  ['lastWeek', '2026-03-05T12:00:00.000Z', '2026-02-23T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
  ['lastWeek', '2026-01-01T00:00:00.000Z', '2025-12-22T00:00:00.000Z', '2025-12-29T00:00:00.000Z'],
  ['thisMonth', '2026-03-31T23:00:00.000Z', '2026-03-01T00:00:00.000Z', '2026-03-31T23:00:00.000Z'],
  ['lastMonth', '2026-03-31T23:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
  ['lastMonth', '2026-01-15T00:00:00.000Z', '2025-12-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
])('%s at %s', (name, now, from, to) => {
  expect(shown(quickRange(name, at(now)))).toEqual([from, to]);
});

describe('sources of the figures', () => {
  const now = at('2026-03-05T12:34:56Z');
  const oldestRaw = at('2026-02-03T00:00:00Z');
  const range = (from: string, to: string) => ({ from: new Date(from), to: new Date(to) });
  const hours = (from: string, to: string) => rolledUpHours(range(from, to), { now, oldestRaw });

  test('complete hours are read from rollups, the rest from raw results', () => {
    const whole = hours('2026-03-04T10:20:00Z', '2026-03-05T12:34:56Z');
    expect(whole).toEqual(range('2026-03-04T11:00:00Z', '2026-03-05T11:00:00Z'));
    expect(spansOf(range('2026-03-04T10:20:00Z', '2026-03-05T12:34:56Z'), whole, [])).toEqual({
      rollups: { ...whole, except: [] },
      raw: [
        range('2026-03-04T10:20:00Z', '2026-03-04T11:00:00Z'),
        range('2026-03-05T11:00:00Z', '2026-03-05T12:34:56Z'),
      ],
    });
  });

  test('hours without a rollup are read from raw results, together with adjacent ranges', () => {
    const all = range('2026-03-04T10:30:00Z', '2026-03-04T15:30:00Z');
    const due = ['2026-03-04T14:00:00Z', '2026-03-04T11:00:00Z'].map((hour) => new Date(hour));
    const { raw } = spansOf(all, hours('2026-03-04T10:30:00Z', '2026-03-04T15:30:00Z'), due);
    expect(raw).toEqual([
      range('2026-03-04T10:30:00Z', '2026-03-04T12:00:00Z'),
      range('2026-03-04T14:00:00Z', '2026-03-04T15:30:00Z'),
    ]);
  });

  test('ranges within an hour use no rollup; without raw results they use the whole hour', () => {
    expect(hours('2026-03-04T10:20:00Z', '2026-03-04T10:50:00Z')).toBeNull();
    expect(hours('2026-03-05T12:00:00Z', '2026-03-05T12:34:56Z')).toBeNull();
    expect(hours('2026-01-01T10:20:00Z', '2026-01-01T12:40:00Z')).toEqual(
      range('2026-01-01T10:00:00Z', '2026-01-01T13:00:00Z'),
    );
  });
});

describe('retention', () => {
  test('defaults follow each other', () => {
    expect(readRetention({})).toEqual({ resultDays: 30, artifactDays: 30, rollupDays: 400 });
    expect(readRetention({ SERVICE_RETENTION_DAYS: '7' })).toEqual({
      resultDays: 7,
      artifactDays: 7,
      rollupDays: 400,
    });
    expect(readRetention({ SERVICE_RETENTION_DAYS: '500' })).toMatchObject({ rollupDays: 500 });
    expect(
      readRetention({ SERVICE_ARTIFACT_RETENTION_DAYS: '3', SERVICE_ROLLUP_RETENTION_DAYS: '60' }),
    ).toEqual({ resultDays: 30, artifactDays: 3, rollupDays: 60 });
  });

  test.each([
    [{ SERVICE_RETENTION_DAYS: '1' }, 'SERVICE_RETENTION_DAYS must be a whole number from 2 to 3650'],
    [{ SERVICE_ARTIFACT_RETENTION_DAYS: '31' }, 'must be at most SERVICE_RETENTION_DAYS (30)'],
    [{ SERVICE_ROLLUP_RETENTION_DAYS: '29' }, 'must be at least SERVICE_RETENTION_DAYS (30)'],
  ])('%o is refused', (env, message) => {
    expect(() => readRetention(env)).toThrow(message);
  });
});
