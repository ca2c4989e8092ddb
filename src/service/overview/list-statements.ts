import type { CheckType } from '../../protocol/check-types.ts';
import { effectiveSlugs, placesOfGroup } from '../checks/storage/effective-checks.ts';
import { countRows } from '../db/count-rows.ts';
import type { Queryable } from '../db/database.ts';
import { checkStates, type CheckState, type OverviewQuery } from './schema.ts';
import { checksWithStates, mutedSql, stateSql } from './total-statements.ts';

/** Statements that find a page of the overview. */

export type Filter = Pick<OverviewQuery, 'search' | 'state' | 'type' | 'tag' | 'groupId' | 'location'>;

/** Whether a filter excludes any check. */
export const isFiltering = (filter: Filter): boolean =>
  Object.values(filter).some((value) => value !== undefined && value !== '');

/** The conditions of a filter, as SQL with parameters. */
function conditions(accountId: string, filter: Filter) {
  const params: unknown[] = [];
  const param = (value: unknown) => `$${params.push(value)}`;
  const where = [`c.account_id = ${param(accountId)}`];
  const { search, state, type, tag, groupId, location } = filter;
  if (search !== undefined && search !== '') {
    const text = param(search.toLowerCase());
    where.push(`(strpos(lower(c.name), ${text}) > 0 or starts_with(c.id::text, ${text})
      or exists (select 1 from unnest(c.tags) as tag where strpos(lower(tag), ${text}) > 0))`);
  }
  if (state !== undefined) where.push(`${stateSql} = any(${param([...state])}::text[])`);
  if (type !== undefined) where.push(`c.check_type = any(${param([...type])}::text[])`);
  if (tag !== undefined) where.push(`c.tags && ${param([...tag])}::text[]`);
  if (location !== undefined) where.push(`(${effectiveSlugs}) && ${param([...location])}::text[]`);
  if (groupId !== undefined) {
    const ids = groupId.filter((id) => id !== 'none').map(Number);
    const none = groupId.includes('none') ? ' or c.group_id is null' : '';
    where.push(`(c.group_id = any(${param(ids)}::bigint[])${none})`);
  }
  return { params, param, where: where.join(' and ') };
}

/** Counts the checks that match a filter. */
export async function countFiltered(db: Queryable, accountId: string, filter: Filter): Promise<number> {
  const { params, where } = conditions(accountId, filter);
  return countRows(db, `from ${checksWithStates} where ${where}`, params);
}

const rank = `case ${stateSql} ${checkStates.map((state, index) => `when '${state}' then ${index}`).join(' ')} end`;

/** SQL of each sort key. Checks without a value are last in both orders. */
const keys: { readonly [K in OverviewQuery['sort']]: string } = {
  state: rank,
  name: 'lower(c.name)',
  availability: 'f.availability',
  p95: 'f.p95',
  lastRun: 's.last_started_at',
  nextRun: `case when ${stateSql} <> 'paused' then c.next_due_at end`,
};

/** The ids of a page, in its order. `figuresSince`: older figures do not count. */
export async function listIds(
  db: Queryable,
  options: {
    accountId: string;
    query: OverviewQuery;
    figuresSince: Date;
  },
): Promise<string[]> {
  const { accountId, query } = options;
  const { params, param, where } = conditions(accountId, query);
  const { sort, order, group, limit, page } = query;
  const figures =
    sort === 'availability' || sort === 'p95'
      ? `left join check_figures f on f.check_id = c.id and f.hour >= ${param(options.figuresSince)}`
      : '';
  const orders = [
    ...(group ? ['lower(g.name) nulls last', 'c.group_id'] : []),
    `${keys[sort]} ${order} nulls last`,
    ...(sort === 'name' ? [] : ['lower(c.name)']),
    'c.id',
  ];
  const rows = await db.query<{ id: string }>(
    `select c.id from ${checksWithStates} ${figures} where ${where}
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

/** Checks as the overview shows them, as one JSON text, which costs the drivers less than thousands of values. */
export async function readListed(db: Queryable, ids: readonly string[]): Promise<ListedCheck[]> {
  const [row] = await db.query<{ checks: ListedCheck[] }>(
    `select coalesce(json_agg(row_to_json(item)), '[]') as checks from (
       select c.id, c.name, c.check_type as "checkType", c.activated and g.activated is not false as activated,
         ${mutedSql} as muted, c.tags, coalesce(g.tags, '{}') as "groupTags", c.group_id as "groupId", g.name as "groupName",
         case when ${placesOfGroup} then g.locations else c.locations end as locations,
         case when ${placesOfGroup} then g.private_locations else c.private_locations end as "privateLocations",
         c.frequency, c.frequency_offset as "frequencyOffset", ${stateSql} as state, s.reason,
         s.last_started_at as "lastRunAt",
         case when c.activated and g.activated is not false then c.next_due_at end as "nextRunAt"
       from ${checksWithStates} where c.id = any($1::uuid[])
     ) as item`,
    [[...ids]],
  );
  const known = new Map((row?.checks ?? []).map((check) => [check.id, check]));
  return ids.flatMap((id) => known.get(id) ?? []);
}
