import { isIP } from 'node:net';
import type { Network } from '../../executors/interface/network.ts';
import { withTimeLimit } from '../../time-limit.ts';
import type { OwnDelay } from '../load/own-delay.ts';
import type { EndpointProbe, Probes } from './facts.ts';
import { readHost, type HostState } from './host.ts';
import { chooseWitnesses, type Memory } from './memory.ts';
import { probeEndpoint, probeGateway, probeResolver } from './probes.ts';
import { isOwnAddress, pathKey, pathTo } from './rules.ts';

/** A host and port that operators or the service name; `host` is a name or an address. */
export type NamedEndpoint = { name: string; host: string; port: number };

export type ExaminationOptions = {
  network: Network;
  memory: Memory;
  /** REFERENCE_TARGETS. */
  references: readonly NamedEndpoint[];
  /** The service, or the proxy on the way to it; null in commands without a service. */
  service: NamedEndpoint | null;
  /** Measures the delay of this process; absent = it is never late. */
  ownDelay?: OwnDelay;
  /** Milliseconds since the epoch. */
  now: () => number;
};

/** Time in which everything must answer, in milliseconds. */
export const examinationMs = 1500;
/** A process that was late for this part of the time may have missed answers. */
const delayedMs = examinationMs / 3;
const maxGateways = 6;
const witnesses = { perGroup: 3, max: 8 };
const maxNames = 3;
/** An endpoint that has not answered for longer than this proves nothing by its silence. */
const witnessAgeMs = 15 * 60_000;

/** Asks everything that failing targets may have in common, all at once. Never rejects. */
export async function examine(
  proxies: readonly { address: string; port: number }[],
  options: ExaminationOptions,
): Promise<Probes> {
  const { network, memory, now } = options;
  const signal = withTimeLimit(new AbortController().signal, examinationMs);
  const stopwatch = options.ownDelay?.begin(false);
  const io = { network, signal };
  const since = now() - witnessAgeMs;
  const before = await readHost();
  const gateways = [...new Set(before.routes.flatMap(({ gateway }) => gateway ?? []))].slice(0, maxGateways);
  const peers = chooseWitnesses(
    memory.endpointsSince(since),
    (address) => groupOf(before, address),
    witnesses,
  );
  const known = memory
    .namesSince(since)
    .slice(0, maxNames)
    .map(({ name }) => name);
  const named = [
    ...options.references.map((each) => ({ ...each, role: 'reference' as const })),
    ...(options.service === null ? [] : [{ ...options.service, role: 'service' as const }]),
  ];
  const configured = [...new Set(named.map(({ host }) => host))]
    .filter((host) => isIP(host) === 0 && !known.includes(host))
    .slice(0, maxNames);
  const [resolver, ...endpoints] = await Promise.all([
    probeResolver({ known, named: configured }, io),
    Promise.all(gateways.map((address) => probeGateway(address, io))),
    Promise.all(peers.map((peer) => probeEndpoint(peer, { role: 'target', name: endpointName(peer) }, io))),
    Promise.all(named.map((each) => probeNamed(each, io))),
    Promise.all(
      proxies.map((proxy) =>
        probeEndpoint({ kind: 'tcp', ...proxy }, { role: 'proxy', name: endpointName(proxy) }, io),
      ),
    ),
  ]);
  const delay = stopwatch?.read();
  stopwatch?.end();
  return {
    at: now(),
    wasDelayed: delay !== undefined && Math.max(delay.loopMs, delay.waitedMs ?? 0) >= delayedMs,
    // Read again: the kernel has noticed silent neighbours by now.
    host: await readHost(),
    endpoints: endpoints.flat().filter((each) => each !== null),
    resolver,
  };
}

function groupOf(host: HostState, address: string): string | null {
  if (isOwnAddress(host, address)) return null;
  const path = pathTo(host, address);
  return path === null ? null : pathKey(path);
}

function endpointName({ address, port }: { address: string; port: number | null }): string {
  if (port === null) return address;
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Null if the name of the endpoint does not resolve: then it says nothing about any route. */
async function probeNamed(
  { name, host, port, role }: NamedEndpoint & { role: 'reference' | 'service' },
  io: { network: Network; signal: AbortSignal },
): Promise<EndpointProbe | null> {
  const { network, signal } = io;
  for (const family of [4, 6] as const) {
    const found = await network.resolve(host, { family, signal }).catch(() => null);
    const address = found?.addresses[0]?.address;
    if (address !== undefined) return probeEndpoint({ kind: 'tcp', address, port }, { role, name }, io);
  }
  return null;
}
