import { isIP } from 'node:net';
import { hostname as ownHostname } from 'node:os';
import { AgentError } from '../errors.ts';
import { openHostsFile } from './resolve/hosts-file.ts';
import {
  ResolveError,
  type IpFamily,
  type Network,
  type Resolved,
  type ResolvedAddress,
} from './interface/network.ts';
import type { PingSocket, PingSocketOptions } from './interface/ping-socket.ts';
import { parseResolvConf, type ResolvConf } from './resolve/resolv-conf.ts';
import { cachedFile } from './resolve/file.ts';
import { createIpv6Routes, type Ipv6Routes } from './resolve/ipv6.ts';
import { toAsciiName, unbracketed } from './interface/name.ts';
import { lookupByOs } from './resolve/os.ts';
import { createStubResolver } from './resolve/stub.ts';
import { shortened } from '../shortened.ts';

export type NetworkOptions = {
  /** True: resolve names with getaddrinfo. False: use the hosts file and query the name servers directly. */
  useOsDnsResolver: boolean;
  hostsFile?: string;
  resolvConfFile?: string;
  ipv6Routes?: Ipv6Routes;
  openPingSocket?: OpenPingSocket;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
};

type OpenPingSocket = (family: IpFamily, options?: PingSocketOptions) => Promise<PingSocket>;

type Found = { addresses: readonly ResolvedAddress[]; source: Resolved['source'] };

const loopback: { readonly [F in IpFamily]: readonly ResolvedAddress[] } = {
  4: [{ address: '127.0.0.1', family: 4 }],
  6: [{ address: '::1', family: 6 }],
};

/** RFC 6761 section 6.3: these names are loopback and are never sent to a name server. */
function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

const openPingSocketLazily: OpenPingSocket = async (family, options) => {
  const { openPingSocket } = await import('./icmp/ping-socket-open.ts');
  return openPingSocket(family, options);
};

/**
 * The host's network (`Network`), created once per process. Name lookups are not cached, because each attempt
 * measures its own.
 */
export function createNetwork(options: NetworkOptions): Network {
  const now = options.now ?? (() => performance.now());
  const conf = cachedFile(
    options.resolvConfFile ?? '/etc/resolv.conf',
    (text) => parseResolvConf(text, ownHostname()),
    now,
  );
  return {
    resolve: createResolver(options, conf, now),
    nameServers: async () => conf().servers.map((server) => ({ ...server })),
    ...createPingSockets(options.openPingSocket ?? openPingSocketLazily),
  };
}

function createResolver(
  options: NetworkOptions,
  conf: () => ResolvConf,
  now: () => number,
): Network['resolve'] {
  const hosts = openHostsFile(options.hostsFile ?? '/etc/hosts', now);
  const stub = createStubResolver(conf);
  const ipv6 = options.ipv6Routes ?? createIpv6Routes(now);

  /** Returns immediately if no name server is needed. */
  function findLocally(name: string, family: IpFamily): Found | null {
    if (options.useOsDnsResolver) return null;
    const plain = name.endsWith('.') ? name.slice(0, -1) : name;
    const listed = hosts.lookup(plain, family);
    if (listed !== undefined) return { addresses: listed, source: 'hosts' };
    return isLocalhost(plain) ? { addresses: loopback[family], source: 'hosts' } : null;
  }

  async function find(name: string, family: IpFamily, signal: AbortSignal): Promise<Found> {
    const local = findLocally(name, family);
    if (local !== null) return local;
    return options.useOsDnsResolver
      ? { addresses: await lookupByOs(name, family, signal), source: 'os' }
      : { addresses: await stub.lookup(name, family, signal), source: 'dns' };
  }

  /** IPv6 addresses, or IPv4 ones if this host has no route to any of the former. */
  async function findIpv6(name: string, signal: AbortSignal): Promise<Found & { ipFallback: boolean }> {
    let found: Found | null = null;
    let failure: unknown;
    try {
      found = await find(name, 6, signal);
    } catch (error) {
      failure = error;
    }
    if (signal.aborted) throw signal.reason;
    for (const { address } of found?.addresses ?? []) {
      if (found !== null && (await ipv6.reaches(address))) return { ...found, ipFallback: false };
    }
    const noRoute = found !== null || !(await ipv6.available());
    if (noRoute) {
      try {
        return { ...(await find(name, 4, signal)), ipFallback: true };
      } catch {
        // The IPv6 lookup's own outcome is more informative.
        if (signal.aborted) throw signal.reason;
      }
    }
    if (found !== null) return { ...found, ipFallback: false };
    throw failure;
  }

  async function resolve(
    hostname: string,
    { family, signal }: { family: IpFamily; signal: AbortSignal },
  ): Promise<Resolved> {
    const startedAt = performance.now();
    if (signal.aborted) throw signal.reason;
    const host = unbracketed(hostname);
    const version = isIP(host);
    if (version !== 0) {
      if (version !== family) {
        throw new ResolveError(
          'ERR_INVALID_IP_ADDRESS',
          `${host} is an IPv${version} address, but IPv${family} was requested`,
        );
      }
      return { addresses: [{ address: host, family }], source: 'literal', durationMs: 0, ipFallback: false };
    }
    const name = toAsciiName(host);
    if (name === null)
      throw new ResolveError('ENOTFOUND', `"${shortened(hostname, 300)}" is not a host name`);
    let found: Found & { ipFallback?: boolean };
    if (family === 6) found = await findIpv6(name, signal);
    else found = findLocally(name, 4) ?? (await find(name, 4, signal));
    return {
      addresses: [...found.addresses],
      source: found.source,
      durationMs: performance.now() - startedAt,
      ipFallback: found.ipFallback ?? false,
    };
  }

  return resolve;
}

/** The ICMP sockets of the network, one per family and options, opened on first use. */
function createPingSockets(openPingSocket: OpenPingSocket): Pick<Network, 'icmp' | 'close'> {
  const pingSockets = new Map<string, Promise<PingSocket>>();
  let closed = false;

  function icmp(family: IpFamily, options: PingSocketOptions = {}): Promise<PingSocket> {
    if (closed) return Promise.reject(new AgentError('NETWORK_UNAVAILABLE', 'the network is closed'));
    const key = `${family} ${options.source ?? ''} ${options.whole ?? false}`;
    const known = pingSockets.get(key);
    if (known !== undefined) return known;
    const opening = openPingSocket(family, options);
    pingSockets.set(key, opening);
    // Failures are not cached, because the permission may be granted while the agent runs.
    opening.catch(() => pingSockets.delete(key));
    return opening;
  }

  function close(): void {
    closed = true;
    for (const opening of pingSockets.values()) {
      opening.then(
        (socket) => socket.close(),
        () => {},
      );
    }
    pingSockets.clear();
  }

  return { icmp, close };
}
