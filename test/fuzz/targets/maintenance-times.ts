import { HttpError } from '../../../src/service/http/errors.ts';
import { occurrenceAt, occurrencesWithin, overAt } from '../../../src/service/maintenance/recurrence.ts';
import { recurrenceOf } from '../../../src/service/maintenance/effect-statements.ts';
import { readWindow } from '../../../src/service/maintenance/rules.ts';

/** Times, time zones and recurrences of maintenance windows: a window is computed in few steps, or refused. */

export const name = 'maintenance-times';
export const maxBytes = 512;

const units = ['DAY', 'WEEK', 'MONTH', null] as const;

/** The lines are: startsAt, endsAt, repeatEndsAt, time zone, interval; the first byte chooses the unit. */
export function run(data: Buffer): void {
  const repeatUnit = units[(data[0] ?? 0) % units.length] ?? null;
  const [startsAt = '', endsAt = '', last = '', timezone = '', interval = ''] = data
    .subarray(1)
    .toString()
    .split('\n');
  // As the schema limits it.
  const repeatInterval =
    repeatUnit === null ? null : Math.min(365, Math.max(1, Math.trunc(Number(interval)) || 1));
  const repeatEndsAt = last === '' ? null : last;
  try {
    const window = readWindow({
      name: 'a',
      startsAt,
      endsAt,
      timezone,
      repeatUnit,
      repeatInterval,
      repeatEndsAt,
    } as never);
    const recurrence = recurrenceOf(window);
    overAt(recurrence);
    for (const at of [recurrence.startsAt, recurrence.endsAt, 1_772_700_000_000, 32_503_679_999_000]) {
      occurrenceAt(recurrence, at);
      const found = occurrencesWithin(recurrence, { from: at, to: at + 400 * 86_400_000, limit: 50 });
      for (const [index, each] of found.entries()) {
        if (!(each.endsAt > each.startsAt)) throw new Error('an occurrence ends before it starts');
        const before = found[index - 1];
        if (before !== undefined && each.startsAt <= before.startsAt)
          throw new Error('occurrences are out of order');
      }
    }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
  }
}

export const seeds = (): string[] => [
  '\x002026-03-04T05:00:00Z\n2026-03-04T06:00:00Z\n2027-01-01\nEurope/Berlin\n1',
  '\x012026-03-29\n2026-03-30T01:30\n\nAmerica/New_York\n2',
  '\x022024-01-31T02:30:00\n2024-01-31T03:30:00+02:00\n2999-12-31T23:59\nPacific/Apia\n1',
  '\x031970-01-01T00:00:00.000000001Z\n2999-12-31\n\nUTC\n',
  '\x002011-12-29T12:00\n2011-12-30T11:00\n\nPacific/Apia\n1',
];

export const dictionary = [
  'T',
  'Z',
  '+14:00',
  '-12:00',
  ':',
  '.',
  '\n',
  '2000-02-29',
  '1970-01-01',
  '2999-12-31',
  'Asia/Tokyo',
  'UTC',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Antarctica/Troll',
  'America/Sao_Paulo',
  'Etc/GMT+12',
];
