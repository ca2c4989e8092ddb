import { rounded } from '../../rounding.ts';
import { shortened } from '../../shortened.ts';
import type { AssertionResult } from '../../protocol/assertions.ts';
import type { Assertion } from '../../protocol/assertions.ts';
import { evaluateAssertions } from '../assertions/evaluate.ts';
import type { Hop } from '../evidence/trace-hops.ts';
import type { AsOrigin } from './as-database.ts';
import type { Trace } from './trace.ts';

/** One hop of a result: with the network that it belongs to, where a database knows it. */
export type TracedHop = Hop & { asn?: number; asOrganization?: string };

/** Milliseconds; null if the target did not answer. */
export type FinalLatency = {
  avg: number | null;
  min: number | null;
  max: number | null;
  stdDev: number | null;
};

/** The hops with their AS numbers. */
export function withOrigins(
  hops: readonly Hop[],
  originOf: (address: string) => AsOrigin | null,
): TracedHop[] {
  return hops.map((hop) => {
    const origin = hop.address === null ? null : originOf(hop.address);
    if (origin === null) return hop;
    const { asn, organization } = origin;
    return { ...hop, asn, ...(organization === null ? {} : { asOrganization: organization }) };
  });
}

/** The target's times. */
export function finalLatency({ targetTimes: times }: Pick<Trace, 'targetTimes'>): FinalLatency {
  if (times.length === 0) return { avg: null, min: null, max: null, stdDev: null };
  const avg = times.reduce((sum, time) => sum + time, 0) / times.length;
  const variance = times.reduce((sum, time) => sum + (time - avg) ** 2, 0) / times.length;
  return {
    avg: rounded(avg, 3),
    min: rounded(Math.min(...times), 3),
    max: rounded(Math.max(...times), 3),
    stdDev: rounded(Math.sqrt(variance), 3),
  };
}

/** The loss of the last hop, in percent. */
export function packetLoss(hops: readonly Hop[]): number {
  return hops.at(-1)?.lossPercent ?? 100;
}

/** Addresses, names and AS numbers on the route, as assertions compare them. */
function presentOn(hops: readonly TracedHop[]): { readonly [property: string]: readonly string[] } {
  const distinct = (values: (string | null | undefined)[]) => [
    ...new Set(values.filter((value) => value !== null && value !== undefined)),
  ];
  const address = distinct(hops.flatMap((hop) => [hop.address, ...(hop.others ?? [])]));
  const name = distinct(hops.map((hop) => hop.name));
  const asn = distinct(hops.map((hop) => (hop.asn === undefined ? null : `AS${hop.asn}`)));
  return { address, name, asn, '': [...address, ...name, ...asn] };
}

/** Evaluates the assertions of a TRACEROUTE check (facts, section 3.2). */
export function assertionsOf(
  assertions: readonly Assertion[],
  { hops, latency, response }: { hops: readonly TracedHop[]; latency: FinalLatency; response: unknown },
): AssertionResult[] {
  let present: ReturnType<typeof presentOn> | null = null;
  return evaluateAssertions(assertions, {
    RESPONSE_TIME: ({ property }) => latencyFor(latency, property),
    HOP_COUNT: () => ({ value: hops.length }),
    PACKET_LOSS: () => ({ value: packetLoss(hops) }),
    HOP: ({ property }) => {
      present ??= presentOn(hops);
      const values = Object.hasOwn(present, property) ? present[property] : undefined;
      return values === undefined
        ? {
            error: `HOP has no property ${JSON.stringify(shortened(property, 100))}; use address, name or asn`,
          }
        : { value: values };
    },
    JSON_RESPONSE: () => ({ value: response }),
  });
}

function latencyFor(latency: FinalLatency, property: string): { value: unknown } | { error: string } {
  const name = property === '' ? 'avg' : property;
  if (!Object.hasOwn(latency, name)) {
    return {
      error: `RESPONSE_TIME has no property ${JSON.stringify(shortened(property, 100))}; use avg, min, max or stdDev`,
    };
  }
  const value = latency[name as keyof FinalLatency]; // hasOwn has confirmed it
  return value === null ? { error: 'the target did not answer, so it has no response time' } : { value };
}
