import type { FastifyReply, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { createCallLimit } from './call-limit.ts';
import { HttpError } from './errors.ts';

/** Requests of one address, at most so many in a minute within this replica. */

/** What an address counts as: an IPv6 one as its network of 64 bits, for whoever has one has them all. */
export function countedAddress(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return parsed.toByteArray().slice(0, 8).join('.');
}

/** A hook that throws HttpError 429 above `perMinute`; 0 = any number. */
export function createAddressLimit({ perMinute, now }: { perMinute: number; now: () => number }) {
  const limit = createCallLimit({ perMinute, now });
  return async ({ ip }: Pick<FastifyRequest, 'ip'>, reply: FastifyReply): Promise<void> => {
    if (perMinute === 0 || limit.take(countedAddress(ip))) return;
    void reply.header('retry-after', '60');
    throw new HttpError(
      429,
      `Too many requests from your address (at most ${perMinute} in a minute): try again in a minute.`,
    );
  };
}
