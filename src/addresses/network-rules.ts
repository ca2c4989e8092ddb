import { isWithin, parseNetworkEntry, type NetworkEntry } from './network-entry.ts';
import { specialIpv4, specialIpv6, type AddressRange } from './special-networks.ts';

/** How far customer code reaches. */
export type NetworkPolicy = {
  /** The location's list; null = every network that is not special. */
  allowed: readonly string[] | null;
  /** The operator's list, which wins over `allowed`. */
  denied: readonly string[];
  /** Ports of the agent and of a service on the same machine: refused on every address of this machine. */
  ownPorts: readonly number[];
  /** Name servers of this machine, reachable on port 53 wherever they are. */
  resolvers: readonly string[];
  /** What the operator's own configuration names, such as a proxy for installers on loopback: `address:port`. */
  configured: readonly string[];
};

/** Ranges that only an entry inside them opens: 0.0.0.0/0 does not. */
const closed: readonly AddressRange[] = ['loopback', 'linkLocal', 'metadata', 'multicast', 'broadcast'];

const special: readonly NetworkEntry[] = [...specialIpv4, ...specialIpv6]
  .filter(([, range]) => closed.includes(range))
  .map(([network]) => parseNetworkEntry(network));

const everything: NetworkEntry = { address: '::', bits: 0, firstPort: 0, lastPort: 65_535 };

type Verdict = 'allow' | 'deny' | 'deny-here';

/**
 * The rules of a policy in the order in which the launcher (src/native/launcher/network/rules.c) tries them; what no
 * rule matches is refused. Throws Error for a malformed entry.
 */
export function networkRules(policy: NetworkPolicy): string[] {
  const { ownPorts, resolvers, configured } = policy;
  const allowed = policy.allowed?.map(parseNetworkEntry) ?? [everything];
  const isSpecial = (entry: NetworkEntry): boolean => special.some((network) => isWithin(entry, network));
  const onPort = (port: number): NetworkEntry => ({ ...everything, firstPort: port, lastPort: port });
  const rules: [Verdict, NetworkEntry[]][] = [
    ['deny', policy.denied.map(parseNetworkEntry)],
    ['allow', [...resolvers.map(dnsOf), ...configured.map(parseNetworkEntry)]],
    ['deny-here', ownPorts.map(onPort)],
    ['allow', allowed.filter(isSpecial)],
    ['deny', [...special]],
    ['allow', allowed.filter((entry) => !isSpecial(entry))],
  ];
  return rules.flatMap(([verdict, entries]) => entries.map((entry) => ruleText(verdict, entry)));
}

function dnsOf(server: string): NetworkEntry {
  return { ...parseNetworkEntry(server), firstPort: 53, lastPort: 53 };
}

const ruleText = (verdict: Verdict, { address, bits, firstPort, lastPort }: NetworkEntry): string =>
  `${verdict}@${address}/${bits}@${firstPort}-${lastPort}`;
