import type { HopState } from '../evidence/trace-hops.ts';

/** How often a router must be on a route before the route counts as a circle. */
const turns = 3;

/** The address that answered most at a distance; null if nothing answered. */
export function addressOf({ answeredBy }: HopState): string | null {
  let most = 0;
  let address: string | null = null;
  for (const [from, count] of answeredBy) {
    if (count > most) [most, address] = [count, from];
  }
  return address;
}

/**
 * The routers of a circle that the route runs in, in order; null if it does not. The last hop must be on the route
 * three times, with the same distance in between, and another router between. The same address several times in a row
 * is no circle: it is how a translation of addresses shows the routers behind it.
 */
export function loopIn(hops: readonly HopState[]): string[] | null {
  const addresses = hops.map(addressOf);
  const last = addresses.at(-1) ?? null;
  if (last === null) return null;
  const end = addresses.length - 1;
  const before = addresses.lastIndexOf(last, end - 1);
  const length = end - before;
  if (before < 0 || length < 2) return null;
  for (let turn = 1; turn < turns; turn++) {
    if (addresses[end - turn * length] !== last) return null;
  }
  const circle = addresses.slice(before, end).filter((address) => address !== null);
  return new Set(circle).size < 2 ? null : circle;
}
