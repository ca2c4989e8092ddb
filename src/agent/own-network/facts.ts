import type { HostState, KernelRoute } from './host.ts';

/** What the examination of the host's own network knows, from the failure to the verdict. */

/** A network failure of one attempt: the step that failed, and where it led. */
export type Failure = {
  /** `unknown`: customer code reported a network error without an address. */
  step: 'name' | 'connection' | 'unknown';
  hostname: string | null;
  /** The first address that was tried, and its port; null if none is known. */
  address: string | null;
  port: number | null;
  /** The address is that of the location's proxy. */
  viaProxy: boolean;
  /** The name servers say that the name does not exist, although this agent has resolved it before. */
  lostName: boolean;
  /** Times of the attempt, milliseconds since the epoch. */
  startedAt: number;
  endedAt: number;
};

/** What can be read on this host without sending anything. */
export type LocalFacts = {
  host: HostState;
  /** The host's state at the last moment that is known to be good; null = none. */
  baseline: HostState | null;
  /** The kernel's way to the address of the failure; null if it has no address. */
  kernel: KernelRoute | null;
  /** IP versions over which something beyond this host has answered. */
  usedFamilies: ReadonlySet<4 | 6>;
  /** A name server of this host has answered since this process started. */
  resolverHasWorked: boolean;
};

export type EndpointRole = 'gateway' | 'target' | 'reference' | 'service' | 'proxy';

/** Something that was asked for an answer. */
export type EndpointProbe = {
  role: EndpointRole;
  /** For people: `10.0.0.1:443`, `the service 10.1.0.1:443`. */
  name: string;
  address: string;
  /** Null = an echo request (ping). */
  port: number | null;
  answers: boolean;
  found: string;
};

export type ResolverProbe = {
  /** `answers`: NOERROR or NXDOMAIN; `refuses`: another answer; `fails`: SERVFAIL. */
  servers: readonly { address: string; state: 'answers' | 'refuses' | 'fails' | 'silent'; found: string }[];
  /** Names that this agent has resolved before, and those of its references and its service. */
  names: readonly { name: string; resolves: boolean; found: string }[];
};

/** The answers of everything that was asked. */
export type Probes = {
  /** When it was done, milliseconds since the epoch. */
  at: number;
  /** The host's state afterwards. */
  host: HostState;
  endpoints: readonly EndpointProbe[];
  resolver: ResolverProbe;
  /** This process was so late that answers may have been missed: silence proves nothing. */
  wasDelayed: boolean;
};

/** What all targets have in common and what has failed. */
export const causes = [
  'interface',
  'address',
  'route',
  'rejecting-route',
  'gateway',
  'swallowed',
  'resolver',
  'proxy',
] as const;
export type Cause = (typeof causes)[number];

export type Evidence = { looked: string; found: string };

/** Who is at fault, and why. `cause` is null if the target is. */
export type Verdict = {
  owner: 'ours' | 'target';
  cause: Cause | null;
  summary: string;
  evidence: readonly Evidence[];
  /** The fault stays with the target only because nothing could be found out. */
  isUnproven?: true;
  /** The fault was ours, and is over. */
  isOver?: true;
};
