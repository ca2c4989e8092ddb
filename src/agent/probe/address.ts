import { isIP } from 'node:net';
import { unbracketed } from '../../executors/interface/name.ts';
import {
  ResolveError,
  type IpFamily,
  type Network,
  type Resolved,
  type ResolvedAddress,
} from '../../executors/interface/network.ts';
import { TargetRefused } from './allowed-targets.ts';
import type { ProbeRun } from './run.ts';
import type { IpSettings } from './settings/ip.ts';

/** Chooses the address of a probe, and holds the list of allowed targets. */

/** One address of `host` by the settings. Rejects with ResolveError, TargetRefused or `signal.reason`. */
export async function addressOf(host: string, ip: IpSettings, run: ProbeRun): Promise<ResolvedAddress> {
  const name = unbracketed(host);
  const mayName = run.allowed.hasName(name);
  if (!mayName && (isIP(name) === 0 ? !run.allowed.hasNetworks : !run.allowed.hasAddress(name)))
    throw new TargetRefused(`the target ${name} is not allowed by PROBE_TARGETS`);
  const address = await chosen(name, ip, run);
  if (!mayName && !run.allowed.hasAddress(address.address))
    throw new TargetRefused(`the target ${name} is not allowed by PROBE_TARGETS`);
  return address;
}

async function chosen(
  name: string,
  { preferred, fallback }: IpSettings,
  run: ProbeRun,
): Promise<ResolvedAddress> {
  const families: readonly IpFamily[] = fallback ? [preferred, preferred === 6 ? 4 : 6] : [preferred];
  let failure: unknown;
  for (const family of families) {
    try {
      const { addresses } = await run.network.resolve(name, { family, signal: run.signal });
      // Without a route for IPv6, the network gives addresses of IPv4.
      const address = addresses.find((one) => fallback || one.family === family);
      if (address !== undefined) return address;
      failure ??= new ResolveError('ENOTFOUND', `${name} has no address of IPv${family} that can be reached`);
    } catch (error: unknown) {
      if (!(error instanceof ResolveError)) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

/** The lookup of a probe with its metrics; null = the name was not resolved. */
export async function lookUp(host: string, ip: IpSettings, run: ProbeRun): Promise<ResolvedAddress | null> {
  const { gauges, log } = run;
  gauges.set('probe_ip_protocol', 0);
  gauges.set('probe_ip_addr_hash', 0);
  const startedAt = performance.now();
  log('Resolving target address', { target: host, ip_protocol: `ip${ip.preferred}` });
  try {
    const address = await addressOf(host, ip, run);
    gauges.set('probe_ip_protocol', address.family);
    gauges.set('probe_ip_addr_hash', hashOf(address.address));
    log('Resolved target address', { target: host, ip: address.address });
    return address;
  } catch (error: unknown) {
    if (error instanceof TargetRefused) throw error;
    log('Resolution failed', { target: host, err: messageOf(error) });
    return null;
  } finally {
    gauges.set('probe_dns_lookup_time_seconds', (performance.now() - startedAt) / 1000);
  }
}

/** The network of a probe: names have the one address that the settings choose. */
export function probeNetwork(ip: IpSettings, run: ProbeRun): Network {
  return {
    ...run.network,
    resolve: async (host): Promise<Resolved> => {
      const startedAt = performance.now();
      const address = await addressOf(host, ip, run);
      return {
        addresses: [address],
        source: isIP(unbracketed(host)) === 0 ? 'dns' : 'literal',
        durationMs: performance.now() - startedAt,
        ipFallback: false,
      };
    },
  };
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** FNV-1a with 32 bits over the bytes of the address. */
export function hashOf(address: string): number {
  let hash = 0x811c9dc5;
  for (const byte of bytesOf(address)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

function bytesOf(address: string): number[] {
  if (isIP(address) === 4) return address.split('.').map(Number);
  const [plain = ''] = address.split('%');
  const dotted = /:(\d+\.\d+\.\d+\.\d+)$/.exec(plain);
  const [a = 0, b = 0, c = 0, d = 0] = (dotted?.[1] ?? '').split('.').map(Number);
  const text =
    dotted === null
      ? plain
      : `${plain.slice(0, dotted.index + 1)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const [head = '', tail] = text.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => 0);
  const whole = tail === undefined ? before : [...before, ...zeros, ...after];
  // The other program hashes four bytes of an address that holds one of IPv4.
  const bytes = whole.flatMap((group) => [group >> 8, group & 0xff]);
  const isMapped = whole.slice(0, 5).every((group) => group === 0) && whole[5] === 0xffff;
  return isMapped ? bytes.slice(12) : bytes;
}
