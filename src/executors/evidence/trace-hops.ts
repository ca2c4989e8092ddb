import { rounded } from '../../rounding.ts';

/** The data about one hop during a trace, and the row that it becomes. */

/** One hop of a trace; times in milliseconds, null if nothing answered. */
export type Hop = {
  hop: number;
  /** The address that answered most often. */
  address: string | null;
  /** Its name, if a name server has one. */
  name?: string;
  /** Other addresses that answered at the same distance. */
  others?: string[];
  sent: number;
  lossPercent: number;
  lastMs: number | null;
  avgMs: number | null;
  bestMs: number | null;
  worstMs: number | null;
  stddevMs: number | null;
  /** The error that a router returned instead of forwarding, such as `host unreachable`. */
  error?: string;
};

export type HopState = {
  sent: number;
  /** In order of arrival. */
  times: number[];
  answeredBy: Map<string, number>;
  error: string | null;
};

export const newHop = (): HopState => ({ sent: 0, times: [], answeredBy: new Map(), error: null });

const maxOthers = 4;

/** The row of a hop; `hop` counts from 1. */
export function hopRow(hop: number, { sent, times, answeredBy, error }: HopState): Hop {
  const [address = null, ...others] = [...answeredBy].sort((a, b) => b[1] - a[1]).map(([from]) => from);
  const count = times.length;
  const average = times.reduce((sum, time) => sum + time, 0) / count;
  const variance = times.reduce((sum, time) => sum + (time - average) ** 2, 0) / count;
  const shown = (value: number) => (count === 0 ? null : rounded(value, 3));
  return {
    hop,
    address,
    ...(others.length === 0 ? {} : { others: others.slice(0, maxOthers) }),
    sent,
    lossPercent: sent === 0 ? 0 : Math.round(((sent - count) / sent) * 1000) / 10,
    lastMs: shown(times.at(-1) ?? 0),
    avgMs: shown(average),
    bestMs: shown(Math.min(...times)),
    worstMs: shown(Math.max(...times)),
    stddevMs: shown(Math.sqrt(variance)),
    ...(error === null ? {} : { error }),
  };
}

/** Words for the codes of "destination unreachable" (RFC 792 and RFC 1812; RFC 4443). */
const unreachable: { readonly [F in 4 | 6]: { readonly [code: number]: string } } = {
  4: {
    0: 'network unreachable',
    1: 'host unreachable',
    2: 'protocol unreachable',
    3: 'port unreachable',
    4: 'packet too large',
    9: 'network prohibited',
    10: 'host prohibited',
    13: 'administratively prohibited',
  },
  6: {
    0: 'no route',
    1: 'administratively prohibited',
    2: 'beyond scope of source',
    3: 'address unreachable',
    4: 'port unreachable',
    5: 'source address failed policy',
    6: 'rejected route',
  },
};

/** The meaning of an ICMP message in answer to a probe: hop limit exceeded (null), or another reason. */
export function errorWords(family: 4 | 6, type: number, code: number): string | null {
  const isTooFar = family === 4 ? type === 11 : type === 3;
  if (isTooFar) return null;
  const isUnreachable = family === 4 ? type === 3 : type === 1;
  const words = isUnreachable ? unreachable[family][code] : undefined;
  return words ?? `ICMP type ${type} code ${code}`;
}
