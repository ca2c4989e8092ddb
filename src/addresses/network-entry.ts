import ipaddr from 'ipaddr.js';

/** One entry of a list of networks: a network, or one address, with all ports or some of them. */
export type NetworkEntry = {
  /** In IPv6 form: an IPv4 network is one of ::ffff:0:0/96. */
  address: string;
  bits: number;
  firstPort: number;
  lastPort: number;
};

/** Maximum number of entries in one list. */
export const maxNetworkEntries = 100;

/** The longest entry is `[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128]:65535-65535`. Longer texts are not searched. */
const longestEntry = 64;

const forms = 'write 10.0.0.0/8, 10.1.2.3:443, [fd00::/8]:8000-8100 or fd00::1';

/** Parses an entry. Throws Error with a message that names the remedy. */
export function parseNetworkEntry(text: string): NetworkEntry {
  if (text.length > longestEntry)
    throw new Error(`an entry of ${text.length} characters is not a network: ${forms}`);
  const [, bracketed, plain, ports] =
    /^(?:\[([^\]]+)\]|([^:]+|[^[\]]*:[^[\]]*:[^[\]]*?))(?::([\d-]+))?$/.exec(text) ?? [];
  // A text with two colons is an IPv6 address, which takes ports only in brackets.
  const isBareV6 = bracketed === undefined && (text.match(/:/g)?.length ?? 0) > 1;
  const network = isBareV6 ? text : (bracketed ?? plain ?? '');
  const [host = '', length, ...more] = network.split('/');
  const isPlain =
    /^[\da-f:.]+$/i.test(host) &&
    ipaddr.isValid(host) &&
    (host.includes(':') || host.split('.').length === 4);
  if (!isPlain || more.length > 0) {
    throw new Error(`"${text}" is not a network: ${forms}`);
  }
  const given = ipaddr.parse(host);
  const isV4 = given instanceof ipaddr.IPv4;
  const most = isV4 ? 32 : 128;
  const bits = length === undefined ? most : Number(length);
  if (length !== undefined && (!/^\d{1,3}$/.test(length) || bits > most)) {
    throw new Error(
      `"${text}" has an invalid prefix length: ${isV4 ? '0 to 32 for IPv4' : '0 to 128 for IPv6'}`,
    );
  }
  const [, first, last] =
    /^(\d{1,5})(?:-(\d{1,5}))?$/.exec((isBareV6 ? undefined : ports) ?? '0-65535') ?? [];
  const firstPort = Number(first);
  const lastPort = Number(last ?? first);
  if (first === undefined || lastPort > 65_535 || firstPort > lastPort) {
    throw new Error(`"${text}" has invalid ports: write one port or a range such as 8000-8100`);
  }
  const whole = isV4 ? given.toIPv4MappedAddress() : given;
  return { address: whole.toString(), bits: isV4 ? bits + 96 : bits, firstPort, lastPort };
}

/** Whether every address of `inner` is in `outer`; ports do not count. */
export function isWithin(inner: NetworkEntry, outer: Pick<NetworkEntry, 'address' | 'bits'>): boolean {
  if (inner.bits < outer.bits) return false;
  return ipaddr.IPv6.parse(inner.address).match(ipaddr.IPv6.parse(outer.address), outer.bits);
}
