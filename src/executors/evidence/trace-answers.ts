import { plainAddress } from './addresses.ts';
import { errorWords, type HopState } from './trace-hops.ts';

/** One answer to a probe. */
export type TraceAnswer = {
  /** The ICMP message of a router or of the target; null: the target answered in the protocol of the probe. */
  icmp: { type: number; code: number } | null;
  /** The sender of the ICMP message; empty if unknown. */
  from: string;
  rttMs: number;
};

/** Adds an answer to its hop. Returns whether the target sent it, and whether it says that the route ends here. */
export function noteAnswer(
  hop: HopState,
  { icmp, from, rttMs }: TraceAnswer,
  target: { address: string; family: 4 | 6 },
): { isTarget: boolean; isEnd: boolean } {
  const sender = icmp === null ? target.address : from;
  hop.times.push(rttMs);
  if (sender !== '') hop.answeredBy.set(sender, (hop.answeredBy.get(sender) ?? 0) + 1);
  const words = icmp === null ? null : errorWords(target.family, icmp.type, icmp.code);
  const isTarget = icmp === null || (words !== null && sameAddress(sender, target.address));
  if (words !== null && !(isTarget && words === 'port unreachable')) hop.error = words;
  return { isTarget, isEnd: isTarget || words !== null };
}

/** One address may be written in several ways, and a link-local one may include its zone. */
function sameAddress(one: string, other: string): boolean {
  return one === other || plainAddress(one) === plainAddress(other);
}
