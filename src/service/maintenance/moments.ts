import { DateTime } from 'luxon';
import { momentOf } from './recurrence.ts';
import { dayMs } from '../../durations.ts';

/**
 * Times as clients write them: a date, or a date and a time. Without an offset, they are local times of a time zone.
 */

const form = /^\d{4}-\d{2}-\d{2}(?<time>T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(?<offset>Z|[+-]\d{2}:?\d{2})?)?$/;
const earliest = Date.parse('1970-01-01T00:00:00Z');
const latest = Date.parse('3000-01-01T00:00:00Z');

export const momentHint =
  'a date or a date and time of ISO 8601 from 1970 to 2999, like 2026-03-04T05:00:00Z';

/**
 * Milliseconds since the epoch; null = not a valid time. A date without a time is its start, or its end if requested.
 */
export function parseMoment(
  text: string,
  { timezone, endOfDay = false }: { timezone: string; endOfDay?: boolean },
): number | null {
  const match = form.exec(text);
  if (match === null) return null;
  const parsed = DateTime.fromISO(text, { zone: 'utc' });
  if (!parsed.isValid) return null;
  const wall = parsed.toMillis();
  const moment = (): number => {
    if (match.groups?.['offset'] !== undefined) return wall;
    if (match.groups?.['time'] !== undefined || !endOfDay) return momentOf(wall, timezone);
    return momentOf(wall + dayMs, timezone) - 1;
  };
  const at = moment();
  return at >= earliest && at < latest ? at : null;
}
