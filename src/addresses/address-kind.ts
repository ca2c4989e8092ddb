import ipaddr from 'ipaddr.js';
import { embeddedIpv4 } from './embedded-ipv4.ts';
import { specialIpv4, specialIpv6, type AddressRange } from './special-networks.ts';

/**
 * What an IP address is, for every filter of targets: notifications, agentic checks and customer code. It is pure: it
 * resolves no name.
 */

/**
 * `public` = the internet; `private` = the local network and this machine; `never` = addresses that no receiver has,
 * or that serve credentials.
 */
export type AddressKind = 'public' | 'private' | 'never';

const kinds: { readonly [R in AddressRange]: AddressKind } = {
  public: 'public',
  loopback: 'private',
  private: 'private',
  reserved: 'private',
  linkLocal: 'never',
  metadata: 'never',
  multicast: 'never',
  broadcast: 'never',
};

const ipv4 = specialIpv4.map(([network, range]) => ({ network: ipaddr.IPv4.parseCIDR(network), range }));
const ipv6 = specialIpv6.map(([network, range]) => ({ network: ipaddr.IPv6.parseCIDR(network), range }));

const rangeOfIpv4 = (address: ipaddr.IPv4): AddressRange =>
  ipv4.find(({ network }) => address.match(network))?.range ?? 'public';
const rangeOfIpv6 = (address: ipaddr.IPv6): AddressRange =>
  ipv6.find(({ network }) => address.match(network))?.range ?? 'reserved';

/** One meaning of an address: an address in its usual form, and its range. */
export type Meaning = { address: string; range: AddressRange };

/**
 * What connecting to `address` may reach: the address itself, or each IPv4 address that it carries (for example
 * 64:ff9b::a00:1 is 10.0.0.1). A filter must allow all of them. Empty for a text that is not an IP address.
 */
export function meaningsOf(address: string): Meaning[] {
  if (!ipaddr.isValid(address)) return [];
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return [{ address: parsed.toString(), range: rangeOfIpv4(parsed) }];
  const { addresses, isAll } = embeddedIpv4(parsed);
  const carried = addresses.map((each) => ({ address: each.toString(), range: rangeOfIpv4(each) }));
  return isAll ? carried : [{ address: parsed.toString(), range: rangeOfIpv6(parsed) }, ...carried];
}

const strictness: readonly AddressKind[] = ['public', 'private', 'never'];

/** The kind of an IP address, the strictest of its meanings; `never` for a text that is not an IP address. */
export function kindOfAddress(address: string): AddressKind {
  const meanings = meaningsOf(address).map(({ range }) => kinds[range]);
  if (meanings.length === 0) return 'never';
  return strictness.findLast((kind) => meanings.includes(kind)) ?? 'never';
}
