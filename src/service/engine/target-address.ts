import { lookup as resolve, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Decides which addresses notifications may be sent to. A name is checked by the addresses that are actually
 * connected to, so DNS rebinding gains nothing.
 */

/**
 * `public` = the internet; `private` = the local network and this machine; `never` = addresses that no receiver has.
 */
export type AddressKind = 'public' | 'private' | 'never';

/** Link-local addresses serve cloud metadata, which includes credentials. */
const neverRanges = ['linkLocal', 'multicast', 'broadcast'];

/** The kind of an IP address; `never` for a text that is not one. */
export function kindOfAddress(address: string): AddressKind {
  if (!ipaddr.isValid(address)) return 'never';
  // An IPv4-mapped IPv6 address counts as its IPv4 address.
  const parsed = ipaddr.process(address);
  const range: string = parsed.range();
  if (neverRanges.includes(range) || isMetadata(parsed.toString())) return 'never';
  return range === 'unicast' ? 'public' : 'private';
}

/** Cloud metadata addresses that are not link-local. */
const isMetadata = (address: string): boolean =>
  ['fd00:ec2::254', '100.100.100.200', '192.0.0.192'].includes(address);

/** An address to which nothing may be sent. */
export class RefusedAddress extends Error {
  constructor(host: string, reason: string) {
    super(`${host} ${reason}`);
    this.name = 'RefusedAddress';
  }
}

export type AddressRule = {
  /** Whether addresses of the local network are allowed. */
  allowPrivate: boolean;
  /** Error text for an address that is not allowed. */
  refusal: string;
  kindOf: (address: string) => AddressKind;
};

const mayGo = ({ allowPrivate, kindOf }: AddressRule, address: string): boolean => {
  const kind = kindOf(address);
  return kind === 'public' || (kind === 'private' && allowPrivate);
};

/** Throws RefusedAddress if the URL's host is an IP address that is not allowed. Such hosts are never resolved. */
export function checkLiteral(hostname: string, rule: AddressRule): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && !mayGo(rule, address)) throw new RefusedAddress(address, rule.refusal);
}

/**
 * The lookup function of a connection: returns the allowed addresses of a name. Fails with RefusedAddress if there is
 * none.
 */
export function checkedLookup(rule: AddressRule): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) return callback(error, []);
      const allowed = addresses.filter(({ address }) => mayGo(rule, address));
      const [first] = allowed;
      if (first === undefined) return callback(new RefusedAddress(hostname, rule.refusal), []);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
