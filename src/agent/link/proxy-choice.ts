import { BlockList, isIP } from 'node:net';
import type { ProxyConfig } from '../../config.ts';

/**
 * The proxy for the agent's traffic to `target`; null = a direct connection. An https target uses HTTPS_PROXY, else
 * HTTP_PROXY. An http target uses only HTTP_PROXY.
 */
export function proxyFor(target: URL, proxy: ProxyConfig): URL | null {
  const chosen = target.protocol === 'https:' ? (proxy.httpsProxy ?? proxy.httpProxy) : proxy.httpProxy;
  if (chosen === null || isExempt(target, proxy.noProxy)) return null;
  return new URL(chosen.reveal());
}

/**
 * Whether NO_PROXY exempts `target`. Entries are separated by commas or spaces: `*`, a host or address, `.domain` and
 * `*.domain`, or a CIDR block, each with an optional scheme and port. A bare domain includes its subdomains. A suffix
 * must start at a dot to match.
 */
export function isExempt(target: URL, noProxy: string): boolean {
  const port = target.port === '' ? (target.protocol === 'https:' ? '443' : '80') : target.port;
  const host = bareHost(target.hostname);
  return noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => entryMatches(entry.toLowerCase(), host, port));
}

function entryMatches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const withoutScheme = entry.replace(/^[a-z][a-z0-9+.-]*:\/\//, '');
  if (isIP(host) !== 0 && /\/\d+$/.test(withoutScheme)) return blockContains(withoutScheme, host);
  const authority = withoutScheme.replace(/[/?#].*$/, '').replace(/^.*@/, '');
  const [pattern, patternPort] = splitPort(authority);
  if (pattern === '' || (patternPort !== '' && patternPort !== port)) return false;
  if (pattern === '*') return true;
  if (isIP(pattern) !== 0) return bareHost(pattern) === host;
  const subdomainsOnly = pattern.startsWith('*.');
  const domain = pattern.replace(/^\*?\./, '').replace(/\.$/, '');
  return (!subdomainsOnly && host === domain) || host.endsWith(`.${domain}`);
}

/** The host without brackets and trailing dot; an address in its canonical form, without a zone (`%eth0`). */
function bareHost(host: string): string {
  const bare = host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
  return isIP(bare) === 6 ? new URL(`http://[${withoutZone(bare)}]`).hostname.slice(1, -1) : bare;
}

/** isIP accepts a zone, other functions do not. */
const withoutZone = (address: string): string => address.replace(/%.*$/, '');

function splitPort(authority: string): [host: string, port: string] {
  if (isIP(authority) === 6) return [authority, ''];
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(authority);
  return [(match?.[1] ?? '').replace(/^\[|\]$/g, ''), match?.[2] ?? ''];
}

function blockContains(block: string, address: string): boolean {
  const slash = block.lastIndexOf('/');
  const network = withoutZone(block.slice(0, slash).replace(/^\[|\]$/g, ''));
  const family = isIP(network);
  const prefix = Number(block.slice(slash + 1));
  if (family === 0 || family !== isIP(address) || prefix > (family === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, family === 6 ? 'ipv6' : 'ipv4');
  return list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Host (an IPv6 address without brackets) and port of a URL, in the form that node:http expects. */
export function destination(url: URL): { hostname: string; port: number } {
  return {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
  };
}
