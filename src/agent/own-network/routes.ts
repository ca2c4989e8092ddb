import { addressBytes, addressText, plainAddress } from '../../executors/evidence/addresses.ts';
import type { IpFamily } from '../../executors/interface/network.ts';

/** The kernel's routes, as /proc/net/route and /proc/net/ipv6_route list them (main table). */

export type Route = {
  family: IpFamily;
  /** 4 or 16 bytes. */
  destination: Buffer;
  prefix: number;
  /** Name of the interface; empty for a route that rejects. */
  interface: string;
  /** Null = the destination is on the link. */
  gateway: string | null;
  /** The route drops or refuses packets on this host: blackhole, unreachable, prohibit. */
  rejects: boolean;
  metric: number;
};

// Flags of linux/route.h and linux/ipv6_route.h.
const up = 0x1;
const viaGateway = 0x2;
const reject = 0x200;
const local = 0x80000000;
/** The metric of the entry with which the kernel ends each IPv6 table; it means that there is no route. */
const noEntry = 0xffffffff;

/** Routes of /proc/net/route. Lines of another form are ignored. */
export function parseIpv4Routes(text: string): Route[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line): Route[] => {
      const [name = '', destination, gateway, flagText = '', , , metric, mask] = line.trim().split(/\s+/);
      const [bytes, next, maskBytes] = [destination, gateway, mask].map(littleEndian);
      if (!bytes || !next || !maskBytes) return [];
      const flags = parseInt(flagText, 16);
      if ((flags & up) === 0 && (flags & reject) === 0) return [];
      const rejects = (flags & reject) !== 0;
      return [
        {
          family: 4,
          destination: bytes,
          prefix: maskBytes.reduce((sum, byte) => sum + bitsOf(byte), 0),
          interface: rejects ? '' : name,
          gateway: (flags & viaGateway) === 0 ? null : addressText(next),
          rejects,
          metric: Number(metric),
        },
      ];
    });
}

function littleEndian(text: string | undefined): Buffer | null {
  return text !== undefined && /^[\da-f]{8}$/i.test(text) ? Buffer.from(text, 'hex').reverse() : null;
}

function bitsOf(byte: number): number {
  return byte.toString(2).replaceAll('0', '').length;
}

/** Routes of /proc/net/ipv6_route without the host's own addresses and multicast. */
export function parseIpv6Routes(text: string): Route[] {
  return text.split('\n').flatMap((line): Route[] => {
    const [target = '', prefix = '', , , next = '', metricText = '', , , flagText = '', name = ''] = line
      .trim()
      .split(/\s+/);
    if (!/^[\da-f]{32}$/i.test(target) || !/^[\da-f]{32}$/i.test(next)) return [];
    const flags = parseInt(flagText, 16);
    const metric = parseInt(metricText, 16);
    const rejects = (flags & reject) !== 0;
    const isOwn = (flags & local) !== 0 || (name === 'lo' && !rejects);
    if (isOwn || metric === noEntry || /^ff/i.test(target)) return [];
    const gateway = addressText(Buffer.from(next, 'hex'));
    return [
      {
        family: 6,
        destination: Buffer.from(target, 'hex'),
        prefix: parseInt(prefix, 16),
        interface: rejects ? '' : name,
        gateway:
          (flags & viaGateway) === 0 ? null : gateway.startsWith('fe80:') ? `${gateway}%${name}` : gateway,
        rejects,
        metric,
      },
    ];
  });
}

/**
 * The route to an address: longest prefix, then lowest metric. `onInterface` prefers the routes of one interface, for
 * hosts whose rules choose another table than the main one.
 */
export function routeTo(
  routes: readonly Route[],
  address: string,
  onInterface: string | null = null,
): Route | null {
  const bytes = addressBytes(address);
  if (bytes === null) return null;
  const family = bytes.length === 4 ? 4 : 6;
  const matching = routes
    .filter((route) => route.family === family && samePrefix(route.destination, bytes, route.prefix))
    .sort((a, b) => b.prefix - a.prefix || a.metric - b.metric);
  const [best] = matching;
  if (best === undefined || onInterface === null || best.rejects) return best ?? null;
  return matching.find((route) => route.interface === onInterface) ?? best;
}

/** Whether the first `bits` bits of two addresses of one family are the same. */
export function samePrefix(a: Buffer, b: Buffer, bits: number): boolean {
  if (a.length !== b.length) return false;
  const whole = bits >> 3;
  if (!a.subarray(0, whole).equals(b.subarray(0, whole))) return false;
  const rest = bits & 7;
  if (rest === 0) return true;
  const mask = 0xff00 >> rest;
  return ((a[whole] ?? 0) & mask) === ((b[whole] ?? 0) & mask);
}

/** Whether two addresses are in one usual subnet: /24 of IPv4, /64 of IPv6. */
export function sameSubnet(a: string, b: string): boolean {
  const [first, second] = [addressBytes(a), addressBytes(b)];
  return first !== null && second !== null && samePrefix(first, second, first.length === 4 ? 24 : 64);
}

/** The family of an address; null if it is not an address. */
export function familyOf(address: string): IpFamily | null {
  const bytes = addressBytes(address);
  return bytes === null ? null : bytes.length === 4 ? 4 : 6;
}

/** A route in words, for evidence. */
export function routeText(route: Route): string {
  const to = route.prefix === 0 ? 'default' : `${addressText(route.destination)}/${route.prefix}`;
  if (route.rejects) return `${to} is rejected by a route of this host`;
  return route.gateway === null
    ? `${to} on ${route.interface}`
    : `${to} via ${plainAddress(route.gateway)} on ${route.interface}`;
}
