import { isIP } from 'node:net';
import type { DnsProtocol, DnsRequest } from '../../protocol/requests.ts';
import { ExchangeError } from './errors.ts';
import type { DnsServer } from './udp.ts';
import { ResolveError, type IpFamily, type Network } from '../interface/network.ts';
import { unbracketed } from '../interface/name.ts';

/** Maximum number of servers for one query; more would only prolong a failure. */
const maxServers = 4;

const defaultPorts: { readonly [P in DnsProtocol]: number } = { UDP: 53, TCP: 53, DOT: 853, DOH: 443 };

/** The target of a query, as the request names it. */
export type NameServerTarget = {
  /** As given, for people; null = the system's own. */
  name: string | null;
  /** Name or address that the certificate must match; null = the server's address. */
  host: string | null;
  /** Null = each system server's own. */
  port: number | null;
  /** DOH only. */
  path: string;
};

/**
 * Reads nameServer and port of a request; a port in a URL takes precedence over `port`. Throws ExchangeError
 * INVALID_URL for an unusable DOH URL.
 */
export function nameServerTarget({ nameServer, port, protocol }: DnsRequest): NameServerTarget {
  const given = nameServer?.trim() ?? '';
  const ownPort = port ?? defaultPorts[protocol];
  if (given === '') {
    return {
      name: null,
      host: null,
      port: port ?? (protocol === 'DOT' || protocol === 'DOH' ? ownPort : null),
      path: '/dns-query',
    };
  }
  if (!given.includes('://'))
    return { name: given, host: unbracketed(given), port: ownPort, path: '/dns-query' };
  if (protocol !== 'DOH')
    throw new ExchangeError('INVALID_URL', 'nameServer may be a URL only with the protocol DOH');
  // An RFC 8484 template: its variable is removed for POST (section 4.1).
  const url = URL.canParse(given) ? new URL(given.replace(/\{\?dns\}$/, '')) : null;
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw new ExchangeError(
      'INVALID_URL',
      'nameServer must be a URL like https://dns.example/dns-query, without user and password',
    );
  }
  return {
    name: given,
    host: unbracketed(url.hostname),
    port: url.port === '' ? ownPort : Number(url.port),
    path: url.pathname === '/' && url.search === '' ? '/dns-query' : `${url.pathname}${url.search}`,
  };
}

/**
 * Addresses of the target in the order in which to query them; `resolveMs` is absent if no name had to be resolved.
 * Rejects with ResolveError or `signal.reason`.
 */
export async function findServers(
  target: NameServerTarget,
  { network, signal }: { network: Network; signal: AbortSignal },
): Promise<{ servers: DnsServer[]; resolveMs?: number }> {
  if (target.host === null) {
    const own = await network.nameServers();
    return {
      servers: own.slice(0, maxServers).map(({ address, port }) => ({ address, port: target.port ?? port })),
    };
  }
  const port = target.port ?? 53;
  if (isIP(target.host) !== 0) return { servers: [{ address: target.host, port }] };
  const startedAt = performance.now();
  const resolved = await resolveEither(target.host, { network, signal });
  return {
    servers: resolved.slice(0, maxServers).map(({ address }) => ({ address, port })),
    resolveMs: performance.now() - startedAt,
  };
}

/** IPv4 addresses, or IPv6 ones if the name has no others. */
async function resolveEither(host: string, { network, signal }: { network: Network; signal: AbortSignal }) {
  const resolve = async (family: IpFamily) => (await network.resolve(host, { family, signal })).addresses;
  try {
    return await resolve(4);
  } catch (error) {
    if (!(error instanceof ResolveError && error.code === 'ENOTFOUND')) throw error;
    return resolve(6).catch((second: unknown) => {
      throw signal.aborted ? signal.reason : second instanceof ResolveError ? error : second;
    });
  }
}
