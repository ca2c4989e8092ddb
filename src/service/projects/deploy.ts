import type { Fields } from '../../json-values.ts';
import { changedSecrets, differencesOf } from './differences.ts';
import { deletedFirst, deletedLast, kinds, resourceTypes, type ResourceType } from './kinds.ts';
import { changesOfOthers, keyOf, lastPayload, type Change, type Resource, type Work } from './plan.ts';
import { unknownYet } from './references.ts';
import { removeAll } from './removals.ts';
import type { Answer } from './replay.ts';
import { by, Refused, refused, resolve } from './requests.ts';
import { canonical, readStates, stateOf, type Shown } from './states.ts';
import type { Binding } from './statements.ts';

/** Writes the resources of a project, in an order in which each one finds what it refers to. */

/** Runs a deployment within its transaction. Problems are added to `work.problems`; the caller then rolls back. */
export async function writeAll(work: Work): Promise<void> {
  const { input } = work;
  for (const resource of input.resources) nameExisting(work, resource);
  const members = input.resources.filter(({ member }) => member);
  const described = new Set(members.map(({ type, logicalId }) => keyOf(type, logicalId)));
  const left = [...work.bindings]
    .filter(([key, { isDetached }]) => !isDetached && !described.has(key))
    .map(([, binding]) => binding);
  const gone = forgetRenamed(work, members, left);
  refuseTwice(work, members);
  await removeAll(work, gone, deletedFirst);
  // A service shows checks, and a check opens incidents of a service: new services begin without their checks.
  const services = await createServices(work, members);
  for (const type of resourceTypes) {
    if (type !== 'status-page-service') await writeType(work, members, type);
    if (type === 'check') {
      for (const service of services) await completeService(work, service);
      await writeType(
        work,
        members.filter((one) => !services.includes(one)),
        'status-page-service',
      );
    }
  }
  await removeAll(work, gone, deletedLast);
  await refreshSubscribers(work);
}

/** Resources that the files now describe under another logical id are not deleted. Returns the other ones. */
function forgetRenamed(work: Work, members: readonly Resource[], left: readonly Binding[]): Binding[] {
  const taken = new Map(
    members.flatMap(({ type, logicalId, physicalId }) =>
      physicalId === undefined ? [] : [[keyOf(type, physicalId), logicalId]],
    ),
  );
  return left.filter(({ type, logicalId, physicalId }) => {
    const now = taken.get(keyOf(type, physicalId));
    if (now !== undefined) work.renamed.set(keyOf(type, now), logicalId);
    return now === undefined;
  });
}

/** A resource that one member takes over cannot stay with another one. */
function refuseTwice(work: Work, members: readonly Resource[]): void {
  const holders = new Map<string, string>();
  for (const { type, logicalId, physicalId } of members) {
    const id = physicalId ?? work.bindings.get(keyOf(type, logicalId))?.physicalId;
    if (id === undefined) continue;
    const holder = holders.get(keyOf(type, id));
    if (holder === undefined) holders.set(keyOf(type, id), logicalId);
    else {
      const text = `also belongs to ${keyOf(type, holder)} (${id}): remove one of them`;
      work.problems.add(`${keyOf(type, logicalId)}.physicalId`, text);
    }
  }
  if (work.problems.attributes() !== null) throw new Refused();
}

async function writeType(work: Work, members: readonly Resource[], type: ResourceType): Promise<void> {
  for (const resource of members) if (resource.type === type) await writeResource(work, resource);
}

/** Resources that exist already can be named before they are written. */
function nameExisting(work: Work, { type, logicalId, physicalId, member }: Resource): void {
  const id = physicalId ?? work.bindings.get(keyOf(type, logicalId))?.physicalId;
  const shown = id === undefined ? undefined : work.states.get(keyOf(type, id));
  if (shown !== undefined) work.names.set(keyOf(type, logicalId), shown.name);
  else if (!member) {
    work.problems.add(
      `${keyOf(type, logicalId)}.physicalId`,
      `names no ${type} of this account (${id ?? ''})`,
    );
  } else work.names.set(keyOf(type, logicalId), unknownYet);
}

