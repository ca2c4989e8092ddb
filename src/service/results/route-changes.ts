import type { Db } from '../db/database.ts';
import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';
import type { RunFollower } from './finished-runs.ts';
import { findRoutes, storeRouteChange, type RoutePair } from './route-statements.ts';

/** Changes of route: a trace whose routers are not those of the trace before it, at the same location. */

/** A hop that changed: the addresses that answered before and now. Empty: the route had no such hop. */
type ChangedHop = { hop: number; before: string[]; after: string[] };

/** What `details.routeChange` of a result holds. */
export type RouteChange = { previousResultId: string; previousStartedAt: string; hops: ChangedHop[] };

const maxHops = 64;

/** All addresses that answered at a distance; empty if none did. */
function addressesOf(hop: unknown): string[] {
  const { address, others } = fieldsOf(hop);
  return [address, ...itemsOf(others)].filter((one): one is string => typeof one === 'string');
}

/**
 * The hops that differ between two traces (`details.traceroute`). A silent hop may be any router, so it differs from
 * none. A hop with several addresses differs if none of them is the same. Beyond the end of a route that reached its
 * target there is no hop.
 */
export function changedHops(before: Fields, after: Fields): ChangedHop[] {
  const [old, now] = [itemsOf(before['hops']).slice(0, maxHops), itemsOf(after['hops']).slice(0, maxHops)];
  const bothReached = before['reached'] === true && after['reached'] === true;
  const changed: ChangedHop[] = [];
  for (let index = 0; index < Math.max(old.length, now.length); index++) {
    const [was, is] = [addressesOf(old[index]), addressesOf(now[index])];
    const isGone = index >= old.length || index >= now.length;
    const differs = isGone
      ? bothReached
      : was.length > 0 && is.length > 0 && !is.some((address) => was.includes(address));
    if (differs) changed.push({ hop: index + 1, before: was, after: is });
  }
  return changed;
}

/** Records in each trace how its route differs from the one before it. */
export const followRoutes: RunFollower = async (tx: Db, runs) => {
  const parts = runs.flatMap(({ checkId, parts: all }) =>
    all.map(({ resultId, startedAt }) => ({ checkId, resultId, startedAt })),
  );
  for (const pair of await findRoutes(tx, parts)) {
    const change = changeOf(pair);
    if (change !== null) await storeRouteChange(tx, pair, change);
  }
};

function changeOf({ before, after, previousId, previousStartedAt }: RoutePair): RouteChange | null {
  const hops = changedHops(fieldsOf(before), fieldsOf(after));
  if (hops.length === 0) return null;
  return { previousResultId: previousId, previousStartedAt: previousStartedAt.toISOString(), hops };
}
