import Type, { type Static } from 'typebox';
import { StringEnum } from './schema.ts';

/** The settings of TRACEROUTE checks (facts, section 3.1). */

/** What the probes of a trace are: SYNs, datagrams to a closed port, or echo requests. */
export const traceProtocols = ['TCP', 'UDP', 'ICMP'] as const;
export type TraceProtocol = (typeof traceProtocols)[number];

/** The port of each protocol if a check names none. */
const defaultTracePort: { readonly [P in TraceProtocol]: number | null } = {
  TCP: 443,
  UDP: 33_434,
  ICMP: null,
};

/** The port that probes go to; null if the protocol has none. */
export function tracePort({
  protocol,
  port,
}: {
  protocol: TraceProtocol;
  port: number | null;
}): number | null {
  const usual = defaultTracePort[protocol];
  return usual === null ? null : (port ?? usual);
}

/** Hops and queries that one trace may have at most: 640 probes. */
export const maxTraceHops = 64;
export const maxTraceQueries = 10;

/** The number of silent hops in a row after which a trace gives up, if a check names none. */
export const defaultUnknownHops = 15;

export const traceSettings = {
  url: Type.String({
    minLength: 1,
    maxLength: 2048,
    description: 'Host name or address, without scheme and port.',
  }),
  protocol: StringEnum(traceProtocols, {
    default: 'TCP',
    description: 'TCP: SYNs. UDP: datagrams to a closed port. ICMP: echo requests.',
  }),
  port: Type.Union([Type.Integer({ minimum: 1, maximum: 65_535 }), Type.Null()], {
    default: null,
    description: 'Null = 443 for TCP, 33434 for UDP. ICMP has none.',
  }),
  ipFamily: StringEnum(['IPv4', 'IPv6'], { default: 'IPv4' }),
  maxHops: Type.Integer({
    minimum: 1,
    maximum: maxTraceHops,
    default: 30,
    description: 'The trace ends there.',
  }),
  maxUnknownHops: Type.Union([Type.Integer({ minimum: 1, maximum: 30 }), Type.Null()], {
    default: null,
    description:
      'The trace stops after that many silent hops in a row. Null = 15, or maxHops if that is smaller.',
  }),
  queries: Type.Integer({
    minimum: 1,
    maximum: maxTraceQueries,
    default: 3,
    description: 'Probes for each hop.',
  }),
  ptrLookup: Type.Boolean({ default: true, description: 'True: looks up the names of the hops.' }),
  timeout: Type.Integer({
    minimum: 1,
    maximum: 30,
    default: 10,
    description: 'Seconds for the whole trace.',
  }),
} as const;

const TraceSettings = Type.Object(traceSettings);
export type TraceSettings = Static<typeof TraceSettings>;

/** Why a trace has no further hops. `loop`: the route runs in a circle. `unreachable`: a router refused to forward. */
export const truncationReasons = [
  'destinationReached',
  'maxHops',
  'maxUnknownHops',
  'timeout',
  'unreachable',
  'loop',
] as const;
export type TruncationReason = (typeof truncationReasons)[number];
