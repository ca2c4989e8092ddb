import type { Static } from 'typebox';
import { type RecurrenceColumns, recurrenceOf } from './effect-statements.ts';
import {
  type DateFilter,
  type MaintenanceWindowRow,
  type MaintenanceWindowWrite,
  dateOperators,
} from './statements.ts';
import type { Queryable } from '../db/database.ts';
import { shareLockServices } from '../status-pages/service-statements.ts';
import { shareLockStatusPages } from '../status-pages/statements.ts';
import { badRequest } from '../http/errors.ts';
import type { ErrorAttributes } from '../http/validation-errors.ts';
import { momentHint, parseMoment } from './moments.ts';
import { isTimezone, longestOccurrenceMs, overAt } from './recurrence.ts';
import type { ChangeWindowBody, CreateWindowBody } from './schema.ts';
import { isUuid } from '../http/fields/path-params.ts';
import { hourMs } from '../../durations.ts';

/** Rules of maintenance windows that no schema can express. */

type Body = Static<typeof CreateWindowBody> | Static<typeof ChangeWindowBody>;
type Change = Static<typeof ChangeWindowBody>;

/** The times of a body: as sent, or as stored if omitted. Throws 400. */
function readTimes(body: Change, stored: RecurrenceColumns | undefined): RecurrenceColumns {
  const timezone = body.timezone ?? stored?.timezone ?? 'UTC';
  if (!isTimezone(timezone)) {
    throw badRequest({
      timezone: ['must be a name of the IANA time zone database, like Europe/Berlin or UTC'],
    });
  }
  const attributes: ErrorAttributes = {};
  const read = (name: 'startsAt' | 'endsAt' | 'repeatEndsAt', endOfDay = false): Date | null => {
    const text = body[name];
    if (text === undefined) return stored?.[name] ?? null;
    if (text === null) return null;
    const at = parseMoment(text, { timezone, endOfDay });
    if (at === null) attributes[name] = [`must be: ${momentHint}`];
    return new Date(at ?? 0);
  };
  const startsAt = read('startsAt') ?? new Date(0);
  const endsAt = read('endsAt') ?? new Date(0);
  const repeatEndsAt = read('repeatEndsAt', true);
  if (Object.keys(attributes).length > 0) throw badRequest(attributes);
  return {
    startsAt,
    endsAt,
    timezone,
    repeatEndsAt,
    repeatInterval:
      body.repeatInterval === undefined ? (stored?.repeatInterval ?? null) : body.repeatInterval,
    repeatUnit: body.repeatUnit === undefined ? (stored?.repeatUnit ?? null) : body.repeatUnit,
  };
}

function checkTimes(times: RecurrenceColumns): void {
  const attributes: ErrorAttributes = {};
  const { startsAt, endsAt, repeatInterval, repeatUnit, repeatEndsAt } = times;
  if (endsAt <= startsAt) attributes['endsAt'] = ['must be later than startsAt'];
  if (repeatInterval === null && repeatUnit !== null) {
    attributes['repeatInterval'] = ['is required with repeatUnit'];
  }
  if (repeatUnit === null && repeatInterval !== null) {
    attributes['repeatUnit'] = ['is required with repeatInterval'];
  }
  if (repeatEndsAt !== null) {
    if (repeatUnit === null && repeatInterval === null) {
      attributes['repeatEndsAt'] = ['needs repeatInterval and repeatUnit'];
    } else if (repeatEndsAt < startsAt) {
      attributes['repeatEndsAt'] = ['must not be earlier than startsAt'];
    }
  }
  const { repeat } = recurrenceOf(times);
  const longest = repeat === null ? null : longestOccurrenceMs(repeat);
  if (longest !== null && endsAt.getTime() - startsAt.getTime() > longest) {
    const hours = longest / hourMs;
    attributes['endsAt'] = [
      `must be at most ${hours} hours after startsAt, so that occurrences do not overlap`,
    ];
  }
  if (Object.keys(attributes).length > 0) throw badRequest(attributes);
}

/** The window to store: the sent fields merged into the stored ones. Throws 400. */
export function readWindow(body: Static<typeof CreateWindowBody>, stored?: undefined): MaintenanceWindowWrite;
export function readWindow(body: Change, stored: MaintenanceWindowRow): MaintenanceWindowWrite;
export function readWindow(body: Body, stored?: MaintenanceWindowRow): MaintenanceWindowWrite {
  const times = readTimes(body, stored);
  checkTimes(times);
  const over = overAt(recurrenceOf(times));
  const merged = { ...stored, ...body };
  return {
    ...times,
    overAt: over === null ? null : new Date(over),
    // A POST body has all fields by their defaults; a PUT body is completed from the stored ones.
    name: merged.name ?? '',
    description: merged.description ?? null,
    pauseAllChecks: merged.pauseAllChecks ?? false,
    tags: merged.tags ?? [],
    silenceAllAlerts: merged.silenceAllAlerts ?? false,
    silenceAlertsTags: merged.silenceAlertsTags ?? [],
    statusPageVisibility: merged.statusPageVisibility ?? noVisibility,
  };
}

/**
 * Status pages and services that a window names for the first time must belong to the account. Those that it named
 * before may be deleted, so that clients can send back what they read. Throws 400.
 */
export async function checkNamed(
  tx: Queryable,
  {
    accountId,
    window,
    stored,
  }: { accountId: string; window: MaintenanceWindowWrite; stored?: MaintenanceWindowRow },
): Promise<void> {
  const attributes: ErrorAttributes = {};
  for (const [field, what, lock] of [
    ['statusPageIds', 'status page', shareLockStatusPages],
    ['serviceIds', 'status-page service', shareLockServices],
  ] as const) {
    const named = window.statusPageVisibility[field];
    const before = stored?.statusPageVisibility[field] ?? [];
    const added = named.filter((id) => !before.includes(id));
    const known = await lock(tx, { accountId, ids: added.filter(isUuid) });
    for (const [index, id] of named.entries()) {
      if (!added.includes(id) || known.includes(id)) continue;
      attributes[`statusPageVisibility.${field}.${index}`] = [`names no ${what} of this account (${id})`];
    }
  }
  if (Object.keys(attributes).length > 0) throw badRequest(attributes);
}

const noVisibility: MaintenanceWindowWrite['statusPageVisibility'] = {
  enabled: false,
  affectAllServices: false,
  suppressAutoIncidents: false,
  notifyOnStart: false,
  notifyOnEnd: false,
  autoStart: true,
  autoEnd: true,
  reminderMinutesBefore: [],
  statusPageIds: [],
  serviceIds: [],
};

/** A date filter of the list; a date without a time is its start in UTC. Throws 400. */
export function readDateFilter(
  name: string,
  filter: { [operator: string]: string | undefined } = {},
): DateFilter {
  const result: DateFilter = {};
  for (const operator of dateOperators) {
    const text = filter[operator];
    if (text === undefined) continue;
    const at = parseMoment(text, { timezone: 'UTC' });
    if (at === null) throw badRequest({ [`${name}.${operator}`]: [`must be: ${momentHint}`] });
    result[operator] = new Date(at);
  }
  return result;
}
