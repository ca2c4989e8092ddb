import Type from 'typebox';
import { dayMs } from '../../durations.ts';
import { badRequest } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { countAlertsByDay } from './statements.ts';

/** Alerts by day, for a month at a glance. */

const maxDays = 92;
const usualDays = 31;
const Count = Type.Integer({ minimum: 0 });

export const AlertDay = open(
  Type.Object(
    {
      day: Type.String({ examples: ['2026-03-01'], description: 'In UTC.' }),
      failures: Type.Integer({ minimum: 0, description: 'Alerts that a check fails, and their reminders.' }),
      degraded: Count,
      recoveries: Count,
      certificates: Type.Integer({ minimum: 0, description: 'Certificates that expire soon.' }),
      locations: Type.Integer({ minimum: 0, description: "Alerts about locations' own networks." }),
    },
    { $id: 'AlertDay', title: 'AlertDay' },
  ),
);

type Kind = 'failures' | 'degraded' | 'recoveries' | 'certificates' | 'locations';

const kindOf = (alertType: string): Kind => {
  if (alertType === 'ALERT_SSL') return 'certificates';
  if (alertType.endsWith('RECOVERY'))
    return alertType.startsWith('ALERT_LOCATION_') ? 'locations' : 'recoveries';
  if (alertType.startsWith('ALERT_LOCATION_')) return 'locations';
  return ['ALERT_DEGRADED', 'ALERT_DEGRADED_REMAIN', 'ALERT_FAILURE_DEGRADED'].includes(alertType)
    ? 'degraded'
    : 'failures';
};

const UnixSeconds = (description: string) =>
  Type.Number({ minimum: 0, maximum: 253_402_300_799, description });

/** Registers the counts of alerts by day. */
export function registerAlertDays(api: PublicApi, { db, now }: ApiDeps): void {
  api.get(
    '/v1/alert-days',
    {
      schema: {
        operationId: 'listAlertDays',
        tags: ['Alerts'],
        summary:
          'How many alerts were raised on each day, oldest day first; days without alerts are left out',
        querystring: strict(
          Type.Object({
            from: Type.Optional(UnixSeconds(`Unix seconds; absent: ${usualDays} days before to.`)),
            to: Type.Optional(
              UnixSeconds(`Unix seconds, not included; at most ${maxDays} days after from. Absent: now.`),
            ),
          }),
        ),
        response: { 200: Type.Array(Type.Ref('AlertDay')), ...errorResponses(400) },
      },
    },
    async ({ accountId, query }) => {
      const to = query.to === undefined ? now() : query.to * 1000;
      const from = query.from === undefined ? to - usualDays * dayMs : query.from * 1000;
      if (from >= to) throw badRequest({ from: ['must be before to'] });
      if (to - from > maxDays * dayMs)
        throw badRequest({ to: [`must be at most ${maxDays} days after from`] });
      const rows = await countAlertsByDay(db, { accountId, from: new Date(from), to: new Date(to) });
      const days = new Map<string, { day: string } & { [K in Kind]: number }>();
      for (const { day, alertType, count } of rows) {
        const entry = days.get(day) ?? {
          day,
          failures: 0,
          degraded: 0,
          recoveries: 0,
          certificates: 0,
          locations: 0,
        };
        entry[kindOf(alertType)] += count;
        days.set(day, entry);
      }
      return [...days.values()];
    },
  );
}
