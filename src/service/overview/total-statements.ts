import { checksWithGroups } from '../checks/storage/effective-checks.ts';
import type { Queryable } from '../db/database.ts';
import { checkStates, type Counts } from './schema.ts';

/** Statements on all checks of an account. */

/** SQL over `checks c`, their group `g` and their status `s`: the state of a check. */
export const stateSql = `case when not c.activated or g.activated is false then 'paused'
  when s.status is null then 'waiting' when s.status = 'passed' then 'passing'
  when s.status = 'failed' then 'failing' when s.status = 'degraded' then 'degraded' else 'errored' end`;
export const mutedSql = '(c.muted or g.muted is true)';
export const checksWithStates = `${checksWithGroups} left join check_statuses s on s.check_id = c.id`;

export type GroupTotals = { id: number; name: string } & Counts;

/** `version` changes with every change of the account's checks. */
export type Totals = { totals: Counts; groups: GroupTotals[]; version: string };

const noCounts = (): Counts => ({
  all: 0,
  passing: 0,
  degraded: 0,
  failing: 0,
  errored: 0,
  waiting: 0,
  paused: 0,
  muted: 0,
});

/** Counts the checks of an account and of each group by state. */
export async function countStates(db: Queryable, accountId: string): Promise<Totals> {
  const rows = await db.query<{
    groupId: number | null;
    state: number;
    count: number;
    muted: number;
  }>(
    `select group_id::float8 as "groupId", state, count(*)::integer as count,
       (count(*) filter (where muted or group_muted))::integer as muted
     from check_states where account_id = $1 group by 1, 2`,
    [accountId],
  );
  const groups = await db.query<{ id: number; name: string }>(
    'select id::float8 as id, name from check_groups where account_id = $1 order by lower(name), id',
    [accountId],
  );
  const totals = noCounts();
  const byGroup = new Map(groups.map((group) => [group.id, { ...group, ...noCounts() }]));
  for (const { groupId, state, count, muted } of rows) {
    for (const counts of [totals, groupId === null ? undefined : byGroup.get(groupId)]) {
      if (counts === undefined) continue;
      counts.all += count;
      const name = checkStates[state];
      if (name !== undefined) counts[name] += count;
      counts.muted += muted;
    }
  }
  const [change] = await db.query<{ latest: string | null }>(
    'select max(coalesce(updated_at, created_at))::text as latest from checks where account_id = $1',
    [accountId],
  );
  const latest = change?.latest ?? '';
  return { totals, groups: [...byGroup.values()], version: `${totals.all} ${latest}` };
}

/** The most frequent tags of an account's checks. */
export async function frequentTags(
  db: Queryable,
  { accountId, limit }: { accountId: string; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ tag: string }>(
    `select tag from checks cross join lateral unnest(tags) as tag
     where account_id = $1 and tags <> '{}' group by tag order by count(*) desc, tag limit $2`,
    [accountId, limit],
  );
  return rows.map(({ tag }) => tag);
}
