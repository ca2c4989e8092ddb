import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { fail, integer, text, type Environment } from './read.ts';

/** What the service lets everybody do who has no key: read status pages. */
export type PublicPagesConfig = {
  /** Requests for pages of one address in a minute, per replica; 0 = any number. */
  readonly perMinute: number;
  /** How long a replica shows a page as it was read. */
  readonly cacheMs: number;
  /** Addresses and networks of proxies whose `x-forwarded-…` headers are believed; empty = nobody's. */
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
    // Short forms of addresses would take a `1` that is meant as a switch for one.
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
