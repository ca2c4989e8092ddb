import { countRows } from '../db/count-rows.ts';
import type { Queryable } from '../db/database.ts';
import { recurrenceColumns, type RecurrenceColumns, type StatusPageVisibility } from './effect-statements.ts';

/** Statements on maintenance windows. */

/** The values that a client sets, and those derived from them. */
export type MaintenanceWindowWrite = RecurrenceColumns & {
  name: string;
  description: string | null;
  /** End of the last occurrence; null = there is none. */
  overAt: Date | null;
  pauseAllChecks: boolean;
  tags: string[];
  silenceAllAlerts: boolean;
  silenceAlertsTags: string[];
  statusPageVisibility: StatusPageVisibility;
};

export type MaintenanceWindowRow = MaintenanceWindowWrite & {
  id: number;
  accountId: string;
  /** Starts, ends and reminders up to this time have been processed. */
  stepsDoneUntil: Date;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `w.id, w.account_id as "accountId", w.name, w.description, ${recurrenceColumns}, w.over_at as "overAt",
  w.pause_all_checks as "pauseAllChecks", w.tags, w.silence_all_alerts as "silenceAllAlerts",
  w.silence_alerts_tags as "silenceAlertsTags", w.status_page_visibility as "statusPageVisibility",
  w.steps_done_until as "stepsDoneUntil", w.created_at as "createdAt", w.updated_at as "updatedAt"`;

const valuesOf = (window: MaintenanceWindowWrite) => [
  window.name,
  window.description,
  window.startsAt,
  window.endsAt,
  window.timezone,
  window.repeatInterval,
  window.repeatUnit,
  window.repeatEndsAt,
  window.overAt,
  window.pauseAllChecks,
  window.tags,
  window.silenceAllAlerts,
  window.silenceAlertsTags,
  JSON.stringify(window.statusPageVisibility),
];

/** A new visible window is processed at once. */
const firstStepAt = ({ statusPageVisibility }: MaintenanceWindowWrite, now: Date) =>
  statusPageVisibility.enabled ? now : null;

/** Returns the new id. */
export async function insertMaintenanceWindow(
  tx: Queryable,
  { accountId, window, now }: { accountId: string; window: MaintenanceWindowWrite; now: Date },
): Promise<number> {
  const rows = await tx.query<{ id: number }>(
    `insert into maintenance_windows (name, description, starts_at, ends_at, timezone, repeat_interval, repeat_unit,
       repeat_ends_at, over_at, pause_all_checks, tags, silence_all_alerts, silence_alerts_tags, status_page_visibility,
       account_id, created_at, steps_done_until, next_step_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::jsonb, $15, $16, $16, $17) returning id`,
    [...valuesOf(window), accountId, now, firstStepAt(window, now)],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a maintenance window was not stored');
  return row.id;
}

export async function updateMaintenanceWindow(
  tx: Queryable,
  { id, window, now }: { id: number; window: MaintenanceWindowWrite; now: Date },
): Promise<void> {
  await tx.query(
    `update maintenance_windows set name = $1, description = $2, starts_at = $3, ends_at = $4, timezone = $5,
       repeat_interval = $6, repeat_unit = $7, repeat_ends_at = $8, over_at = $9, pause_all_checks = $10, tags = $11,
       silence_all_alerts = $12, silence_alerts_tags = $13, status_page_visibility = $14::jsonb, updated_at = $16,
       steps_done_until = $16, next_step_at = $17
     where id = $15`,
    [...valuesOf(window), id, now, firstStepAt(window, now)],
  );
}

type Named = { accountId: string; id: number };

export async function findMaintenanceWindow(
  db: Queryable,
  { accountId, id }: Named,
): Promise<MaintenanceWindowRow | undefined> {
  const rows = await db.query<MaintenanceWindowRow>(
    `select ${columns} from maintenance_windows w where w.id = $1 and w.account_id = $2`,
    [id, accountId],
  );
  return rows[0];
}

/** Like findMaintenanceWindow, but locks the window and its occurrences until the transaction ends. */
export async function lockMaintenanceWindow(
  tx: Queryable,
  { accountId, id }: Named,
): Promise<MaintenanceWindowRow | undefined> {
  const rows = await tx.query<MaintenanceWindowRow>(
    `select ${columns} from maintenance_windows w where w.id = $1 and w.account_id = $2 for update`,
    [id, accountId],
  );
  return rows[0];
}

export const dateOperators = ['gt', 'gte', 'lt', 'lte'] as const;
export type DateFilter = { [O in (typeof dateOperators)[number]]?: Date };

export type WindowFilter = { accountId: string; startsAt: DateFilter; endsAt: DateFilter };

const selected = `from maintenance_windows w where w.account_id = $1
       and ($2::timestamptz is null or w.starts_at > $2) and ($3::timestamptz is null or w.starts_at >= $3)
       and ($4::timestamptz is null or w.starts_at < $4) and ($5::timestamptz is null or w.starts_at <= $5)
       and ($6::timestamptz is null or w.ends_at > $6) and ($7::timestamptz is null or w.ends_at >= $7)
       and ($8::timestamptz is null or w.ends_at < $8) and ($9::timestamptz is null or w.ends_at <= $9)`;

const parametersOf = ({ accountId, startsAt, endsAt }: WindowFilter): unknown[] => {
  const ofFilter = (filter: DateFilter) => dateOperators.map((operator) => filter[operator] ?? null);
  return [accountId, ...ofFilter(startsAt), ...ofFilter(endsAt)];
};

/** Counts the windows that match a filter. */
export async function countMaintenanceWindows(db: Queryable, filter: WindowFilter): Promise<number> {
  return countRows(db, selected, parametersOf(filter));
}

/** A page of windows, oldest first. */
export async function listMaintenanceWindows(
  db: Queryable,
  filter: WindowFilter & { limit: number; offset: number },
): Promise<MaintenanceWindowRow[]> {
  return db.query<MaintenanceWindowRow>(`select ${columns} ${selected} order by w.id limit $10 offset $11`, [
    ...parametersOf(filter),
    filter.limit,
    filter.offset,
  ]);
}

/** Windows that status pages show and that have a possible occurrence between the two moments; oldest first. */
export async function findVisibleWindows(
  db: Queryable,
  options: { accountId: string; from: Date; to: Date; limit: number },
): Promise<MaintenanceWindowRow[]> {
  const { accountId, from, to, limit } = options;
  return db.query<MaintenanceWindowRow>(
    `select ${columns} from maintenance_windows w where w.account_id = $1
       and (w.status_page_visibility->>'enabled')::boolean and w.starts_at <= $3
       and (w.over_at is null or w.over_at > $2)
     order by w.id limit $4`,
    [accountId, from, to, limit],
  );
}

/** Counts an account's windows. Locks the count, so that concurrent callers wait. */
export async function lockMaintenanceWindowCount(tx: Queryable, accountId: string): Promise<number> {
  await tx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const rows = await tx.query<{ count: number }>(
    'select count(*)::integer as count from maintenance_windows where account_id = $1',
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/** Returns false if there was no such window. */
export async function deleteMaintenanceWindow(db: Queryable, { accountId, id }: Named): Promise<boolean> {
  const rows = await db.query(
    'delete from maintenance_windows where id = $1 and account_id = $2 returning id',
    [id, accountId],
  );
  return rows.length > 0;
}

/** Ids of windows with due steps, longest due first. */
export async function findDueWindows(
  db: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    'select id from maintenance_windows where next_step_at <= $1 order by next_step_at limit $2',
    [now, limit],
  );
  return rows.map(({ id }) => id);
}

/** Locks a due window; undefined if another replica holds it or has processed it. */
export async function lockDueWindow(
  tx: Queryable,
  { id, now }: { id: number; now: Date },
): Promise<MaintenanceWindowRow | undefined> {
  const rows = await tx.query<MaintenanceWindowRow>(
    `select ${columns} from maintenance_windows w where w.id = $1 and w.next_step_at <= $2 for update skip locked`,
    [id, now],
  );
  return rows[0];
}

/** Records up to when the steps of a window are done, and when the next one is due (null = never). */
export async function saveSteps(
  tx: Queryable,
  { id, doneUntil, nextAt }: { id: number; doneUntil: Date; nextAt: Date | null },
): Promise<void> {
  await tx.query('update maintenance_windows set steps_done_until = $2, next_step_at = $3 where id = $1', [
    id,
    doneUntil,
    nextAt,
  ]);
}

/** Postpones a window whose steps fail, so that it does not block others. */
export async function putOffSteps(db: Queryable, { id, until }: { id: number; until: Date }): Promise<void> {
  await db.query(
    'update maintenance_windows set next_step_at = $2 where id = $1 and next_step_at is not null',
    [id, until],
  );
}
