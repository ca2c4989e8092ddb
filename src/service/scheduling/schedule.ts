import type { Queryable } from '../db/database.ts';
import {
  checksWithGroups,
  effectiveRunParallel,
  effectiveRuntimeId,
  effectiveSlugs,
  runByService,
} from '../checks/storage/effective-checks.ts';
import { clockSkewSql } from '../engine/clock-skew.ts';

/** The scheduler's statements on checks. */

/** An agent holds the check. Its moment is null, except between an edit and the next hand-out. */
// Each check is looked up by itself. A join with thousands of checks that were just handed out took half a minute, because the
// database did not know yet how many there are: hence the limit.
const isHeld = (checks: string) =>
  `((select 1 from kept_checks k where k.check_id = ${checks}.id and k.dropped_at is null limit 1) is not null)`;

export type DueCheck = {
  id: string;
  accountId: string;
  checkType: string;
  /** Null for a check without scripts, whatever runtime it names, because any agent can run it. */
  runtimeId: string | null;
  runParallel: boolean;
  rotation: number;
  intervalSeconds: number;
  offsetSeconds: number;
  nextDueAt: Date;
  /** Slugs: data-centre codes, then private locations. Empty if the group is deactivated; the run is then skipped. */
  slugs: string[];
};

/**
 * Checks that agents have to run now, longest due first. They are locked; checks that another replica has locked are
 * skipped.
 */
export async function lockDueChecks(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<DueCheck[]> {
  return tx.query<DueCheck>(
    `select c.id, c.account_id as "accountId", c.check_type as "checkType", ${effectiveRuntimeId} as "runtimeId",
       ${effectiveRunParallel} as "runParallel", c.rotation, c.interval_seconds as "intervalSeconds",
       c.offset_seconds as "offsetSeconds", c.next_due_at as "nextDueAt",
       case when g.activated is false then '{}' else ${effectiveSlugs} end as slugs
     from ${checksWithGroups} where c.activated and c.next_due_at <= $1 and c.check_type not in ${runByService} and not ${isHeld('c')}
     order by c.next_due_at limit $2 for no key update of c skip locked`,
    [now, limit],
  );
}

/**
 * Checks that an agent has held, and that have a result of a run since then (`from`, milliseconds since the epoch). Not those
 * with a result in the future: the clock was wrong, and their moments take place again.
 */
export async function findRunByHolders(
  tx: Queryable,
  { moments, now }: { moments: readonly { id: string; from: number }[]; now: number },
): Promise<Set<string>> {
  if (moments.length === 0) return new Set();
  // Each is looked up by itself, however large its table is: hence the limits.
  const rows = await tx.query<{ id: string }>(
    `select i.id from unnest($1::uuid[], $2::timestamptz[]) as i (id, since)
     where (select 1 from kept_checks k where k.check_id = i.id limit 1) is not null
       and (select 1 from check_results r where r.check_id = i.id and r.job_id is not null
         and r.started_at >= i.since and r.started_at >= $3 limit 1) is not null
       and (select 1 from check_results r where r.check_id = i.id and r.started_at > $4::timestamptz + ${clockSkewSql}
         limit 1) is null`,
    [
      moments.map(({ id }) => id),
      moments.map(({ from }) => new Date(from)),
      new Date(Math.min(...moments.map(({ from }) => from))),
      new Date(now),
    ],
  );
  return new Set(rows.map(({ id }) => id));
}

/** When the next check is due, of those that are due after `after`; null when none is. */
export async function earliestDue(db: Queryable, after: Date): Promise<Date | null> {
  const rows = await db.query<{ due: Date | null }>(
    `select min(next_due_at) as due from checks
     where activated and next_due_at > $1 and check_type not in ${runByService} and not ${isHeld('checks')}`,
    [after],
  );
  return rows[0]?.due ?? null;
}

/**
 * Limit per statement. More checks at once would be blocked for too long, and the statement could time out every
 * time.
 */
const maxBroughtForward = 20_000;

/**
 * Brings forward checks that a wrong clock has delayed by more than their interval. They move by whole intervals, so
 * that they stay spread.
 */
export async function bringChecksForward(
  db: Queryable,
  { now, atOnce = maxBroughtForward }: { now: Date; atOnce?: number },
): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const [last]: { id: string }[] = await db.query<{ id: string }>(
      'select id from checks where id > $1 order by id offset $2 limit 1',
      [after, atOnce - 1],
    );
    await db.query(
      `update checks set next_due_at = next_due_at - make_interval(secs => interval_seconds
         * (ceil(extract(epoch from next_due_at - $1::timestamptz)::float8 / interval_seconds) - 1))
       where id > $2 and id <= $3
         and activated and next_due_at > $1::timestamptz + make_interval(secs => interval_seconds) + ${clockSkewSql}`,
      [now, after, last?.id ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    );
    if (last === undefined) return;
    after = last.id;
  }
}

/**
 * Moves checks that are overdue by more than their interval to their last due moment, because the clock has jumped
 * forward. The moments in between did not take place on any clock, so they are not missed.
 */
export async function skipJump(db: Queryable, now: Date): Promise<void> {
  await db.query(
    `update checks set next_due_at = next_due_at + make_interval(secs => interval_seconds
       * floor(extract(epoch from $1::timestamptz - next_due_at)::float8 / interval_seconds))
     where activated and next_due_at < $1::timestamptz - make_interval(secs => interval_seconds)`,
    [now],
  );
}

/** Ids of locations by account and slug; unknown slugs are absent. */
export async function findLocationIds(
  tx: Queryable,
  wanted: readonly { accountId: string; slug: string }[],
): Promise<{ id: string; accountId: string; slug: string }[]> {
  return tx.query(
    `select l.id, l.account_id as "accountId", l.slug_name as slug
     from unnest($1::uuid[], $2::text[]) as wanted (account_id, slug)
     join locations l on l.account_id = wanted.account_id and l.slug_name = wanted.slug`,
    [wanted.map(({ accountId }) => accountId), wanted.map(({ slug }) => slug)],
  );
}

/** Sets the next due time and the rotation of checks. */
export async function advanceChecks(
  tx: Queryable,
  checks: readonly { id: string; nextDueAt: Date; rotation: number }[],
): Promise<void> {
  await tx.query(
    `update checks c set next_due_at = item.next_due_at, rotation = item.rotation
     from unnest($1::uuid[], $2::timestamptz[], $3::integer[]) as item (id, next_due_at, rotation)
     where c.id = item.id`,
    [
      checks.map(({ id }) => id),
      checks.map(({ nextDueAt }) => nextDueAt),
      checks.map(({ rotation }) => rotation),
    ],
  );
}
