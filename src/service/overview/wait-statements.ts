import type { Queryable } from '../db/database.ts';

/** Statements on what checks wait for. */

/** Check types that connected agents run, by the slug of their location. A location without agents is absent. */
export async function servedTypes(
  db: Queryable,
  { accountId, slugs, connectedSince }: { accountId: string; slugs: readonly string[]; connectedSince: Date },
): Promise<Map<string, string[]>> {
  if (slugs.length === 0) return new Map();
  const rows = await db.query<{ slug: string; types: string[] }>(
    `select l.slug_name as slug, array_agg(distinct t) as types
     from locations l join agents a on a.location_id = l.id cross join lateral unnest(a.check_types) as t
     where l.account_id = $1 and l.slug_name = any($2::text[]) and a.last_seen_at >= $3 group by 1`,
    [accountId, [...slugs], connectedSince],
  );
  return new Map(rows.map(({ slug, types }) => [slug, types]));
}

export type Queued = { checkId: string; runLocation: string; since: Date };

/** The run of each check that has waited longest for an agent, if it was claimable before `before`. */
export async function longestQueued(
  db: Queryable,
  { checkIds, now, before }: { checkIds: readonly string[]; now: Date; before: Date },
): Promise<Map<string, Queued>> {
  const rows = await db.query<Queued>(
    `select distinct on (check_id) check_id as "checkId", run_location as "runLocation", not_before as since from jobs
     where check_id = any($1::uuid[]) and state = 'queued' and not_before < $2 and expires_at > $3
     order by check_id, not_before`,
    [[...checkIds], before, now],
  );
  return new Map(rows.map((row) => [row.checkId, row]));
}
