import { BlockList, isIPv6 } from 'node:net';
import { plainAddress } from '../../executors/evidence/addresses.ts';
import type { Cause, Evidence, Failure, LocalFacts, Verdict } from './facts.ts';
import type { HostState, InterfaceState, KernelRoute } from './host.ts';
import { familyOf, routeText, routeTo, type Route } from './routes.ts';

/**
 * Rules that need nothing but the host's own state: interfaces, addresses, routes. Pure functions; the rules that
 * compare answers are in compare.ts.
 */

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
const linkLocal = new BlockList();
linkLocal.addSubnet('fe80::', 10, 'ipv6');
const isIn = (list: BlockList, address: string): boolean =>
  list.check(plainAddress(address), isIPv6(plainAddress(address)) ? 'ipv6' : 'ipv4');

/** The route that packets to an address take. `interface` is empty if it is not known. */
export type Path = { interface: string; gateway: string | null; route: Route | null };

/** Whether an address is this host itself. */
export function isOwnAddress(host: HostState, address: string): boolean {
  if (isIn(loopback, address)) return true;
  const plain = plainAddress(address);
  return host.interfaces.some(({ addresses }) => addresses.some((own) => plainAddress(own) === plain));
}

/** The path to an address; null if the main table has none and the kernel names no source. */
export function pathTo(host: HostState, address: string, kernel: KernelRoute | null = null): Path | null {
  const source = kernel !== null && 'source' in kernel ? plainAddress(kernel.source) : null;
  const from =
    source === null
      ? null
      : (host.interfaces.find(({ addresses }) => addresses.some((own) => plainAddress(own) === source))
          ?.name ?? null);
  const route = routeTo(host.routes, address, from);
  if (route !== null) return { interface: route.interface, gateway: route.gateway, route };
  return from === null ? null : { interface: from, gateway: null, route: null };
}

/** Paths with the same key share their interface and gateway. */
export function pathKey(path: Path): string {
  return path.route === null
    ? `${path.interface} by a rule`
    : `${path.interface} ${path.gateway === null ? 'link' : plainAddress(path.gateway)}`;
}

/** A verdict against this host's own network. */
export function ours(cause: Cause, summary: string, evidence: readonly Evidence[]): Verdict {
  return { owner: 'ours', cause, summary, evidence };
}

/** A verdict that leaves the fault with the target. */
export function targets(summary: string, evidence: readonly Evidence[]): Verdict {
  return { owner: 'target', cause: null, summary, evidence };
}

/** The same, because nothing could be found out. */
export function unproven(summary: string, evidence: readonly Evidence[] = []): Verdict {
  return { ...targets(summary, evidence), isUnproven: true };
}

/** The verdict that the host's state alone allows; null if answers of others must decide. */
export function judgeLocally(failure: Failure, facts: LocalFacts): Verdict | null {
  if (failure.step === 'unknown') return judgeDefaultRoutes(facts);
  if (failure.step === 'name' || failure.address === null) return null;
  return judgeAddress(failure.address, facts, failure.viaProxy);
}

/** The same for one address. `answersDecide`: null instead of a verdict for this host's own addresses. */
export function judgeAddress(address: string, facts: LocalFacts, answersDecide = false): Verdict | null {
  const { host, kernel } = facts;
  if (isOwnAddress(host, address)) {
    return answersDecide
      ? null
      : targets('the target is this host itself', [
          { looked: `address ${address}`, found: 'it belongs to this host' },
        ]);
  }
  const path = pathTo(host, address, kernel);
  const evidence = [
    ...interfaceEvidence(host),
    { looked: `route to ${address}`, found: pathText(path, kernel) },
  ];
  const error = kernel !== null && 'error' in kernel ? kernel.error : null;
  const isRejected =
    path?.route?.rejects === true ||
    ((error === 'EINVAL' || error === 'EHOSTUNREACH') && !isIn(linkLocal, address));
  if (isRejected) {
    return ours('rejecting-route', `a route of this host rejects packets to ${address}`, evidence);
  }
  const moved = movedFrom(address, facts);
  if (moved !== null) return ours(moved.cause, moved.summary, evidence);
  if (path === null || error === 'ENETUNREACH' || error === 'EADDRNOTAVAIL' || error === 'EAFNOSUPPORT') {
    return withoutRoute(address, facts, evidence);
  }
  const own = host.interfaces.find(({ name }) => name === path.interface);
  if (own !== undefined && own.down !== null) {
    return ours('interface', `the interface ${own.name} ${own.down}`, evidence);
  }
  return null;
}

