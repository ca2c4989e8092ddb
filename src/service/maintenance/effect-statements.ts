import { repeatUnits, type Occurrence, type Recurrence } from './recurrence.ts';
import type { Queryable } from '../db/database.ts';
import { checksWithGroups } from '../checks/storage/effective-checks.ts';

/** Statements on the effects of maintenance windows on checks and alerts. */

export type RecurrenceColumns = {
  startsAt: Date;
  endsAt: Date;
  timezone: string;
  repeatInterval: number | null;
  repeatUnit: string | null;
  repeatEndsAt: Date | null;
};

/** Columns of `maintenance_windows w`. */
export const recurrenceColumns = `w.starts_at as "startsAt", w.ends_at as "endsAt", w.timezone,
  w.repeat_interval as "repeatInterval", w.repeat_unit as "repeatUnit", w.repeat_ends_at as "repeatEndsAt"`;

/** Converts a window's columns to the form of recurrence.ts. */
export function recurrenceOf(row: RecurrenceColumns): Recurrence {
  const unit = repeatUnits.find((candidate) => candidate === row.repeatUnit);
  return {
    startsAt: row.startsAt.getTime(),
    endsAt: row.endsAt.getTime(),
    timezone: row.timezone,
    repeat:
      unit === undefined || row.repeatInterval === null
        ? null
        : { interval: row.repeatInterval, unit, endsAt: row.repeatEndsAt?.getTime() ?? null },
  };
}

export type StatusPageVisibility = {
  enabled: boolean;
  affectAllServices: boolean;
  suppressAutoIncidents: boolean;
  notifyOnStart: boolean;
  notifyOnEnd: boolean;
  autoStart: boolean;
  autoEnd: boolean;
  reminderMinutesBefore: number[];
  statusPageIds: string[];
  serviceIds: string[];
};

export type EffectiveWindow = RecurrenceColumns & {
  id: number;
  accountId: string;
  name: string;
  pauseAllChecks: boolean;
  tags: string[];
  silenceAllAlerts: boolean;
  silenceAlertsTags: string[];
  statusPageVisibility: StatusPageVisibility;
  /** End of each completed or cancelled occurrence by its start; both in milliseconds since the epoch. */
  ended: { [startsAt: string]: number };
};

const isPausing = '(w.pause_all_checks or cardinality(w.tags) > 0)';

/** Accounts with windows that pause checks, or may do so until `to`; at most `limit`. */
export async function findPausingAccounts(
  db: Queryable,
  { from, to, limit }: { from: Date; to: Date; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ accountId: string }>(
    `select distinct w.account_id as "accountId" from maintenance_windows w
     where ${isPausing} and w.starts_at <= $2 and (w.over_at is null or w.over_at > $1) limit $3`,
    [from, to, limit],
  );
  return rows.map(({ accountId }) => accountId);
}

/** Tags of checks, including those of their groups. */
export async function findTagsOfChecks(
  db: Queryable,
  checkIds: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await db.query<{ id: string; tags: string[] }>(
    `select c.id, c.tags || coalesce(g.tags, '{}') as tags from ${checksWithGroups} where c.id = any($1::uuid[])`,
    [[...checkIds]],
  );
  return new Map(rows.map(({ id, tags }) => [id, tags]));
}

/** Windows of these accounts with a possible occurrence between the two times, both inclusive. */
export async function findEffectiveWindows(
  db: Queryable,
  options: { accountIds: readonly string[]; from: Date; to: Date; onlyPausing?: boolean },
): Promise<EffectiveWindow[]> {
  const { accountIds, from, to, onlyPausing = false } = options;
  return db.query<EffectiveWindow>(
    `select w.id::float8 as id, w.account_id as "accountId", w.name, ${recurrenceColumns}, w.pause_all_checks as "pauseAllChecks", w.tags,
       w.silence_all_alerts as "silenceAllAlerts", w.silence_alerts_tags as "silenceAlertsTags",
       w.status_page_visibility as "statusPageVisibility",
       coalesce((select jsonb_object_agg((extract(epoch from m.starts_at) * 1000)::bigint,
           (extract(epoch from m.ended_at) * 1000)::bigint)
         from maintenances m where m.window_id = w.id and m.starts_at <= $3 and m.ends_at > $2
         and m.ended_at is not null), '{}') as ended
     from maintenance_windows w
     where w.account_id = any($1::uuid[]) and w.starts_at <= $3 and (w.over_at is null or w.over_at > $2)
       ${onlyPausing ? `and ${isPausing}` : ''}
     order by w.id`,
    [[...accountIds], from, to],
  );
}

/** When the effects of a window end in an occurrence: before its start if it was cancelled earlier. */
export function effectiveEnd(
  window: Pick<EffectiveWindow, 'ended'>,
  { startsAt, endsAt }: Occurrence,
): number {
  return Math.min(endsAt, window.ended[startsAt] ?? endsAt);
}
