import type { Queryable } from '../db/database.ts';
import { joinLastRun, lastRun } from '../db/last-run.ts';

/** A check as shown on its badge or its group's badge. */
export type BadgeCheck = {
  name: string;
  /** Whether its group is activated. */
  activated: boolean;
  status: string | null;
  /** Response time of its last run in milliseconds. */
  responseTime: number | null;
  /** Final results since `since`, and those that passed or were degraded; 0 if not requested. */
  runs: number;
  up: number;
};

type Options = {
  /** Null = any account, because knowing the id is sufficient. */
  accountId: string | null;
  since: Date;
  /** Whether to count runs. */
  counts: boolean;
};

/** `which` is an SQL condition on checks that uses $1. */
const statement = (which: string) => `
  select c.name, c.activated and g.activated is not false as activated, s.status, ran.response_time as "responseTime",
    coalesce(counted.runs, 0)::integer as runs, coalesce(counted.up, 0)::integer as up
  from checks c left join check_groups g on g.id = c.group_id left join check_statuses s on s.check_id = c.id
  ${joinLastRun}
  left join lateral (
    select response_time from check_results r
    where r.check_id = c.id and r.id = ${lastRun.id} and r.started_at = ${lastRun.startedAt}
  ) as ran on true
  left join lateral (
    select count(*) as runs, count(*) filter (where r.status in ('passed', 'degraded')) as up from check_results r
    where $4 and r.check_id = c.id and r.started_at >= $3 and r.result_type = 'FINAL' and not r.test_session
      and r.status not in ('missed', 'cancelled')
  ) as counted on true
  where ${which} and ($2::uuid is null or c.account_id = $2)
  order by c.created_at, c.id limit 500`;

export async function badgeOfCheck(
  db: Queryable,
  { id, accountId, since, counts }: Options & { id: string },
): Promise<BadgeCheck | undefined> {
  const rows = await db.query<BadgeCheck>(statement('c.id = $1'), [id, accountId, since, counts]);
  return rows[0];
}

/** Reads the group's name and its checks; undefined = the group does not exist. */
export async function badgeOfGroup(
  db: Queryable,
  { id, accountId, since, counts }: Options & { id: number },
): Promise<{ name: string; checks: BadgeCheck[] } | undefined> {
  const groups = await db.query<{ name: string }>(
    'select name from check_groups where id = $1 and ($2::uuid is null or account_id = $2)',
    [id, accountId],
  );
  const [group] = groups;
  if (group === undefined) return undefined;
  const checks = await db.query<BadgeCheck>(statement('c.group_id = $1'), [id, accountId, since, counts]);
  return { name: group.name, checks };
}
