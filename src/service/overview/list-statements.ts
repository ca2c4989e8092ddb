import type { CheckType } from '../../protocol/check-types.ts';
import { nextDue } from '../../protocol/schedule.ts';
import { effectiveSlugs, placesOfGroup } from '../checks/storage/effective-checks.ts';
import { countRows } from '../db/count-rows.ts';
import type { Queryable } from '../db/database.ts';
import { joinLastRun, lastRun } from '../db/last-run.ts';
import { checkStates, type CheckState, type OverviewQuery } from './schema.ts';
import { checksWithStates, mutedSql, stateSql } from './total-statements.ts';

/** Statements that find a page of the overview. */

export type Filter = Pick<OverviewQuery, 'search' | 'state' | 'type' | 'tag' | 'groupId' | 'location'>;

/** Whether a filter excludes any check. */
export const isFiltering = (filter: Filter): boolean =>
  Object.values(filter).some((value) => value !== undefined && value !== '');

/** Tables beside `check_states t` that a statement may need, in the order of their joins. */
const joins = {
  c: 'join checks c on c.id = t.check_id',
  g: 'left join check_groups g on g.id = t.group_id',
  s: `left join check_statuses s on s.check_id = t.check_id ${joinLastRun}`,
  f: 'left join check_figures f on f.check_id = t.check_id',
  // While an agent holds a check, nobody else knows when it is due.
  h: 'left join kept_checks h on h.check_id = t.check_id and h.dropped_at is null',
} as const;
type Join = keyof typeof joins;

/** The conditions of a filter, as SQL over `check_states t` with parameters and the tables that it needs. */
function conditions(accountId: string, filter: Filter) {
  const params: unknown[] = [];
  const needs = new Set<Join>();
  const param = (value: unknown) => `$${params.push(value)}`;
  const where = [`t.account_id = ${param(accountId)}`];
  const require = (condition: string, ...tables: Join[]) => {
    where.push(condition);
    for (const table of tables) needs.add(table);
  };
  const { search, state, type, tag, groupId, location } = filter;
  if (search !== undefined && search !== '') {
    const text = param(search.toLowerCase());
    require(`(strpos(lower(c.name), ${text}) > 0 or starts_with(c.id::text, ${text})
      or exists (select 1 from unnest(c.tags) as tag where strpos(lower(tag), ${text}) > 0))`, 'c');
  }
  if (state !== undefined)
    require(`t.state = any(${param(state.map((one) => checkStates.indexOf(one)))}::smallint[])`);
  if (type !== undefined) require(`c.check_type = any(${param([...type])}::text[])`, 'c');
  if (tag !== undefined) require(`c.tags && ${param([...tag])}::text[]`, 'c');
  if (location !== undefined) require(`(${effectiveSlugs}) && ${param([...location])}::text[]`, 'c', 'g');
  if (groupId !== undefined) {
    const ids = groupId.filter((id) => id !== 'none').map(Number);
    const none = groupId.includes('none') ? ' or t.group_id is null' : '';
    require(`(t.group_id = any(${param(ids)}::bigint[])${none})`);
  }
  return { params, param, needs, where: where.join(' and ') };
}

const tablesOf = (needs: ReadonlySet<Join>) =>
  [
    'check_states t',
    ...(Object.keys(joins) as Join[]).filter((name) => needs.has(name)).map((name) => joins[name]),
  ].join(' ');

/** Counts the checks that match a filter. */
export async function countFiltered(db: Queryable, accountId: string, filter: Filter): Promise<number> {
  const { params, needs, where } = conditions(accountId, filter);
  return countRows(db, `from ${tablesOf(needs)} where ${where}`, params);
}

const pausedState = checkStates.indexOf('paused');

