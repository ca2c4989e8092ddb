import { lookup as resolve, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Which addresses notifications may go to. Names are judged by the very addresses that are connected to, so that a name
 * which resolves to another one the second time gains nothing.
 */

/** `public` = the internet; `private` = the own network and this machine; `never` = what no receiver has. */
export type AddressKind = 'public' | 'private' | 'never';

/** Link-local addresses hold the metadata services of clouds, which hand out credentials. */
const neverRanges = ['linkLocal', 'multicast', 'broadcast'];

export function kindOfAddress(address: string): AddressKind {
  if (!ipaddr.isValid(address)) return 'never';
  // An IPv4 address within an IPv6 one is what it is.
  const parsed = ipaddr.process(address);
  const range: string = parsed.range();
  if (neverRanges.includes(range) || isMetadata(parsed.toString())) return 'never';
  return range === 'unicast' ? 'public' : 'private';
}

/** Where clouds have their metadata besides link-local addresses. */
const isMetadata = (address: string): boolean =>
  ['fd00:ec2::254', '100.100.100.200', '192.0.0.192'].includes(address);

/** Why nothing is sent to an address. */
export class RefusedAddress extends Error {
  constructor(host: string, reason: string) {
    super(`${host} ${reason}`);
    this.name = 'RefusedAddress';
  }
}

export type AddressRule = {
  /** Addresses of the own network too. */
  allowPrivate: boolean;
  /** Told instead of an address where it is not allowed. */
  refusal: string;
  kindOf: (address: string) => AddressKind;
};

const mayGo = ({ allowPrivate, kindOf }: AddressRule, address: string): boolean => {
  const kind = kindOf(address);
  return kind === 'public' || (kind === 'private' && allowPrivate);
};

/** Throws RefusedAddress when the host of a URL is an address that is not allowed: those are never looked up. */
export function checkLiteral(hostname: string, rule: AddressRule): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && !mayGo(rule, address)) throw new RefusedAddress(address, rule.refusal);
}

/** The look-up of a connection: the addresses of a name that are allowed. Fails with RefusedAddress when none is. */
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
