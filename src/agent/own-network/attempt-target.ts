import type { Network, ResolvedAddress } from '../../executors/interface/network.ts';
import { fieldsOf, itemsOf } from '../../json-values.ts';
import type { Answered } from './memory.ts';

/** Where an attempt led, seen from its use of the network and from its details. */

/** The last step of an attempt: a lookup that has not ended, or the addresses that were tried. */
export type LastStep =
  { hostname: string } | { addresses: readonly ResolvedAddress[]; port: number | null } | null;

export type WatchedNetwork = {
  network: Network;
  last: () => LastStep;
  /** Names that a name server resolved in this attempt, and when (epoch, milliseconds). */
  resolved: readonly { name: string; at: number }[];
};

/** The network for one attempt; it notes names and addresses, and sends nothing of its own. */
export function watchNetwork(network: Network, now: () => number): WatchedNetwork {
  let last: LastStep = null;
  const resolved: { name: string; at: number }[] = [];
  return {
    network: {
      ...network,
      resolve: async (hostname, how) => {
        last = { hostname };
        const found = await network.resolve(hostname, how);
        if ((found.source === 'dns' || found.source === 'os') && resolved.length < 8)
          resolved.push({ name: hostname, at: now() });
        last = { addresses: found.addresses, port: null };
        return found;
      },
      connecting: (addresses, port) => {
        last = { addresses, port };
        network.connecting?.(addresses, port);
      },
    },
    last: () => last,
    resolved,
  };
}

/** The step of a DNS check: a name server of its own, or the resolver of the system. Null for other checks. */
export function nameServerStep(
  details: Readonly<Record<string, unknown>>,
): { usesSystem: boolean; address: string | null; port: number | null } | null {
  if (!('nameServerInfo' in details)) return null;
  const { host, port } = fieldsOf(details['nameServerInfo']);
  const { nameServer } = fieldsOf(details['request']);
  return {
    usesSystem: nameServer === null || nameServer === undefined || nameServer === '',
    address: typeof host === 'string' ? host : null,
    port: typeof port === 'number' ? port : null,
  };
}

/** What has answered the attempt; null if it is not known. */
export function answeredBy(
  last: LastStep,
  details: Readonly<Record<string, unknown>>,
  at: number,
): Answered | null {
  const server = nameServerStep(details);
  if (server !== null) {
    const { protocol } = fieldsOf(details['request']);
    if (server.address === null) return null;
    return { kind: protocol === 'UDP' ? 'dns' : 'tcp', address: server.address, port: server.port, at };
  }
  if (last === null || 'hostname' in last) return null;
  const used = usedAddress(details) ?? (last.addresses.length === 1 ? last.addresses[0]?.address : undefined);
  if (used === undefined) return null;
  return { kind: last.port === null ? 'icmp' : 'tcp', address: used, port: last.port, at };
}

/** The address of several that took the connection. */
function usedAddress(details: Readonly<Record<string, unknown>>): string | undefined {
  const { resolvedIp, addresses } = details;
  if (typeof resolvedIp === 'string') return resolvedIp;
  const used = itemsOf(addresses)
    .map(fieldsOf)
    .findLast(({ error }) => error === undefined);
  return typeof used?.['address'] === 'string' ? used['address'] : undefined;
}
