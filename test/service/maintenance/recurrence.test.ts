import { describe, expect, test } from 'vitest';
import {
  firstOccurrenceFrom,
  isTimezone,
  longestOccurrenceMs,
  momentOf,
  occurrenceAt,
  occurrenceBeginning,
  occurrencesBeginning,
  occurrencesWithin,
  overAt,
  type Recurrence,
} from '../../../src/service/maintenance/recurrence.ts';
import { processorMs } from '../../helpers/processor-time.ts';

/** Times are written as people write them: `2026-03-29 02:30` on the clocks of a zone, and `…Z` for the moment it is. */

type Repeat = [interval: number, unit: 'DAY' | 'WEEK' | 'MONTH', until?: string];
const ms = (text: string) => Date.parse(text.endsWith('Z') ? text : `${text}Z`);
const iso = (at: number) =>
  new Date(at)
    .toISOString()
    .replace('T', ' ')
    .replace(/:00\.000Z$/, '');

function window(from: string, to: string, timezone: string, repeat?: Repeat): Recurrence {
  return {
    startsAt: ms(from),
    endsAt: ms(to),
    timezone,
    repeat:
      repeat === undefined
        ? null
        : {
            interval: repeat[0],
            unit: repeat[1],
            endsAt: repeat[2] === undefined ? null : ms(repeat[2]),
          },
  };
}

const first = (recurrence: Recurrence, limit: number) =>
  occurrencesBeginning(recurrence, { from: 0, to: ms('9000-01-01 00:00'), limit }).map(({ startsAt }) =>
    iso(startsAt),
  );

