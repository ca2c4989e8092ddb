import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { fail, integer, text, type Environment } from './read.ts';

/** Settings of the public status pages, which need no key. */
export type PublicPagesConfig = {
  /** Requests for pages per client address and minute, per replica; 0 = unlimited. */
  readonly perMinute: number;
  /** How long a replica caches a page. */
  readonly cacheMs: number;
  /** Addresses and networks of proxies whose `x-forwarded-…` headers are trusted; empty = none. */
  readonly trustedProxies: readonly string[];
};

const cacheMs = 3000;

/** Throws FatalError (78). */
export function readPublicPages(env: Environment): PublicPagesConfig {
  const proxies = (text(env, 'SERVICE_TRUSTED_PROXIES') ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  for (const proxy of proxies) {
    const [address = ''] = proxy.split('/', 1);
    // Otherwise a `1` meant as a switch would count as the short form of an address.
    if (isIP(address) !== 0 && (address === proxy || ipaddr.isValidCIDR(proxy))) continue;
    fail(
      `SERVICE_TRUSTED_PROXIES must be addresses and networks, like "10.0.0.5, 10.1.0.0/16", but has "${proxy}"`,
    );
  }
  return Object.freeze({
    perMinute: integer(env, 'SERVICE_PUBLIC_RATE_LIMIT', 300, 0, 1_000_000),
    cacheMs,
    trustedProxies: Object.freeze(proxies),
  });
}
