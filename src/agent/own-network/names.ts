import type { Network } from '../../executors/interface/network.ts';
import { withTimeLimit } from '../../time-limit.ts';
import { examinationMs } from './examination.ts';
import type { Failure, Verdict } from './facts.ts';
import type { Memory } from './memory.ts';
import { resolveName } from './probes.ts';
import { ours, targets } from './rules.ts';

/** Names that did not resolve while the resolver works: the time decides, because a resolver may have returned. */

/** The resolver sends its queries at the beginning of a lookup, so only answers of this time prove that it worked. */
const queriesMs = 1000;

/** The verdict if another name resolved while the queries for this one were sent; null = none is known. */
export function resolvedMeanwhile(
  { hostname, lostName, startedAt, endedAt }: Failure,
  memory: Pick<Memory, 'otherNameIn'>,
): Verdict | null {
  if (lostName) return null;
  const span = { from: startedAt, to: Math.min(endedAt, startedAt + queriesMs) };
  const other = memory.otherNameIn(hostname, span);
  return other === null
    ? null
    : targets('the resolver works', [{ looked: `name ${other.name}`, found: 'resolved meanwhile' }]);
}

/**
 * Resolves a name again that did not resolve, if the resolver works now. If it resolves, nothing tells a resolver that
 * was silent for a moment from a name that was, so the attempt says nothing about the target. A name to which that happens
 * again and again is at fault itself. Null = the verdict stays.
 */
export async function askedAgain(
  { step, hostname, lostName, startedAt, endedAt }: Failure,
  verdict: Verdict,
  { network, memory }: { network: Network; memory: Pick<Memory, 'excuse'> },
): Promise<Verdict | null> {
  if (step !== 'name' || hostname === null || lostName) return null;
  if (verdict.owner === 'ours' || verdict.isUnproven === true) return null;
  // Within a shorter limit the name may have been too slow, as it may be again.
  if (endedAt - startedAt < queriesMs) return null;
  const signal = withTimeLimit(new AbortController().signal, examinationMs);
  const again = await resolveName(hostname, network, signal);
  const evidence = [...verdict.evidence, { looked: `name ${hostname}, again`, found: again.found }];
  return again.resolves && memory.excuse(hostname, endedAt)
    ? { ...ours('resolver', 'the resolver did not answer in time, and does now', evidence), isOver: true }
    : { ...verdict, evidence };
}
