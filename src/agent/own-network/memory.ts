import { familyOf, sameSubnet } from './routes.ts';

/** Something that has answered: a connection (`tcp`), a ping (`icmp`) or a DNS query over UDP (`dns`). */
export type Answered = { kind: 'tcp' | 'icmp' | 'dns'; address: string; port: number | null; at: number };

/**
 * What has answered this agent lately. It costs a run one entry in a map, and is only read after network failures.
 */
export type Memory = {
  /** `at`: milliseconds since the epoch. */
  answered: (endpoint: Answered) => void;
  resolved: (name: string, at: number) => void;
  /** The target is at fault itself, so its silence proves nothing about others. */
  forget: (address: string) => void;
  forgetName: (name: string) => void;
  /** A name server of this host has answered, if only that a name does not exist. */
  resolverAnswered: () => void;
  resolverHasWorked: () => boolean;
  knows: (name: string) => boolean;
  /** Notes that a failure of this name was excused. Returns false if one was in the last minutes. */
  excuse: (name: string, at: number) => boolean;
  /** Endpoints that answered since `since`, the latest first. */
  endpointsSince: (since: number) => Answered[];
  /** The same for names. */
  namesSince: (since: number) => Resolved[];
  /** Another name that a name server resolved in this time; null = none is known. */
  otherNameIn: (name: string | null, span: { from: number; to: number }) => Resolved | null;
  /** Versions of IP over which something has ever answered. */
  families: ReadonlySet<4 | 6>;
};

/** A name that a name server has resolved. */
export type Resolved = { name: string; at: number };

const maxEndpoints = 256;
const maxNames = 64;
/** Lookups that are remembered by their time. */
const maxLookups = 256;
/** A name whose failures are excused more often than once in this time is slow itself. */
const excusedMs = 10 * 60_000;

/** Creates an empty memory. */
export function createMemory(): Memory {
  const endpoints = new Map<string, Answered>();
  const names = new Map<string, number>();
  const families = new Set<4 | 6>();
  const lookups: Resolved[] = [];
  const excused = new Map<string, number>();
  let resolverHasWorked = false;
  return {
    answered: (endpoint) => {
      const key = `${endpoint.kind} ${endpoint.port} ${endpoint.address}`;
      // Delete first, so that the map stays in the order of answers.
      endpoints.delete(key);
      endpoints.set(key, endpoint);
      families.add(endpoint.address.includes(':') ? 6 : 4);
      dropOldest(endpoints, maxEndpoints);
    },
    resolverAnswered: () => void (resolverHasWorked = true),
    resolverHasWorked: () => resolverHasWorked,
    resolved: (name, at) => {
      resolverHasWorked = true;
      names.delete(name);
      names.set(name, at);
      dropOldest(names, maxNames);
      lookups.push({ name, at });
      if (lookups.length > maxLookups) lookups.shift();
    },
    forget: (address) => {
      for (const [key, endpoint] of endpoints) if (endpoint.address === address) endpoints.delete(key);
    },
    forgetName: (name) => void names.delete(name),
    knows: (name) => names.has(name),
    excuse: (name, at) => {
      const last = excused.get(name);
      excused.delete(name);
      excused.set(name, at);
      dropOldest(excused, maxNames);
      return last === undefined || at - last > excusedMs;
    },
    endpointsSince: (since) => [...endpoints.values()].filter(({ at }) => at >= since).reverse(),
    namesSince: (since) =>
      [...names]
        .filter(([, at]) => at >= since)
        .map(([name, at]) => ({ name, at }))
        .reverse(),
    otherNameIn: (own, { from, to }) =>
      lookups.findLast(({ name, at }) => name !== own && at >= from && at <= to) ?? null,
    families,
  };
}

function dropOldest(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}

/**
 * At most `max` endpoints that say most about the network: of each group at most `perGroup`, in different subnets first.
 */
export function chooseWitnesses(
  endpoints: readonly Answered[],
  groupOf: (address: string) => string | null,
  { perGroup, max }: { perGroup: number; max: number },
): Answered[] {
  const groups = new Map<string, Answered[]>();
  for (const endpoint of endpoints) {
    const group = familyOf(endpoint.address) === null ? null : groupOf(endpoint.address);
    if (group === null) continue;
    groups.set(group, [...(groups.get(group) ?? []), endpoint]);
  }
  const chosen = [...groups.values()].flatMap((members) => {
    const distinct: Answered[] = [];
    const rest: Answered[] = [];
    for (const each of members) {
      if (distinct.some(({ address }) => address === each.address)) continue;
      const isNew = !distinct.some(({ address }) => sameSubnet(address, each.address));
      (isNew ? distinct : rest).push(each);
    }
    return [...distinct, ...rest].slice(0, perGroup);
  });
  return chosen.slice(0, max);
}
