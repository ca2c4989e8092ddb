import { holderOf } from './hand-out.ts';
import type { Holding, KeepableCheck, KeepingAgent } from './statements.ts';

/** What a hand-out changes: a pure function of what agents hold and of what they should hold. */

export type Diff = {
  /** Agents that are alive. */
  members: ReadonlySet<string>;
  /** Checks for another agent than before; `from`: who held it, null = nobody. */
  given: { checkId: string; agentId: string; locationId: string; from: Holding | null }[];
  /** Changed checks that stay with their agent. */
  same: Holding[];
  /** Checks that no agent may hold any more. */
  dropped: Holding[];
  /** False if there is more to do than the limit. */
  isComplete: boolean;
};

/** `changed`: checks that were edited. `held` and `keepable` are of the same checks. */
export function diffOf(options: {
  held: readonly Holding[];
  keepable: readonly KeepableCheck[];
  members: readonly KeepingAgent[];
  changed: readonly string[];
  limit: number;
}): Diff {
  const { held, keepable, members, limit } = options;
  const changed = new Set(options.changed);
  const bySlug = new Map<string, KeepingAgent[]>();
  for (const member of members) bySlug.set(member.slug, [...(bySlug.get(member.slug) ?? []), member]);
  const holders = new Map(held.map((holding) => [holding.checkId, holding]));
  const memberIds = new Set(members.map(({ id }) => id));
  const diff: Diff = { members: memberIds, given: [], same: [], dropped: [], isComplete: true };
  // Edits first: they may not wait for the next step.
  const ordered = [
    ...keepable.filter(({ id }) => changed.has(id)),
    ...keepable.filter(({ id }) => !changed.has(id)),
  ];
  const wanted = new Set<string>();
  let count = 0;
  for (const check of ordered) {
    const agents = bySlug.get(check.slug) ?? [];
    const agentId = holderOf(check, agents);
    const locationId = agents[0]?.locationId;
    if (agentId === null || locationId === undefined) continue;
    wanted.add(check.id);
    const holder = holders.get(check.id) ?? null;
    const stays = holder !== null && holder.agentId === agentId && holder.locationId === locationId;
    if (stays && !changed.has(check.id)) continue;
    if (stays) diff.same.push(holder);
    else if (count++ < limit) diff.given.push({ checkId: check.id, agentId, locationId, from: holder });
    else diff.isComplete = false;
  }
  for (const holding of held) {
    if (wanted.has(holding.checkId)) continue;
    if (changed.has(holding.checkId) || count++ < limit) diff.dropped.push(holding);
    else diff.isComplete = false;
  }
  return diff;
}