/** SQL of each sort key, and the table that it needs. Checks without a value are last in both orders. */
const keys: { readonly [K in OverviewQuery['sort']]: readonly [sql: string, ...needs: Join[]] } = {
  state: ['t.state'],
  name: ['t.name'],
  availability: ['f.availability', 'f'],
  p95: ['f.p95', 'f'],
  lastRun: [lastRun.startedAt, 's'],
  nextRun: [
    // For the order only; what is shown comes from \`nextDue\`.
    `case when t.state <> ${pausedState} then coalesce(c.next_due_at, case when h.check_id is not null then to_timestamp(
       (floor((extract(epoch from $now::timestamptz) - c.offset_seconds) / c.interval_seconds) + 1) * c.interval_seconds
         + c.offset_seconds) end) end`,
    'c',
    'h',
  ],
};

/** The ids of a page, in its order. `figuresSince`: older figures do not count. `now`: milliseconds since the epoch. */
export async function listIds(
  db: Queryable,
  options: {
    accountId: string;
    query: OverviewQuery;
    figuresSince: Date;
    now: number;
  },
): Promise<string[]> {
  const { accountId, query } = options;
  const { params, param, needs, where } = conditions(accountId, query);
  const { sort, order, group, limit, page } = query;
  const [sql, ...tables] = keys[sort];
  const key = sql.includes('$now') ? sql.replace('$now', () => param(new Date(options.now))) : sql;
  for (const table of tables) needs.add(table);
  if (group) needs.add('g');
  const since = needs.has('f') ? `and f.hour >= ${param(options.figuresSince)}` : '';
  const orders = [
    ...(group ? ['lower(g.name) nulls last', 't.group_id'] : []),
    `${key} ${order} nulls last`,
    ...(sort === 'name' ? [] : ['t.name']),
    't.check_id',
  ];
  const rows = await db.query<{ id: string }>(
    `select t.check_id as id from ${tablesOf(needs)} ${since} where ${where}
     order by ${orders.join(', ')} limit ${param(limit)} offset ${param((page - 1) * limit)}`,
    params,
  );
  return rows.map(({ id }) => id);
}

export type ListedCheck = {
  id: string;
  name: string;
  checkType: CheckType;
  activated: boolean;
  muted: boolean;
  tags: string[];
  groupTags: string[];
  groupId: number | null;
  groupName: string | null;
  locations: string[];
  privateLocations: string[];
  frequency: number;
  frequencyOffset: number | null;
  state: CheckState;
  reason: { message?: string } | null;
  /** ISO. */
  lastRunAt: string | null;
  nextRunAt: string | null;
};

/** With the schedule of a check that an agent holds. */
type Row = ListedCheck & { held: { intervalSeconds: number; offsetSeconds: number } | null };

/** Checks as the overview shows them, as one JSON text, which costs the drivers less than thousands of values. */
export async function readListed(db: Queryable, ids: readonly string[], now: number): Promise<ListedCheck[]> {
  const [row] = await db.query<{ checks: Row[] }>(
    `select coalesce(json_agg(row_to_json(item)), '[]') as checks from (
       select c.id, c.name, c.check_type as "checkType", c.activated and g.activated is not false as activated,
         ${mutedSql} as muted, c.tags, coalesce(g.tags, '{}') as "groupTags", c.group_id as "groupId", g.name as "groupName",
         case when ${placesOfGroup} then g.locations else c.locations end as locations,
         case when ${placesOfGroup} then g.private_locations else c.private_locations end as "privateLocations",
         c.frequency, c.frequency_offset as "frequencyOffset", ${stateSql} as state, s.reason,
         ${lastRun.startedAt} as "lastRunAt",
         case when c.activated and g.activated is not false then c.next_due_at end as "nextRunAt",
         case when c.activated and g.activated is not false and h.check_id is not null then
           json_build_object('intervalSeconds', c.interval_seconds, 'offsetSeconds', c.offset_seconds) end as held
       from ${checksWithStates} ${joinLastRun}
         left join kept_checks h on h.check_id = c.id and h.dropped_at is null
       where c.id = any($1::uuid[])
     ) as item`,
    [[...ids]],
  );
  const known = new Map(
    (row?.checks ?? []).map(({ held, ...check }) => [
      check.id,
      held === null ? check : { ...check, nextRunAt: new Date(nextDue(held, now)).toISOString() },
    ]),
  );
  return ids.flatMap((id) => known.get(id) ?? []);
}
