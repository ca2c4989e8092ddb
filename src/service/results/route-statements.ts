import { sqlTypesWhere } from '../checks/types/table.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on the routes of traces. */

/** A trace and the one before it at the same location: the `details.traceroute` of both. */
export type RoutePair = {
  resultId: string;
  startedAt: Date;
  after: unknown;
  previousId: string;
  previousStartedAt: Date;
  before: unknown;
};

/** How long a trace is remembered. */
const memory = `interval '7 days'`;

/** The traces among these results that have a trace before them. */
export async function findRoutes(
  db: Queryable,
  parts: readonly { checkId: string; resultId: string; startedAt: Date }[],
): Promise<RoutePair[]> {
  if (parts.length === 0) return [];
  return db.query<RoutePair>(
    `select r.id as "resultId", r.started_at as "startedAt", r.body->'details'->'traceroute' as after,
       p.id as "previousId", p.started_at as "previousStartedAt", p.route as before
     from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as part (check_id, id, started_at)
     join checks c on c.id = part.check_id and c.check_type in ${sqlTypesWhere(({ hasRoute }) => hasRoute)}
     join check_results r on r.id = part.id and r.started_at = part.started_at
     cross join lateral (
       select id, started_at, body->'details'->'traceroute' as route from check_results
       where check_id = r.check_id and started_at < r.started_at and started_at > r.started_at - ${memory}
         and run_location = r.run_location and result_type = 'FINAL' and not test_session
         and jsonb_typeof(body->'details'->'traceroute'->'hops') = 'array'
       order by started_at desc, id desc limit 1
     ) as p
     where jsonb_typeof(r.body->'details'->'traceroute'->'hops') = 'array'`,
    [
      parts.map(({ checkId }) => checkId),
      parts.map(({ resultId }) => resultId),
      parts.map(({ startedAt }) => startedAt),
    ],
  );
}

/** Adds `details.routeChange` to a result. */
export async function storeRouteChange(
  tx: Queryable,
  { resultId, startedAt }: Pick<RoutePair, 'resultId' | 'startedAt'>,
  change: object,
): Promise<void> {
  await tx.query(
    `update check_results set body = jsonb_set(body, '{details,routeChange}', $3::jsonb)
     where id = $1 and started_at = $2`,
    [resultId, startedAt, JSON.stringify(change)],
  );
}

export type RouteChangeRow = { id: string; at: Date; location: string; change: unknown };

/** The traces of a range whose route had changed, newest first. */
export async function listRouteChanges(
  db: Queryable,
  { checkId, range, limit }: { checkId: string; range: { from: Date; to: Date }; limit: number },
): Promise<RouteChangeRow[]> {
  return db.query<RouteChangeRow>(
    // The conditions of the index check_results_route_changes.
    `select id, started_at as at, run_location as location, body->'details'->'routeChange' as change
     from check_results
     where check_id = $1 and started_at >= $2 and started_at < $3
       and check_type in ${sqlTypesWhere(({ hasRoute }) => hasRoute)} and body->'details' ? 'routeChange'
     order by started_at desc limit $4`,
    [checkId, range.from, range.to, limit],
  );
}
