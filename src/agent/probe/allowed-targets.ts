import { isIP } from 'node:net';
import { BlockList } from 'node:net';
import { parseNetworkEntry } from '../../addresses/network-entry.ts';

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

const plain = (host: string) => host.toLowerCase().replace(/\.$/, '');

/**
 * Reads entries: `*` (everything), names, `*.example.com` (names below it), addresses and networks. Throws an Error
 * for an entry that is none of them.
 */
export function allowedTargets(entries: readonly string[]): AllowedTargets {
  const names = new Set<string>();
  const suffixes: string[] = [];
  const networks = new BlockList();
  let all = false;
  let hasNetworks = false;
  for (const entry of entries) {
    if (entry === '*') all = true;
    else if (/^[0-9a-f.:]+(?:\/\d+)?$/i.test(entry) && (entry.includes(':') || /\d$/.test(entry))) {
      const { address, bits } = parseNetworkEntry(entry);
      networks.addSubnet(address, bits, isIP(address) === 6 ? 'ipv6' : 'ipv4');
      hasNetworks = true;
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
      const family = isIP(address);
      return all || (family !== 0 && networks.check(address, family === 6 ? 'ipv6' : 'ipv4'));
    },
    hasNetworks,
  };
}
