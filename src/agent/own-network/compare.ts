import { plainAddress } from '../../executors/evidence/addresses.ts';
import type { EndpointProbe, Evidence, Failure, LocalFacts, Probes, Verdict } from './facts.ts';
import {
  anyAddress,
  isOwnAddress,
  judgeAddress,
  ours,
  pathKey,
  pathTo,
  targets,
  unproven,
  type Path,
} from './rules.ts';
import { sameSubnet } from './routes.ts';

/** Rules that compare what answers with what does not: the gateway, the resolver, the proxy and other targets. */

const maxPeers = 12;

/** The verdict once everything that can be asked has been asked. Pure. */
export function judgeByAnswers(failure: Failure, facts: LocalFacts, probes: Probes): Verdict {
  const verdict = compare(failure, facts, probes);
  return verdict.owner === 'ours' && probes.wasDelayed
    ? unproven(
        'this agent was itself too late to hear the answers, so their absence proves nothing',
        verdict.evidence,
      )
    : verdict;
}

function compare(failure: Failure, facts: LocalFacts, probes: Probes): Verdict {
  if (failure.step === 'name') return judgeName(failure, facts, probes);
  if (failure.step === 'unknown') return judgeUnknown(facts, probes);
  const { address } = failure;
  if (address === null) return targets('nothing was sent', []);
  return failure.viaProxy
    ? judgeProxy({ address, port: failure.port }, facts, probes)
    : judgeConnection(address, facts, probes);
}

function judgeConnection(address: string, facts: LocalFacts, probes: Probes): Verdict {
  const { host, endpoints } = probes;
  const path = pathTo(host, address, facts.kernel);
  if (path === null) return targets('the route has changed during the examination', []);
  const key = pathKey(path);
  const others = endpoints.filter(
    (each) =>
      each.role !== 'gateway' &&
      each.role !== 'proxy' &&
      plainAddress(each.address) !== plainAddress(address) &&
      !isOwnAddress(host, each.address),
  );
  const samePath = others.filter((each) => {
    const own = pathTo(host, each.address);
    return own !== null && (path.gateway === null ? own.interface === path.interface : pathKey(own) === key);
  });
  const alive = samePath.find(({ answers }) => answers);
  const gateways = gatewaysOf(path, probes);
  const evidence = [
    { looked: `route to ${address}`, found: key },
    ...gateways.map(({ name, found }) => ({ looked: name, found })),
    ...evidenceOf(samePath),
  ];
  if (alive !== undefined) return targets(`${alive.name} answers over the same route`, evidence);
  return path.gateway === null
    ? judgeLink(path, { gateways, silent: samePath, evidence })
    : judgeGateway(address, { gateways, silent: samePath, evidence });
}

type Compared = {
  gateways: readonly GatewayState[];
  /** Everything else on the same route; none of it answers. */
  silent: readonly EndpointProbe[];
  evidence: readonly Evidence[];
};

/** Beyond a gateway. */
function judgeGateway(address: string, { gateways, silent, evidence }: Compared): Verdict {
  const [gateway] = gateways;
  if (gateway?.state === 'dead') return ours('gateway', `${gateway.name} is not on the network`, evidence);
  if (gateway?.state !== 'answers' && silent.length > 0) {
    const what = gateway?.name ?? 'the gateway';
    return ours('gateway', `neither ${what} nor anything else behind it answers`, evidence);
  }
  if (silent.some((each) => !sameSubnet(each.address, address))) {
    return ours('swallowed', 'nothing behind the gateway answers, in several networks', evidence);
  }
  return silent.length > 0
    ? targets("the gateway answers, and only the target's own network does not", evidence)
    : targets('nothing else is known behind this gateway, so there is nothing to compare with', evidence);
}

/** On the link itself, or by a rule whose gateway is not known. */
function judgeLink(path: Path, { gateways, silent, evidence }: Compared): Verdict {
  const living = gateways.find(({ state }) => state === 'answers');
  if (living !== undefined) return targets(`${living.name} answers on the same interface`, evidence);
  const gatewayIsDead = gateways.some(({ state }) => state === 'dead');
  const lost = silent.length + gateways.length;
  if (gatewayIsDead || lost >= 2) {
    return ours('interface', `nothing on the interface ${path.interface} answers`, evidence);
  }
  return targets('nothing else is known on this interface, so there is nothing to compare with', evidence);
}

type GatewayState = { name: string; state: 'answers' | 'dead' | 'silent'; found: string };