describe('beginnings, in UTC', () => {
  const cases: [name: string, recurrence: Recurrence, begins: string[]][] = [
    ['once', window('2026-03-04 01:00', '2026-03-04 02:00', 'UTC'), ['2026-03-04 01:00']],
    [
      'each day',
      window('2026-02-27 01:00', '2026-02-27 02:00', 'UTC', [1, 'DAY']),
      ['2026-02-27 01:00', '2026-02-28 01:00', '2026-03-01 01:00'],
    ],
    [
      'each day, in a leap year',
      window('2028-02-28 01:00', '2028-02-28 02:00', 'UTC', [1, 'DAY']),
      ['2028-02-28 01:00', '2028-02-29 01:00', '2028-03-01 01:00'],
    ],
    [
      'each third day, over the end of a year',
      window('2026-12-28 23:30', '2026-12-29 02:00', 'UTC', [3, 'DAY']),
      ['2026-12-28 23:30', '2026-12-31 23:30', '2027-01-03 23:30'],
    ],
    [
      'each second week',
      window('2026-03-04 01:00', '2026-03-04 02:00', 'UTC', [2, 'WEEK']),
      ['2026-03-04 01:00', '2026-03-18 01:00', '2026-04-01 01:00'],
    ],
    [
      'each month',
      window('2026-11-15 01:00', '2026-11-15 02:00', 'UTC', [1, 'MONTH']),
      ['2026-11-15 01:00', '2026-12-15 01:00', '2027-01-15 01:00'],
    ],
    [
      'each month on the 31st: the last day where there is none, and back',
      window('2026-01-31 01:00', '2026-01-31 02:00', 'UTC', [1, 'MONTH']),
      ['2026-01-31 01:00', '2026-02-28 01:00', '2026-03-31 01:00', '2026-04-30 01:00', '2026-05-31 01:00'],
    ],
    [
      'each month on the 31st, in a leap year',
      window('2027-12-31 01:00', '2027-12-31 02:00', 'UTC', [1, 'MONTH']),
      ['2027-12-31 01:00', '2028-01-31 01:00', '2028-02-29 01:00', '2028-03-31 01:00'],
    ],
    [
      'each month on the 30th',
      window('2026-01-30 01:00', '2026-01-30 02:00', 'UTC', [1, 'MONTH']),
      ['2026-01-30 01:00', '2026-02-28 01:00', '2026-03-30 01:00'],
    ],
    [
      'each year on the 29th of February',
      window('2028-02-29 01:00', '2028-02-29 02:00', 'UTC', [12, 'MONTH']),
      ['2028-02-29 01:00', '2029-02-28 01:00', '2030-02-28 01:00', '2031-02-28 01:00', '2032-02-29 01:00'],
    ],
    [
      'each quarter, from the 31st',
      window('2026-08-31 01:00', '2026-08-31 02:00', 'UTC', [3, 'MONTH']),
      ['2026-08-31 01:00', '2026-11-30 01:00', '2027-02-28 01:00', '2027-05-31 01:00'],
    ],
    [
      'until a moment: one that begins then still does',
      window('2026-03-04 01:00', '2026-03-04 02:00', 'UTC', [1, 'DAY', '2026-03-06 01:00']),
      ['2026-03-04 01:00', '2026-03-05 01:00', '2026-03-06 01:00'],
    ],
    [
      'until a moment: one that begins later does not',
      window('2026-03-04 01:00', '2026-03-04 02:00', 'UTC', [1, 'DAY', '2026-03-06 00:59']),
      ['2026-03-04 01:00', '2026-03-05 01:00'],
    ],
    [
      'until before the second one',
      window('2026-03-04 01:00', '2026-03-04 02:00', 'UTC', [1, 'WEEK', '2026-03-04 01:00']),
      ['2026-03-04 01:00'],
    ],
    [
      'Berlin, 03:00 each day as summer begins: an hour earlier',
      window('2026-03-28 02:00', '2026-03-28 03:00', 'Europe/Berlin', [1, 'DAY']),
      ['2026-03-28 02:00', '2026-03-29 01:00', '2026-03-30 01:00'],
    ],
    [
      'Berlin, 02:30 each day: 03:30 on the day without it',
      window('2026-03-27 01:30', '2026-03-27 02:30', 'Europe/Berlin', [1, 'DAY']),
      ['2026-03-27 01:30', '2026-03-28 01:30', '2026-03-29 01:30', '2026-03-30 00:30'],
    ],
    [
      'Berlin, 02:30 each day: the first of two on the day that has it twice',
      window('2026-10-24 00:30', '2026-10-24 01:30', 'Europe/Berlin', [1, 'DAY']),
      ['2026-10-24 00:30', '2026-10-25 00:30', '2026-10-26 01:30'],
    ],
    [
      'Berlin, from the second 02:30 of that day',
      window('2026-10-25 01:30', '2026-10-25 02:30', 'Europe/Berlin', [1, 'DAY']),
      ['2026-10-25 01:30', '2026-10-26 01:30'],
    ],
    [
      'Berlin, weekly over both changes',
      window('2026-03-22 21:00', '2026-03-22 22:00', 'Europe/Berlin', [31, 'WEEK']),
      ['2026-03-22 21:00', '2026-10-25 21:00'],
    ],
    [
      'Berlin, weekly into summer',
      window('2026-03-22 21:00', '2026-03-22 22:00', 'Europe/Berlin', [1, 'WEEK']),
      ['2026-03-22 21:00', '2026-03-29 20:00', '2026-04-05 20:00'],
    ],
    [
      'Berlin, monthly on the 31st at half past midnight: the day of its clocks counts',
      window('2026-01-30 23:30', '2026-01-31 00:30', 'Europe/Berlin', [1, 'MONTH']),
      ['2026-01-30 23:30', '2026-02-27 23:30', '2026-03-30 22:30', '2026-04-29 22:30'],
    ],
    [
      'New York, 02:30 each day: 03:30 on the day without it',
      window('2026-03-07 07:30', '2026-03-07 08:30', 'America/New_York', [1, 'DAY']),
      ['2026-03-07 07:30', '2026-03-08 07:30', '2026-03-09 06:30'],
    ],
    [
      'New York, 01:30 each day: the first of two',
      window('2026-10-31 05:30', '2026-10-31 06:30', 'America/New_York', [1, 'DAY']),
      ['2026-10-31 05:30', '2026-11-01 05:30', '2026-11-02 06:30'],
    ],
    [
      'Lord Howe, whose clocks change by half an hour: 02:15 is 02:45',
      window('2026-10-02 15:45', '2026-10-02 16:45', 'Australia/Lord_Howe', [1, 'DAY']),
      ['2026-10-02 15:45', '2026-10-03 15:45', '2026-10-04 15:15'],
    ],
    [
      'São Paulo when midnight was left out',
      window('2018-11-03 03:00', '2018-11-03 04:00', 'America/Sao_Paulo', [1, 'DAY']),
      ['2018-11-03 03:00', '2018-11-04 03:00', '2018-11-05 02:00'],
    ],
    [
      'Apia, which left out a day: there is one less',
      window('2011-12-29 12:00', '2011-12-29 13:00', 'Pacific/Apia', [1, 'DAY']),
      ['2011-12-29 12:00', '2011-12-30 12:00', '2011-12-31 12:00'],
    ],
    [
      'Kolkata, without summer time',
      window('2026-03-28 20:30', '2026-03-28 21:30', 'Asia/Kolkata', [1, 'MONTH']),
      ['2026-03-28 20:30', '2026-04-28 20:30'],
    ],
  ];
  test.each(cases)('%s', (_name, recurrence, begins) => {
    expect(first(recurrence, begins.length)).toEqual(begins);
    const { repeat } = recurrence;
    if (repeat === null || repeat.endsAt !== null) {
      expect(first(recurrence, begins.length + 5)).toEqual(begins);
      expect(iso(overAt(recurrence) ?? 0)).toBe(
        iso(ms(`${begins.at(-1) ?? ''}`) + recurrence.endsAt - recurrence.startsAt),
      );
    } else {
      expect(overAt(recurrence)).toBeNull();
    }
  });
});

