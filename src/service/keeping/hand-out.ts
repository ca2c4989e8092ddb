import { createHash } from 'node:crypto';

/** Which agent of a location holds a check: rendezvous hashing, a pure function of the check and the agents. */

/**
 * `place`: an id of its own, or that of the process whose checks it continues. `weight`: how many runs it can make at a time.
 */
export type Member = { id: string; place: string; weight: number; checkTypes: readonly string[] };

/**
 * The agent with the highest score among those that run the check's type; null = there is none. An agent that joins takes
 * only checks for itself, and those of one that leaves are the only ones that move.
 */
export function holderOf(
  check: { id: string; checkType: string },
  members: readonly Member[],
): string | null {
  let best: { id: string; score: number } | null = null;
  for (const { id, place, weight, checkTypes } of members) {
    if (weight <= 0 || !checkTypes.includes(check.checkType)) continue;
    const score = -weight / Math.log(share(check.id, place));
    if (best === null || score > best.score || (score === best.score && id < best.id)) best = { id, score };
  }
  return best?.id ?? null;
}

/**
 * The same agents, with no place twice. Two that live may have one place, if one of them runs on a copy of the other's data
 * folder. The agent that the place is named after keeps it, or else the last one.
 */
export function withOwnPlaces<M extends Pick<Member, 'id' | 'place'>>(members: readonly M[]): M[] {
  const owners = new Map<string, string>();
  for (const { id, place } of members) {
    const owner = owners.get(place);
    if (owner === undefined || id === place || (owner !== place && owner < id)) owners.set(place, id);
  }
  return members.map((member) =>
    owners.get(member.place) === member.id ? member : { ...member, place: member.id },
  );
}

/** A number between 0 and 1, both excluded, that only depends on the two ids. */
function share(checkId: string, place: string): number {
  const digest = createHash('sha256').update(`${checkId} ${place}`).digest();
  return (digest.readUIntBE(0, 6) + 1) / (2 ** 48 + 1);
}
