import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { createCallLimit } from './call-limit.ts';
import { TooManyRequests } from './errors.ts';

/** Limits the requests of one address per minute within this replica. */

/**
 * The address to count. An IPv6 address counts as its /64 network, because its owner has all addresses of that
 * network.
 */
export function countedAddress(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return parsed.toByteArray().slice(0, 8).join('.');
}

/** Returns a hook that throws HttpError 429 above `perMinute`; 0 = no limit. */
export function createAddressLimit({ perMinute, now }: { perMinute: number; now: () => number }) {
  const limit = createCallLimit({ perMinute, now });
  return async ({ ip }: Pick<FastifyRequest, 'ip'>): Promise<void> => {
    if (perMinute === 0 || limit.take(countedAddress(ip))) return;
    throw new TooManyRequests(
      `Too many requests from your address (at most ${perMinute} in a minute)`,
      limit.secondsLeft(),
    );
  };
}
