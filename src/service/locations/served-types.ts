import type { Queryable } from '../db/database.ts';

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
