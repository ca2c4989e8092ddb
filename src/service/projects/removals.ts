import { kinds, type ResourceType } from './kinds.ts';
import { changesOfOthers, keyOf, type Work } from './plan.ts';
import { by, refused } from './requests.ts';
import type { Binding } from './statements.ts';

/** Resources that left the files are deleted, or detached from their project. */

/** Removes resources of these types, in the order of the types. */
export async function removeAll(
  work: Work,
  gone: readonly Binding[],
  types: readonly ResourceType[],
): Promise<void> {
  for (const type of types) {
    for (const binding of gone) if (binding.type === type) await remove(work, binding);
  }
}

async function remove(work: Work, binding: Binding): Promise<void> {
  work.step();
  const { type, logicalId, physicalId, isProtected } = binding;
  const before = work.states.get(keyOf(type, physicalId));
  const keeps = before !== undefined && (work.input.preserves || isProtected);
  if (before !== undefined && !keeps) {
    const path = kinds[type].item(physicalId).replace(/\?.*$/, '');
    const answer = await work.replay.send(by(work), { method: 'DELETE', path });
    // What it belonged to may have been deleted with it.
    if (answer.status !== 404 && refused(work, binding, answer)) return;
  }
  if (keeps) work.written.set(keyOf(type, logicalId), { ...binding, isDetached: true });
  work.changes.push({
    type,
    logicalId,
    physicalId,
    action: keeps ? 'DETACHED' : 'DELETE',
    differences: [],
    changedByOthers: before === undefined ? [] : changesOfOthers(work, binding, before),
    notice:
      before === undefined
        ? 'was deleted by others'
        : isProtected && !work.input.preserves
          ? 'is protected: it stays in the account'
          : null,
  });
}