/** The path's gateway, or all gateways of its interface if the target is on the link. */
function gatewaysOf(path: Path, { host, endpoints }: Probes): GatewayState[] {
  const wanted =
    path.gateway !== null
      ? [path.gateway]
      : host.routes
          .filter((route) => route.interface === path.interface && route.gateway !== null)
          .map(({ gateway }) => gateway ?? '');
  return [...new Set(wanted)].map((gateway) => {
    const probe = endpoints.find(
      (each) => each.role === 'gateway' && plainAddress(each.address) === plainAddress(gateway),
    );
    const name = `the gateway ${plainAddress(gateway)}`;
    if (probe?.answers === true) return { name, state: 'answers', found: probe.found };
    const isKnown = host.neighbours.get(plainAddress(gateway));
    const found = probe?.found ?? 'not asked';
    if (isKnown === false) return { name, state: 'dead', found: `${found}; no hardware address` };
    return {
      name,
      state: 'silent',
      found: isKnown === true ? `${found}; its hardware address is known` : found,
    };
  });
}

function evidenceOf(probes: readonly EndpointProbe[]): Evidence[] {
  return probes.slice(0, maxPeers).map(({ name, found }) => ({ looked: name, found }));
}

/** A proxy that does not answer is ours: the location has chosen it for all of its checks. */
function judgeProxy(
  { address, port }: { address: string; port: number | null },
  facts: LocalFacts,
  probes: Probes,
): Verdict {
  const probe = probes.endpoints.find(
    (each) => each.role === 'proxy' && each.address === address && each.port === port,
  );
  if (probe === undefined) return targets('the proxy was not asked', []);
  const evidence = evidenceOf([probe]);
  if (probe.answers) return targets("the location's proxy answers", evidence);
  const below = isOwnAddress(probes.host, address) ? null : judgeConnection(address, facts, probes);
  return below?.owner === 'ours'
    ? { ...below, evidence: [...evidence, ...below.evidence] }
    : ours('proxy', `the location's proxy ${probe.name} does not answer`, evidence);
}

/** A name that did not resolve. */
function judgeName({ hostname, lostName }: Failure, facts: LocalFacts, probes: Probes): Verdict {
  const { servers, names } = probes.resolver;
  const others = names.filter(({ name }) => name !== hostname);
  const evidence: Evidence[] = [
    ...servers.map(({ address, found }) => ({ looked: `name server ${address}`, found })),
    ...others.slice(0, 4).map(({ name, found }) => ({ looked: `name ${name}`, found })),
  ];
  const resolving = others.find(({ resolves }) => resolves);
  if (resolving !== undefined) return targets(`the resolver works: ${resolving.name} resolves`, evidence);
  if (lostName) {
    return others.length > 0
      ? ours('resolver', 'the resolver has lost all names that it knew', evidence)
      : targets('no other name is known, so there is nothing to compare with', evidence);
  }
  if (servers.some(({ state }) => state === 'answers')) return targets('the resolver answers', evidence);
  if (servers.every(({ state }) => state === 'silent')) return deadResolver(facts, probes, evidence);
  return others.length > 0
    ? ours('resolver', 'the resolver answers no name any more', evidence)
    : targets('the resolver fails, and no other name is known to compare with', evidence);
}

/** No name server answers: because of the way to them, or by themselves. */
function deadResolver(facts: LocalFacts, probes: Probes, evidence: readonly Evidence[]): Verdict {
  for (const { address } of probes.resolver.servers) {
    if (isOwnAddress(probes.host, address)) continue;
    const way = { ...facts, host: probes.host, kernel: null };
    const verdict = judgeAddress(address, way) ?? judgeConnection(address, way, probes);
    if (verdict.owner === 'ours') return { ...verdict, evidence: [...evidence, ...verdict.evidence] };
  }
  // Perhaps it is wrong in the configuration of this host, and has never been of use to any check.
  const isExpected = facts.resolverHasWorked || probes.resolver.names.length > 0;
  return isExpected
    ? ours('resolver', 'no name server of this host answers', evidence)
    : targets(
        'no name server of this host answers, and none has since this agent started, so its network may be as it should be',
        evidence,
      );
}

/** A network error of customer code without an address: ours if the resolver or every default route is dead. */
function judgeUnknown(facts: LocalFacts, probes: Probes): Verdict {
  const { servers, names } = probes.resolver;
  const resolverIsDead =
    servers.length > 0 &&
    servers.every(({ state }) => state === 'silent') &&
    !names.some(({ resolves }) => resolves);
  const families = ([4, 6] as const).filter((family) =>
    probes.host.routes.some((route) => route.family === family && route.prefix === 0 && !route.rejects),
  );
  const verdicts = families.map((family) =>
    judgeConnection(anyAddress[family], { ...facts, kernel: null }, probes),
  );
  const [first] = verdicts;
  if (first !== undefined && verdicts.every(({ owner }) => owner === 'ours')) return first;
  const evidence: Evidence[] = [
    ...servers.map(({ address, found }) => ({ looked: `name server ${address}`, found })),
    ...(first?.evidence ?? []),
  ];
  if (resolverIsDead) return deadResolver(facts, probes, evidence);
  return targets(first?.summary ?? 'this host has no default route to compare with', evidence);
}
