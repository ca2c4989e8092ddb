import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { unbracketed } from '../interface/name.ts';

/** Query names may contain more characters than host names: `_sip._tcp`, `*`, `0/25.2.0.192` (RFC 2317). No escapes. */
const label = /^[\x21-\x2d\x2f-\x5b\x5d-\x7e]{1,63}$/;

/** The name of an address's PTR record (RFC 1035 section 3.5, RFC 3596 section 2.5). */
export function reverseName(address: string): string {
  if (isIP(address) === 4) return `${address.split('.').reverse().join('.')}.in-addr.arpa`;
  const [head = '', tail] = withoutIpv4Tail(address.replace(/%.*/, '')).split('::');
  const groupsOf = (text: string) => (text === '' ? [] : text.split(':'));
  const front = groupsOf(head);
  const back = groupsOf(tail ?? '');
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0');
  const digits = [...front, ...zeros, ...back].map((group) => group.toLowerCase().padStart(4, '0')).join('');
  return `${digits.split('').reverse().join('.')}.ip6.arpa`;
}

/** `::ffff:192.0.2.1` with its last four bytes as two groups. */
function withoutIpv4Tail(address: string): string {
  const tail = /\d+\.\d+\.\d+\.\d+$/.exec(address)?.[0];
  if (tail === undefined) return address;
  const [a = 0, b = 0, c = 0, d = 0] = tail.split('.').map(Number);
  return `${address.slice(0, -tail.length)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/**
 * The name to query, without trailing dot (the root is `.`). International names are converted to ASCII, and for PTR
 * a plain address to its reverse name. Null if it is not a domain name.
 */
export function queryName(query: string, recordType: string): string | null {
  const address = unbracketed(query.trim());
  if (recordType === 'PTR' && isIP(address) !== 0) return reverseName(address);
  if (query === '.') return '.';
  // eslint-disable-next-line no-control-regex -- the range is ASCII
  const ascii = /^[\x00-\x7f]*$/.test(query) ? query : domainToASCII(query);
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  return name.length <= 253 && name.split('.').every((part) => label.test(part)) ? name : null;
}
