import ipaddr from 'ipaddr.js';

/**
 * IPv6 addresses that carry an IPv4 address. A gateway or the operating system may connect them to that IPv4 address,
 * so the IPv4 address decides what the whole address is.
 */

type Bytes = readonly number[];

/** Four bytes from `at` on. */
const from = (bytes: Bytes, at: number): Bytes => bytes.slice(at, at + 4);
const isZero = (bytes: Bytes): boolean => bytes.every((byte) => byte === 0);

/**
 * RFC 6052, 2.2: the IPv4 address follows a prefix of 48, 56 or 64 bits around byte 8, which is 0, as is the rest
 * behind it. With a prefix of 96 bits it is at the end. The prefix of a network is not visible, so every form that the
 * zeros allow counts.
 */
function afterPrefix(bytes: Bytes): Bytes[] {
  const short = [6, 7, 8].flatMap((at) => {
    const place = [...bytes.slice(at, 8), ...bytes.slice(9)];
    const isForm = bytes[8] === 0 && isZero(place.slice(4));
    return isForm ? [place.slice(0, 4)] : [];
  });
  const last = from(bytes, 12);
  // The address of a short prefix ends in zeros, which are no address of their own.
  return short.length > 0 && isZero(last) ? short : [...short, last];
}

/** Each network whose addresses carry IPv4 addresses, and where these are. */
const forms: readonly (readonly [network: string, carried: (bytes: Bytes) => readonly Bytes[]])[] = [
  ['::ffff:0:0/96', (bytes) => [from(bytes, 12)]], // RFC 4291: IPv4-mapped
  ['::ffff:0:0:0/96', (bytes) => [from(bytes, 12)]], // RFC 2765: IPv4-translated
  ['::/96', (bytes) => [from(bytes, 12)]], // RFC 4291: IPv4-compatible
  ['64:ff9b::/96', (bytes) => [from(bytes, 12)]], // RFC 6052
  ['64:ff9b:1::/48', afterPrefix], // RFC 8215
  ['2002::/16', (bytes) => [from(bytes, 2)]], // RFC 3056: 6to4
  // RFC 4380: Teredo, with the server's address and the inverted one of the client.
  ['2001::/32', (bytes) => [from(bytes, 4), from(bytes, 12).map((byte) => byte ^ 255)]],
];

const networks = forms.map(([network, carried]) => ({ network: ipaddr.IPv6.parseCIDR(network), carried }));

/** RFC 5214: ISATAP, in the interface identifier of any network: 00-00-5E-FE or 02-00-5E-FE. */
function isatap(bytes: Bytes): readonly Bytes[] {
  const [first = 0, ...rest] = bytes.slice(8, 12);
  const isForm = (first & ~2) === 0 && rest[0] === 0 && rest[1] === 0x5e && rest[2] === 0xfe;
  return isForm ? [from(bytes, 12)] : [];
}

/**
 * The IPv4 addresses that an IPv6 address carries. `isAll` = it has no meaning of its own, so only the carried
 * addresses count.
 */
export function embeddedIpv4(address: ipaddr.IPv6): { addresses: ipaddr.IPv4[]; isAll: boolean } {
  const bytes = address.toByteArray();
  const isOwn = isZero(bytes.slice(0, 15)) && (bytes[15] ?? 0) <= 1; // :: and ::1
  const form = isOwn ? undefined : networks.find(({ network }) => address.match(network));
  const carried = form === undefined ? isatap(bytes) : form.carried(bytes);
  return { addresses: carried.map((four) => new ipaddr.IPv4([...four])), isAll: form !== undefined };
}
