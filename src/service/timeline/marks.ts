import type { TimeRange } from '../analytics/ranges.ts';
import type { Queryable } from '../db/database.ts';
import {
  effectiveEnd,
  findEffectiveWindows,
  findTagsOfChecks,
  recurrenceOf,
} from '../maintenance/effect-statements.ts';
import { fieldsOf, itemsOf } from '../../json-values.ts';
import { pausesCheck } from '../maintenance/effects.ts';
import { occurrencesWithin } from '../maintenance/recurrence.ts';
import { listRouteChanges } from '../results/route-statements.ts';
import type { Mark } from './schema.ts';
import { deploymentsOf } from './deployments.ts';
import { listAlertMarks, listIncidentMarks } from './statements.ts';

const maxOfKind = 200;

/** `ALERT_FAILURE` as `Failure`. */
const wordsOf = (alertType: string) => {
  const words = alertType
    .replace(/^ALERT_/, '')
    .toLowerCase()
    .replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** What happened to a check besides its runs: alerts, incidents, changed routes, deployments and maintenance, oldest first. */
export async function findMarks(
  db: Queryable,
  { accountId, checkId, range }: { accountId: string; checkId: string; range: TimeRange },
): Promise<Mark[]> {
  const alerts = await listAlertMarks(db, { checkId, range, limit: maxOfKind });
  const incidents = await listIncidentMarks(db, { accountId, checkId, range, limit: maxOfKind });
  const routes = await listRouteChanges(db, { checkId, range, limit: maxOfKind });
  const marks: Mark[] = [
    ...alerts.map(({ id, at, alertType, error }): Mark => ({
      at: at.toISOString(),
      kind: alertType.includes('RECOVERY') ? 'recovery' : 'alert',
      text: error === null ? wordsOf(alertType) : `${wordsOf(alertType)}: ${error}`,
      id,
    })),
    ...incidents.map(({ id, name, at, until }): Mark => ({
      at: at.toISOString(),
      until: until?.toISOString() ?? null,
      kind: 'incident',
      text: name,
      id,
    })),
    ...routes.map(({ id, at, location, change }): Mark => {
      const hops = itemsOf(fieldsOf(change)['hops']).map((hop) => Number(fieldsOf(hop)['hop']));
      const some = hops.length > 5 ? `${hops.slice(0, 5).join(', ')}…` : hops.join(', ');
      return {
        at: at.toISOString(),
        kind: 'route',
        text: `Route changed at ${location}: hop${hops.length === 1 ? '' : 's'} ${some}`,
        id,
      };
    }),
    ...(await deploymentsOf(db, { accountId, checkId, range, limit: maxOfKind })),
    ...(await findMaintenance(db, { accountId, checkId, range })),
  ];
  return marks.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** Occurrences of maintenance windows that paused the check. */
async function findMaintenance(
  db: Queryable,
  { accountId, checkId, range }: { accountId: string; checkId: string; range: TimeRange },
): Promise<Mark[]> {
  const windows = await findEffectiveWindows(db, { accountIds: [accountId], ...range, onlyPausing: true });
  if (windows.length === 0) return [];
  const tags = (await findTagsOfChecks(db, [checkId])).get(checkId) ?? [];
  return windows
    .filter((window) => pausesCheck(window, tags))
    .flatMap((window) =>
      occurrencesWithin(recurrenceOf(window), {
        from: range.from.getTime(),
        to: range.to.getTime(),
        limit: maxOfKind,
      })
        .filter((one) => effectiveEnd(window, one) > one.startsAt)
        .map((one): Mark => ({
          at: new Date(one.startsAt).toISOString(),
          until: new Date(effectiveEnd(window, one)).toISOString(),
          kind: 'maintenance',
          text: window.name,
          id: String(window.id),
        })),
    );
}