describe('an occurrence lasts as long in real time, whatever the clocks do', () => {
  test.each<[name: string, recurrence: Recurrence, at: string, from: string, to: string]>([
    [
      'over the beginning of summer',
      window('2026-03-21 23:00', '2026-03-22 03:00', 'Europe/Berlin', [1, 'WEEK']),
      '2026-03-29 00:00',
      '2026-03-28 23:00',
      '2026-03-29 03:00',
    ],
    [
      'over the end of summer',
      window('2026-10-17 22:00', '2026-10-18 02:00', 'Europe/Berlin', [1, 'WEEK']),
      '2026-10-25 00:00',
      '2026-10-24 22:00',
      '2026-10-25 02:00',
    ],
    [
      'a whole month, over February',
      window('2026-01-31 00:00', '2026-02-28 00:00', 'UTC', [1, 'MONTH']),
      '2026-03-01 00:00',
      '2026-02-28 00:00',
      '2026-03-28 00:00',
    ],
  ])('%s', (_name, recurrence, at, from, to) => {
    expect(occurrenceAt(recurrence, ms(at))).toEqual({ startsAt: ms(from), endsAt: ms(to) });
  });
});

describe('the current occurrence', () => {
  const daily = window('2026-03-04 01:00', '2026-03-04 02:00', 'UTC', [1, 'DAY', '2026-03-20 00:00']);
  const wholeDays = window('2026-03-04 00:00', '2026-03-05 00:00', 'UTC', [1, 'DAY']);
  test.each<[name: string, recurrence: Recurrence, at: string, begins: string | null]>([
    ['before the first', daily, '2026-03-04 00:59', null],
    ['at its beginning', daily, '2026-03-04 01:00', '2026-03-04 01:00'],
    ['within', daily, '2026-03-05 01:30', '2026-03-05 01:00'],
    ['at its end', daily, '2026-03-05 02:00', null],
    ['between two', daily, '2026-03-05 12:00', null],
    ['the last', daily, '2026-03-19 01:59', '2026-03-19 01:00'],
    ['after the last', daily, '2026-03-20 01:30', null],
    ['days without a gap', wholeDays, '2026-03-09 00:00', '2026-03-09 00:00'],
    ['just before the next', wholeDays, '2026-03-08 23:59', '2026-03-08 00:00'],
    ['once', window('2026-03-04 01:00', '2026-03-09 01:00', 'UTC'), '2026-03-08 00:00', '2026-03-04 01:00'],
    ['once, over', window('2026-03-04 01:00', '2026-03-09 01:00', 'UTC'), '2026-03-09 01:00', null],
  ])('%s', (_name, recurrence, at, begins) => {
    expect(occurrenceAt(recurrence, ms(at))?.startsAt ?? null).toBe(begins === null ? null : ms(begins));
  });
});