async function createServices(work: Work, members: readonly Resource[]): Promise<Resource[]> {
  const isNew = ({ type, logicalId, physicalId }: Resource) => {
    const id = physicalId ?? work.bindings.get(keyOf(type, logicalId))?.physicalId;
    return type === 'status-page-service' && (id === undefined || !work.states.has(keyOf(type, id)));
  };
  const services = members.filter(isNew);
  for (const service of services) {
    const { checkIds: _checkIds, ...payload } = service.payload;
    await writeResource(work, { ...service, payload });
  }
  return services;
}

/** Adds the checks of a service that was created without them. */
async function completeService(work: Work, service: Resource): Promise<void> {
  const key = keyOf(service.type, service.logicalId);
  const binding = work.written.get(key);
  const { payload, waits } = resolve(work, service);
  if (binding === undefined || waits) return;
  const path = kinds[service.type].item(binding.physicalId);
  const answer = await work.replay.send(by(work), { method: 'PUT', path, body: payload });
  if (refused(work, service, answer)) return;
  const { state } = stateOf(work.replay, service.type, answer.body);
  work.written.set(key, { ...binding, state, payload: seal(work, payload) });
  const change = work.changes.find((one) => keyOf(one.type, one.logicalId) === key);
  if (change !== undefined) change.differences = differencesOf({}, state);
}

const seal = ({ encryption }: Work, payload: Fields) => encryption.seal(canonical(payload));

/** Writes one resource unless nothing of it has changed. */
async function writeResource(work: Work, resource: Resource): Promise<void> {
  work.step();
  const { type, logicalId } = resource;
  const { payload, waits } = resolve(work, resource);
  if (waits) return;
  const binding = work.bindings.get(keyOf(type, logicalId));
  const id = resource.physicalId ?? binding?.physicalId;
  const before = id === undefined ? undefined : work.states.get(keyOf(type, id));
  if (resource.physicalId !== undefined && before === undefined) {
    return work.problems.add(`${keyOf(type, logicalId)}.physicalId`, `names no ${type} of this account`);
  }
  const isOwn = binding !== undefined && binding.physicalId === id;
  const old = isOwn ? lastPayload(work, binding) : {};
  const change: Change = {
    type,
    logicalId,
    physicalId: id ?? null,
    action: 'UNCHANGED',
    differences: [],
    changedByOthers: isOwn && before !== undefined ? changesOfOthers(work, binding, before) : [],
    notice: noticeOf({ binding, before, isOwn, oldId: work.renamed.get(keyOf(type, logicalId)) }),
  };
  const isSame =
    isOwn &&
    before !== undefined &&
    change.changedByOthers.length === 0 &&
    canonical(old) === canonical(payload);
  const after: (Shown & { id?: string }) | undefined = isSame
    ? before
    : await write(work, { ...resource, payload }, { id, before });
  if (after === undefined) return;
  const written = after.id ?? id ?? '';
  if (!isSame) {
    change.physicalId = written;
    change.differences = differencesOf(before?.state ?? {}, after.state);
    if (before !== undefined && id !== undefined) {
      const now = work.secrets.get(keyOf(type, id)) ?? old;
      change.differences.push(...changedSecrets(now, payload, after.state));
    }
    change.action = before === undefined ? 'CREATE' : change.differences.length > 0 ? 'UPDATE' : 'UNCHANGED';
  }
  const key = keyOf(type, logicalId);
  work.names.set(key, after.name);
  work.changes.push(change);
  const isKept = isSame && binding.isProtected === resource.protected && !binding.isDetached;
  if (isKept) return;
  work.written.set(key, {
    type,
    logicalId,
    physicalId: written,
    isProtected: resource.protected,
    isDetached: false,
    payload: seal(work, payload),
    state: after.state,
  });
}

function noticeOf({
  binding,
  before,
  isOwn,
  oldId,
}: {
  binding: Binding | undefined;
  before: Shown | undefined;
  isOwn: boolean;
  /** Its logical id until now. */
  oldId: string | undefined;
}): string | null {
  if (oldId !== undefined) return `had the logicalId ${oldId}, and keeps its history`;
  if (binding !== undefined && before === undefined) return 'was deleted by others, and is created again';
  if (binding?.isDetached === true && isOwn) return 'was detached, and is attached again';
  if (!isOwn && before !== undefined) return 'was made outside of the project, which takes it over';
  return null;
}

