import { isIP } from 'node:net';
import { isWithin, parseNetworkEntry, type NetworkEntry } from '../../addresses/network-entry.ts';

/** Which targets /probe may reach (PROBE_TARGETS). */
export type AllowedTargets = {
  /** Whether the name itself is on the list. */
  hasName: (host: string) => boolean;
  /** Whether the address is in one of the networks. */
  hasAddress: (address: string) => boolean;
  /** Whether there are networks at all; without them a name need not be resolved to be refused. */
  readonly hasNetworks: boolean;
};

/** The target is not on the list. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

/** Whether an entry is meant as an address or a network, and not as a name. */
const isNetworkText = (entry: string): boolean => entry.includes(':') || /^[\d.]+(?:\/.*)?$/.test(entry);

const plain = (host: string) => host.toLowerCase().replace(/\.$/, '');

/**
 * Reads entries: `*` (everything), names, `*.example.com` (names below it), addresses and networks. Throws an Error
 * for an entry that is none of them.
 */
export function allowedTargets(entries: readonly string[]): AllowedTargets {
  const names = new Set<string>();
  const suffixes: string[] = [];
  const networks: NetworkEntry[] = [];
  let all = false;
  for (const entry of entries) {
    if (entry === '*') all = true;
    else if (isNetworkText(entry)) {
      networks.push(parseNetworkEntry(entry));
    } else if (/^\*\.[a-z0-9_.-]+$/i.test(entry)) suffixes.push(plain(entry.slice(1)));
    else if (/^[a-z0-9_.-]+$/i.test(entry)) names.add(plain(entry));
    else throw new Error(`"${entry}" is no name, address, network or *`);
  }
  return {
    hasName: (host) => {
      const name = plain(host);
      return all || names.has(name) || suffixes.some((suffix) => name.endsWith(suffix));
    },
    hasAddress: (address) => {
      if (all) return true;
      // An address of a link may carry its interface.
      const plainAddress = address.replace(/%.*$/, '');
      if (isIP(plainAddress) === 0) return false;
      const own = parseNetworkEntry(plainAddress);
      return networks.some((network) => isWithin(own, network));
    },
    hasNetworks: networks.length > 0,
  };
}