test('occurrences of a stretch of time are those with a part in it', () => {
  const daily = window('2026-03-04 01:00', '2026-03-04 03:00', 'UTC', [1, 'DAY']);
  const within = (from: string, to: string) =>
    occurrencesWithin(daily, { from: ms(from), to: ms(to), limit: 10 }).map(({ startsAt }) => iso(startsAt));
  expect(within('2026-03-05 02:59', '2026-03-06 01:00')).toEqual(['2026-03-05 01:00']);
  expect(within('2026-03-05 03:00', '2026-03-06 01:00')).toEqual([]);
  expect(within('2026-03-05 03:00', '2026-03-06 01:01')).toEqual(['2026-03-06 01:00']);
});

test('only the very beginning of an occurrence names it', () => {
  const daily = window('2026-03-04 01:00', '2026-03-04 03:00', 'UTC', [1, 'DAY', '2026-03-06 12:00']);
  expect(occurrenceBeginning(daily, ms('2026-03-05 01:00'))?.endsAt).toBe(ms('2026-03-05 03:00'));
  expect(occurrenceBeginning(daily, ms('2026-03-05 01:01'))).toBeNull();
  expect(occurrenceBeginning(daily, ms('2026-03-03 01:00'))).toBeNull();
  expect(occurrenceBeginning(daily, ms('2026-03-07 01:00'))).toBeNull();
});

test.each<[Repeat, string]>([
  [[1, 'DAY'], '2899-07-01 01:00'],
  [[7, 'DAY'], '2899-07-04 01:00'],
  [[5, 'WEEK'], '2899-07-25 01:00'],
  [[1, 'MONTH'], '2899-07-15 01:00'],
])('far away, %j is found at once', (repeat, begins) => {
  const recurrence = window('2000-01-15 01:00', '2000-01-15 02:00', 'UTC', repeat);
  const used = processorMs(() => {
    const found = firstOccurrenceFrom(recurrence, ms('2899-07-01 00:00'));
    expect(iso(found?.startsAt ?? 0)).toBe(begins);
  });
  // Going through all those days would take more than a second.
  expect(used).toBeLessThan(300);
});

test('the number of the first one from a moment on agrees with counting', () => {
  for (const timezone of ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Apia', 'Pacific/Kiritimati']) {
    for (const repeat of [
      [1, 'DAY'],
      [3, 'DAY'],
      [1, 'WEEK'],
      [1, 'MONTH'],
      [5, 'MONTH'],
    ] as Repeat[]) {
      const recurrence = window('2011-10-31 01:30', '2011-10-31 02:00', timezone, repeat);
      const all = occurrencesBeginning(recurrence, { from: 0, to: ms('2013-01-01 00:00'), limit: 1000 });
      for (let at = ms('2011-10-30 00:10'); at < ms('2012-12-01 00:00'); at += 101 * 3_600_000) {
        const expected = all.find(({ startsAt }) => startsAt >= at);
        expect([timezone, repeat, iso(at), firstOccurrenceFrom(recurrence, at)]).toEqual([
          timezone,
          repeat,
          iso(at),
          expected ?? expect.anything(),
        ]);
      }
    }
  }
});

test('a local time names a moment', () => {
  expect(iso(momentOf(ms('2026-07-01 12:00'), 'Europe/Berlin'))).toBe('2026-07-01 10:00');
  expect(iso(momentOf(ms('2026-03-29 02:30'), 'Europe/Berlin'))).toBe('2026-03-29 01:30');
  expect(iso(momentOf(ms('2026-10-25 02:30'), 'Europe/Berlin'))).toBe('2026-10-25 00:30');
  expect(iso(momentOf(ms('2026-10-25 03:30'), 'Europe/Berlin'))).toBe('2026-10-25 02:30');
});

test('names of time zones', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+2']) {
    expect([name, isTimezone(name)]).toEqual([name, true]);
  }
  for (const name of ['', 'Mars/Olympus', '+02:00', 'Europe', 'local', 'x'.repeat(1000)]) {
    expect([name, isTimezone(name)]).toEqual([name, false]);
  }
});

test('how long an occurrence may last', () => {
  const hours = (interval: number, unit: Repeat[1]) => longestOccurrenceMs({ interval, unit }) / 3_600_000;
  expect([hours(1, 'DAY'), hours(2, 'WEEK'), hours(1, 'MONTH')]).toEqual([24, 336, 672]);
});