/** No route: ours, unless this host has never had a network of that IP version. */
function withoutRoute(address: string, facts: LocalFacts, evidence: readonly Evidence[]): Verdict {
  const { host } = facts;
  const family = familyOf(address) ?? 4;
  const others = host.interfaces.filter(({ isLoopback }) => !isLoopback);
  const off = others.filter(({ down }) => down !== null);
  if (!hasFamily(facts, family)) {
    const note = {
      looked: `IPv${family} of this host`,
      found: 'not set up, and nothing ever answered over it',
    };
    return targets(`this host has no IPv${family}`, [...evidence, note]);
  }
  if (others.length === 0 || off.length === others.length) {
    const [first] = off;
    const what =
      first === undefined
        ? 'this host has no network interface'
        : `the interface ${first.name} ${first.down}`;
    return ours('interface', what, evidence);
  }
  if (!others.some((each) => hasGlobalAddress(each, family))) {
    return ours('address', `no interface of this host has an IPv${family} address`, evidence);
  }
  return ours('route', `this host has no route to ${address}`, evidence);
}

/** Whether the host has or had a network of an IP version. Without any network at all, both count. */
function hasFamily({ host, baseline, usedFamilies }: LocalFacts, family: 4 | 6): boolean {
  const has = (state: HostState, version: 4 | 6) =>
    state.routes.some((route) => route.family === version && route.prefix === 0 && !route.rejects) ||
    state.interfaces.some((each) => !each.isLoopback && hasGlobalAddress(each, version));
  const isUsed = (version: 4 | 6) =>
    usedFamilies.has(version) || has(host, version) || (baseline !== null && has(baseline, version));
  return isUsed(family) || !isUsed(family === 4 ? 6 : 4);
}

function hasGlobalAddress({ addresses }: InterfaceState, family: 4 | 6): boolean {
  return addresses.some((address) => familyOf(address) === family && !isIn(linkLocal, address));
}

/**
 * Why an address has lost its own route: its interface worked before and does not now, so that packets take another
 * route or none. Null if it has not.
 */
function movedFrom(
  address: string,
  { host, baseline, kernel }: LocalFacts,
): { cause: Cause; summary: string } | null {
  if (baseline === null) return null;
  const before = routeTo(baseline.routes, address);
  if (before === null || before.rejects) return null;
  const now = pathTo(host, address, kernel)?.route ?? null;
  if (now !== null && now.prefix >= before.prefix) return null;
  const own = host.interfaces.find(({ name }) => name === before.interface);
  const was = `${routeText(before)} is gone`;
  if (own === undefined) {
    return { cause: 'interface', summary: `the interface ${before.interface} is gone, and ${was}` };
  }
  if (own.down !== null) {
    return { cause: 'interface', summary: `the interface ${own.name} ${own.down}, and ${was}` };
  }
  return hasGlobalAddress(own, before.family)
    ? null
    : {
        cause: 'address',
        summary: `the interface ${own.name} has lost its IPv${before.family} address, and ${was}`,
      };
}

/** Stands for any address behind a default route (documentation, RFC 5737 and RFC 3849). */
export const anyAddress: { readonly [family in 4 | 6]: string } = { 4: '192.0.2.1', 6: '2001:db8::1' };

/** The verdict for a failure without an address: every default route that this host has or had is unusable. */
function judgeDefaultRoutes(facts: LocalFacts): Verdict | null {
  const { host, baseline } = facts;
  const others = host.interfaces.filter(({ isLoopback }) => !isLoopback);
  if (others.every(({ down, addresses }) => down !== null || addresses.length === 0)) {
    return ours('interface', 'no network interface of this host works', interfaceEvidence(host));
  }
  const isDefault = (route: Route) => route.prefix === 0 && !route.rejects;
  const families = ([4, 6] as const).filter((family) =>
    [...host.routes, ...(baseline?.routes ?? [])].some(
      (route) => route.family === family && isDefault(route),
    ),
  );
  const verdicts = families.map((family) => judgeAddress(anyAddress[family], { ...facts, kernel: null }));
  const [first] = verdicts;
  return first?.owner === 'ours' && verdicts.every((verdict) => verdict?.owner === 'ours') ? first : null;
}

function interfaceEvidence({ interfaces }: HostState): Evidence[] {
  return interfaces
    .filter(({ isLoopback }) => !isLoopback)
    .slice(0, 6)
    .map(({ name, down, addresses }) => ({
      looked: `interface ${name}`,
      found: `${down ?? 'works'}, ${addresses.length === 0 ? 'no address' : addresses.slice(0, 4).join(', ')}`,
    }));
}

function pathText(path: Path | null, kernel: KernelRoute | null): string {
  const error = kernel !== null && 'error' in kernel ? ` (${kernel.error})` : '';
  if (path === null) return `none${error}`;
  const text = path.route === null ? `by a rule, on ${path.interface}` : routeText(path.route);
  return `${text}${error}`;
}
