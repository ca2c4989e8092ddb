import { expect, test } from 'vitest';
import { formatMoment, momentOf } from '../../src/templates/dates.ts';

const now = Date.parse('2026-03-31T12:34:56.789Z');
const iso = (phrase: string) => {
  const time = momentOf(phrase, now);
  return time === null ? null : new Date(time).toISOString();
};

test.each([
  ['now', '2026-03-31T12:34:56.789Z'],
  ['', '2026-03-31T12:34:56.789Z'],
  ['today', '2026-03-31T00:00:00.000Z'],
  ['yesterday', '2026-03-30T00:00:00.000Z'],
  ['Tomorrow', '2026-04-01T00:00:00.000Z'],
  ['2 days ago', '2026-03-29T12:34:56.789Z'],
  ['an hour ago', '2026-03-31T11:34:56.789Z'],
  ['in 90 minutes', '2026-03-31T14:04:56.789Z'],
  ['3 weeks from now', '2026-04-21T12:34:56.789Z'],
  ['+1 week', '2026-04-07T12:34:56.789Z'],
  ['-30s', '2026-03-31T12:34:26.789Z'],
  ['500 ms ago', '2026-03-31T12:34:56.289Z'],
  ['last week', '2026-03-24T12:34:56.789Z'],
  ['next year', '2027-03-31T12:34:56.789Z'],
  // The last day of the month stays the last.
  ['1 month ago', '2026-02-28T12:34:56.789Z'],
  ['next month', '2026-04-30T12:34:56.789Z'],
  ['last quarter', '2025-12-31T12:34:56.789Z'],
  ['1774960496789', '2026-03-31T12:34:56.789Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2024-02-29T10:00:00+02:00', '2024-02-29T08:00:00.000Z'],
  ['2024-13-45', null],
  ['sometime', null],
  ['5 parsecs ago', null],
  ['999999999 years ago', null],
])('%s', (phrase, expected) => {
  expect(iso(phrase)).toBe(expected);
});

test.each([
  ['YYYY-MM-DD', '2026-03-31'],
  ['YYYY-MM-DDTHH:mm:ss.SSSZ', '2026-03-31T12:34:56.789+00:00'],
  ['YY M D H m s', '26 3 31 12 34 56'],
  ['MMM MMMM ddd dddd d', 'Mar March Tue Tuesday 2'],
  ['Do DDD DDDD Q', '31st 90 090 1'],
  ['hh:mm A, h a', '12:34 PM, 12 pm'],
  ['X x', '1774960496 1774960496789'],
  ['[week of] YYYY ZZ', 'week of 2026 +0000'],
  ['', ''],
])('as %s', (format, expected) => {
  expect(formatMoment(now, format)).toBe(expected);
});

test.each([
  [1, '1st'],
  [2, '2nd'],
  [3, '3rd'],
  [4, '4th'],
  [11, '11th'],
  [12, '12th'],
  [13, '13th'],
  [22, '22nd'],
  [30, '30th'],
])('the ordinal of %i', (day, expected) => {
  expect(formatMoment(Date.UTC(2026, 0, day), 'Do')).toBe(expected);
});