/** Creates or replaces a resource through its routes. Returns undefined after a problem. */
async function write(
  work: Work,
  resource: Resource,
  { id, before }: { id: string | undefined; before: Shown | undefined },
): Promise<(Shown & { id: string }) | undefined> {
  const { type, logicalId, payload } = resource;
  const kind = kinds[type];
  const path = kind.create(payload);
  if (path === null)
    return (work.problems.add(`${keyOf(type, logicalId)}.checkType`, 'must be a type of check'), undefined);
  const body = kind.body?.(payload) ?? payload;
  const changes = before === undefined || id === undefined ? null : kind.change(id, payload);
  // A trigger that was made again would have another URL.
  if (changes === null && before !== undefined && kind.idOf(payload) === id) return { ...before, id };
  let answer: Answer;
  if (changes === null) {
    if (before !== undefined && id !== undefined)
      await work.replay.send(by(work), { method: 'DELETE', path: kind.item(id) });
    answer = await work.replay.send(by(work), { method: kind.createMethod ?? 'POST', path, body });
  } else {
    const whole =
      kind.createMethod === 'PUT'
        ? { status: 200, body }
        : await work.replay.complete(by(work), { path, body });
    if (refused(work, resource, whole)) return undefined;
    answer = await work.replay.send(by(work), { method: 'PUT', path: changes, body: whole.body });
  }
  if (refused(work, resource, answer)) return undefined;
  const now = kind.idOf(answer.body);
  // A subscription of another check or channel is another one.
  if (id !== undefined && before !== undefined && now !== id) {
    await work.replay.send(by(work), { method: 'DELETE', path: kind.item(id) });
  }
  return { ...stateOf(work.replay, type, answer.body), id: now };
}

/**
 * A check that is written loses the subscriptions that the files declare as resources of their own, so these are
 * written again, and the states of their subscribers are read once more.
 */
async function refreshSubscribers(work: Work): Promise<void> {
  const again = new Map<string, Binding>();
  for (const resource of work.input.resources) {
    if (resource.type !== 'alert-channel-subscription' || !resource.member) continue;
    const { payload, waits } = resolve(work, resource);
    if (waits) continue;
    const path = kinds[resource.type].create(payload) ?? '';
    const body = kinds[resource.type].body?.(payload);
    const answer = await work.replay.send(by(work), { method: 'PUT', path, body });
    if (refused(work, resource, answer)) continue;
    const key = keyOf(resource.type, resource.logicalId);
    const binding = work.written.get(key) ?? work.bindings.get(key);
    const physicalId = kinds[resource.type].idOf(answer.body);
    if (binding !== undefined) work.written.set(key, { ...binding, isDetached: false, physicalId });
    const subscriber = String(payload['checkId'] ?? payload['groupId'] ?? '');
    for (const one of [...work.bindings.values(), ...work.written.values()]) {
      if ((one.type === 'check' || one.type === 'check-group') && one.physicalId === subscriber) {
        again.set(keyOf(one.type, one.logicalId), work.written.get(keyOf(one.type, one.logicalId)) ?? one);
      }
    }
  }
  for (const [key, binding] of again) {
    const { type, physicalId } = binding;
    const states = await readStates(work.replay, by(work), {
      type,
      ids: [physicalId],
      isComplete: () => true,
    });
    const state = states.get(physicalId)?.state;
    if (state === undefined) continue;
    work.written.set(key, { ...binding, state });
    const change = work.changes.find((one) => keyOf(one.type, one.logicalId) === key);
    const before = work.states.get(keyOf(type, physicalId));
    if (change === undefined || change.action === 'CREATE' || before === undefined) continue;
    const secrets = change.differences.filter((one) => 'isSecret' in one);
    change.differences = [
      ...differencesOf(before.state, state).filter((one) => !('isSecret' in one)),
      ...secrets,
    ];
    change.action = change.differences.length > 0 ? 'UPDATE' : 'UNCHANGED';
  }
}
