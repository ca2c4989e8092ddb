import { BlockList, isIP } from 'node:net';

/** NO_PROXY as Go's programs read it, which differs in details from the way of curl and of this agent. */

/**
 * Whether `host` is reached without the proxy. Entries are separated by commas: `*`, an address, a network, or a
 * domain, each but `*` and networks with an optional port. `shop.example` contains the names below it;
 * `.shop.example` and `*.shop.example` contain only those. This machine is always exempt.
 */
export function isExempt(host: string, port: string, noProxy: string): boolean {
  const name = host.toLowerCase().replace(/%.*$/, '');
  if (name === 'localhost' || isOwnAddress(name)) return true;
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && isEntryOf(entry, name, port));
}

/** 127.0.0.0/8 and ::1. */
const isOwnAddress = (host: string): boolean =>
  isIP(host) === 4 ? host.startsWith('127.') : isIP(host) === 6 && isInNetwork(host, '::1', 128);

function isEntryOf(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const network = /^([^/]+)\/(\d+)$/.exec(entry);
  if (network !== null && isIP(network[1] ?? '') !== 0)
    return isInNetwork(host, network[1] ?? '', Number(network[2]));
  const parts = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(entry);
  const own = (parts?.[1] ?? parts?.[2] ?? entry).replace(/^\[|\]$/g, '');
  const ownPort = parts?.[3];
  if (own === '' || (ownPort !== undefined && ownPort !== port)) return false;
  if (isIP(own) !== 0) return isInNetwork(host, own, isIP(own) === 4 ? 32 : 128);
  const domain = own.startsWith('*.') ? own.slice(1) : own;
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function isInNetwork(host: string, network: string, prefix: number): boolean {
  const family = isIP(network);
  if (isIP(host) !== family || prefix > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  const type = family === 4 ? 'ipv4' : 'ipv6';
  list.addSubnet(network, prefix, type);
  return list.check(host, type);
}
