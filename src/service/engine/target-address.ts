import { lookup as resolve, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { AddressKind } from '../../addresses/address-kind.ts';

/**
 * Decides which addresses notifications may be sent to. A name is checked by the addresses that are actually
 * connected to, so DNS rebinding gains nothing.
 */

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
