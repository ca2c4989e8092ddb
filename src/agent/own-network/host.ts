import { createSocket } from 'node:dgram';
import { readFile, readdir } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { IpFamily } from '../../executors/interface/network.ts';
import { loadNative } from '../../native/native.ts';
import { codeOf } from '../../system-errors.ts';
import { familyOf, parseIpv4Routes, parseIpv6Routes, type Route } from './routes.ts';

/** What the host says about its own network. Reading it sends nothing. */
export type HostState = {
  routes: readonly Route[];
  interfaces: readonly InterfaceState[];
  /** Whether the kernel has a hardware address for a neighbour (it may be old). */
  neighbours: ReadonlyMap<string, boolean>;
};

export type InterfaceState = {
  name: string;
  isLoopback: boolean;
  /** Null = it works; otherwise why not: `is switched off`, `has no carrier`, … */
  down: string | null;
  addresses: readonly string[];
};

/** Routing table, interfaces and neighbours as the system shows them now. Missing files count as empty. */
export async function readHost(): Promise<HostState> {
  const [v4, v6, arp, dev] = await Promise.all(
    ['route', 'ipv6_route', 'arp', 'dev'].map((name) =>
      readFile(`/proc/net/${name}`, 'utf8').catch(() => ''),
    ),
  );
  return {
    routes: [...parseIpv4Routes(v4 ?? ''), ...parseIpv6Routes(v6 ?? '')],
    interfaces: await readInterfaces(dev ?? ''),
    neighbours: new Map([...parseNeighbours(arp ?? ''), ...parseNeighbours6(readNeighbours6())]),
  };
}

/** Neighbours of /proc/net/arp; flag 2 = the hardware address is known. */
export function parseNeighbours(text: string): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const line of text.split('\n').slice(1)) {
    const [address = '', , flags = ''] = line.trim().split(/\s+/);
    if (address !== '') found.set(address, (Number(flags) & 2) !== 0);
  }
  return found;
}

/** IPv6 neighbours as the addon lists them. Of an address on several interfaces, the best is taken. */
export function parseNeighbours6(text: string): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const line of text.split('\n')) {
    const [address = '', known] = line.split(' ');
    if (address !== '') found.set(address, known === '1' || found.get(address) === true);
  }
  return found;
}

/** Empty without the addon, or where the host does not permit the question. */
function readNeighbours6(): string {
  const listed = loadNative()?.readNeighbours6();
  return typeof listed === 'string' ? listed : '';
}

async function readInterfaces(dev: string): Promise<InterfaceState[]> {
  const running = networkInterfaces();
  const names = [...dev.matchAll(/^\s*([^\s:]+):/gm)].map((match) => match[1] ?? '');
  // A sysfs of another network namespace would describe other interfaces.
  const listed: string[] = await readdir('/sys/class/net').catch(() => []);
  const isOurs = names.length > 0 && names.every((name) => listed.includes(name));
  return Promise.all(
    (names.length > 0 ? names : Object.keys(running)).map(async (name) => {
      const own = running[name] ?? [];
      return {
        name,
        isLoopback: name === 'lo' || own.some(({ internal }) => internal),
        down: isOurs ? await downBySysfs(name) : own.length > 0 ? null : 'is down or has no address',
        addresses: own.map(({ address }) => address),
      };
    }),
  );
}

async function downBySysfs(name: string): Promise<string | null> {
  const read = async (file: string) =>
    (await readFile(`/sys/class/net/${name}/${file}`, 'utf8').catch(() => '')).trim();
  const flags = await read('flags');
  if (flags !== '' && (Number(flags) & 1) === 0) return 'is switched off';
  if ((await read('carrier')) === '0') return 'has no carrier';
  const state = await read('operstate');
  return state === 'down' || state === 'lowerlayerdown' ? `has the state ${state}` : null;
}

/** What the kernel says about the way to an address: the source address it would use, or an errno name. */
export type KernelRoute = { source: string } | { error: string };

/** Asks the kernel for the way to an address, with all its rules and tables. A connected UDP socket sends nothing. */
export function kernelRouteTo(address: string): Promise<KernelRoute> {
  const family: IpFamily = familyOf(address) ?? 4;
  return new Promise((resolve) => {
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    let open = true;
    const finish = (found: KernelRoute) => {
      if (!open) return;
      open = false;
      socket.close();
      resolve(found);
    };
    socket.on('error', (error) => finish({ error: codeOf(error) ?? 'unknown' }));
    socket.connect(9, address, (...[error]: [Error?]) => {
      if (error) finish({ error: codeOf(error) ?? 'unknown' });
      else if (open) finish({ source: socket.address().address });
    });
  });
}

/** Whether every route that worked at the last good moment still does. */
export function isAsGood(host: HostState, baseline: HostState | null): boolean {
  if (baseline === null) return true;
  return baseline.routes.every(
    (before) =>
      before.rejects ||
      host.routes.some(
        (route) =>
          route.interface === before.interface &&
          route.prefix === before.prefix &&
          route.destination.equals(before.destination),
      ),
  );
}
