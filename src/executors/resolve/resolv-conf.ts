import { isIP } from 'node:net';
import type { DnsServer } from '../dns/udp.ts';

export type ResolvConf = {
  servers: DnsServer[];
  search: string[];
  /** A name with at least this many dots is first tried without the search list. */
  ndots: number;
  /** Time until a query is sent to the next server; null = not set. */
  timeoutMs: number | null;
  /** Rounds through the servers. */
  attempts: number;
  /** Start each lookup at another server. */
  rotate: boolean;
  /** Use only TCP. */
  useTcp: boolean;
};

// resolv.conf(5) limits these values; larger ones would only prolong a failure.
const maxServers = 3;
const maxNdots = 15;
const maxTimeoutSeconds = 30;
const maxAttempts = 5;

/** `address`, or `[address]:port` as in OpenBSD's resolv.conf. */
function parseServer(text: string): DnsServer | null {
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text);
  const address = bracketed?.[1] ?? text;
  const port = Number(bracketed?.[2] ?? 53);
  return isIP(address) === 0 || port < 1 || port > 65_535 ? null : { address, port };
}

function numberOption(option: string, name: string): number | null {
  const digits = new RegExp(`^${name}:(\\d{1,6})$`).exec(option)?.[1];
  return digits === undefined ? null : Number(digits);
}

/**
 * Parses resolv.conf(5); unknown lines are ignored. The default name server is 127.0.0.1, and the default search list
 * is the domain of `hostname`, as in glibc.
 */
export function parseResolvConf(text: string, hostname: string): ResolvConf {
  const servers: DnsServer[] = [];
  let search: string[] | null = null;
  const conf = { ndots: 1, timeoutMs: null as number | null, attempts: 2, rotate: false, useTcp: false }; // widened types, set below
  for (const rawLine of text.split('\n')) {
    const [keyword, ...values] = rawLine
      .replace(/(^|\s)[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver') {
      const server = parseServer(values[0] ?? '');
      if (server !== null && servers.length < maxServers) servers.push(server);
    } else if (keyword === 'domain' || keyword === 'search') {
      search = keyword === 'domain' ? values.slice(0, 1) : values; // the last line wins
    } else if (keyword === 'options') {
      for (const option of values) {
        conf.ndots = Math.min(numberOption(option, 'ndots') ?? conf.ndots, maxNdots);
        conf.attempts = Math.max(1, Math.min(numberOption(option, 'attempts') ?? conf.attempts, maxAttempts));
        const seconds = numberOption(option, 'timeout');
        if (seconds !== null) conf.timeoutMs = Math.max(1, Math.min(seconds, maxTimeoutSeconds)) * 1000;
        conf.rotate ||= option === 'rotate';
        conf.useTcp ||= option === 'use-vc';
      }
    }
  }
  if (servers.length === 0) servers.push({ address: '127.0.0.1', port: 53 });
  const ownDomain = hostname.includes('.') ? [hostname.slice(hostname.indexOf('.') + 1)] : [];
  return {
    ...conf,
    servers,
    search: (search ?? ownDomain)
      .map((domain) => domain.toLowerCase().replace(/\.$/, ''))
      .filter((d) => d !== ''),
  };
}
