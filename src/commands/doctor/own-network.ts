import { examine, type NamedEndpoint } from '../../agent/own-network/examination.ts';
import { serviceEndpoint } from '../../agent/link/service-endpoint.ts';
import type { AgentConfig } from '../../config.ts';
import { createMemory } from '../../agent/own-network/memory.ts';
import type { Network } from '../../executors/interface/network.ts';
import { note, ok, problem, type Probe } from './finding.ts';

/** Probe: what the agent would examine of its own network after a network failure, and what it finds now. */
export function ownNetworkProbes(
  network: Network,
  settings: Pick<AgentConfig, 'serviceUrl' | 'proxy' | 'referenceTargets'>,
): Probe[] {
  const service = serviceEndpoint(settings);
  return [{ name: 'own network', run: () => verdict(network, settings.referenceTargets, service) }];
}

async function verdict(network: Network, references: readonly NamedEndpoint[], service: NamedEndpoint) {
  const options = { network, memory: createMemory(), references, service, now: Date.now };
  const { host, endpoints, resolver } = await examine([], options);
  const interfaces = host.interfaces
    .filter(({ isLoopback }) => !isLoopback)
    .map(({ name, down }) => `${name} ${down ?? 'works'}`);
  const asked = [
    ...endpoints.map(({ name, found }) => `${name} ${found}`),
    ...resolver.servers.map(({ address, found }) => `name server ${address} ${found}`),
  ];
  const message = [...interfaces, ...asked].join('; ') || 'this host has no network interface';
  const unresolved = references.filter(({ name }) => !endpoints.some((each) => each.name === name));
  const silent = endpoints.filter(({ role, answers }) => role === 'reference' && !answers);
  const [bad] = [...unresolved, ...silent];
  if (bad !== undefined) {
    return problem(
      `${message}${unresolved.length > 0 ? `; ${bad.name} does not resolve` : ''}`,
      'REFERENCE_TARGETS must name hosts that answer from here',
    );
  }
  return references.length === 0
    ? note(message, 'name hosts that always answer in REFERENCE_TARGETS; see docs/own-network.md')
    : ok(message);
}
