import { createHash } from 'node:crypto';
import { fieldsOf, parsedJson, type Fields } from '../../json-values.ts';
import type { Db } from '../db/database.ts';
import type { Encryption } from '../engine/encryption.ts';
import type { Role } from '../http/fields/roles.ts';
import type { Problems } from '../http/problems.ts';
import { resourceTypes, type ResourceType } from './kinds.ts';
import type { Replay } from './replay.ts';
import { differencesOf, type Difference } from './differences.ts';
import { secretsOf, secretsOfOthers } from './stored-secrets.ts';
import { canonical, readStates, type Shown } from './states.ts';
import { bindingsOf, type Binding } from './statements.ts';

/** What a deployment knows when it begins: the resources of the files, and what the account has of them. */

/** A resource as the files describe it. */
export type Resource = {
  type: ResourceType;
  logicalId: string;
  /** An existing resource: to take over, or with `member` false, only to refer to. */
  physicalId?: string;
  member: boolean;
  protected: boolean;
  payload: Fields;
};

export const actions = ['UNCHANGED', 'CREATE', 'UPDATE', 'DELETE', 'DETACHED'] as const;

/** What a deployment does with one resource. */
export type Change = {
  type: ResourceType;
  logicalId: string;
  physicalId: string | null;
  action: (typeof actions)[number];
  /** From the present state to the new one. */
  differences: Difference[];
  /** From the state after the last deployment to the present one. */
  changedByOthers: Difference[];
  /** What else there is to know. */
  notice: string | null;
};

export type Input = {
  accountId: string;
  role: Role;
  project: { logicalId: string; name: string; repoUrl: string | null };
  resources: readonly Resource[];
  /** Resources that left the files are kept and detached. */
  preserves: boolean;
  /** Written resources are due at once. */
  runsSoon: boolean;
  /** The plan that was shown; null = any. */
  planToken: string | null;
};

/** The state of one deployment, within its transaction. */
export type Work = {
  tx: Db;
  replay: Replay;
  encryption: Encryption;
  input: Input;
  problems: Problems;
  bindings: Map<string, Binding>;
  /** Present states, by type and physical id. */
  states: Map<string, Shown>;
  /** Secret values of the present states, decrypted, by type and physical id. */
  secrets: Map<string, Fields>;
  /** Values by which resources are named, by type and logical id. */
  names: Map<string, unknown>;
  changes: Change[];
  /** Former logical ids of resources that have new ones, by type and new logical id. */
  renamed: Map<string, string>;
  written: Map<string, Binding>;
  /** Called after each resource. Throws if the deployment is to stop. */
  step: () => void;
};

export const keyOf = (type: string, id: string): string => `${type}/${id}`;

/** Reads what the account has of a project. */
export async function openWork(
  options: Pick<Work, 'tx' | 'replay' | 'encryption' | 'input' | 'problems' | 'step'> & { projectId: string },
): Promise<Work> {
  const { tx, replay, input, projectId } = options;
  const bindings = await bindingsOf(tx, projectId);
  const states = new Map<string, Shown>();
  const secrets = new Map<string, Fields>();
  const by = { tx, accountId: input.accountId, role: input.role };
  const taken = input.resources.filter(({ physicalId }) => physicalId !== undefined);
  for (const type of resourceTypes) {
    const own = bindings.filter((binding) => binding.type === type);
    const ids = new Set([
      ...own.map(({ physicalId }) => physicalId),
      ...taken.filter((one) => one.type === type).flatMap(({ physicalId }) => physicalId ?? []),
    ]);
    if (ids.size === 0) continue;
    // Lists leave out dependencies.
    const whole = new Set(
      own.filter(({ state }) => 'dependencies' in state).map(({ physicalId }) => physicalId),
    );
    const found = await readStates(replay, by, { type, ids: [...ids], isComplete: (id) => !whole.has(id) });
    for (const [id, shown] of found) states.set(keyOf(type, id), shown);
    const hidden = await secretsOf({ ...options, accountId: input.accountId }, type, found);
    for (const [id, values] of hidden) secrets.set(keyOf(type, id), values);
  }
  return {
    ...options,
    bindings: new Map(bindings.map((binding) => [keyOf(binding.type, binding.logicalId), binding])),
    states,
    secrets,
    names: new Map(),
    changes: [],
    renamed: new Map(),
    written: new Map(),
  };
}

/** Identifies the files and the state of the account by which a plan was made. */
export function planTokenOf({ input, bindings, states }: Work): string {
  const facts = {
    project: input.project.logicalId,
    resources: input.resources,
    preserves: input.preserves,
    bindings: [...bindings.values()].map(({ type, logicalId, physicalId, isProtected, isDetached }) => [
      type,
      logicalId,
      physicalId,
      isProtected,
      isDetached,
    ]),
    states: [...states]
      .map(([key, { stamp }]) => [key, stamp])
      .sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  };
  return createHash('sha256').update(canonical(facts)).digest('base64url');
}

/** The payload that a resource was last written with; empty if it cannot be read. */
export function lastPayload({ encryption }: Work, binding: Binding | undefined): Fields {
  if (binding === undefined || binding.payload === '') return {};
  return { ...fieldsOf(parsedJson(encryption.open(binding.payload))) };
}

/** What others changed of a resource since the project wrote it. */
export function changesOfOthers(work: Work, binding: Binding, before: Shown): Difference[] {
  const { type, physicalId, state } = binding;
  const shown = differencesOf(state, before.state);
  const named = new Set(shown.map(({ property }) => property));
  const hidden = secretsOfOthers(
    lastPayload(work, binding),
    work.secrets.get(keyOf(type, physicalId)),
    before.state,
  );
  return [...shown, ...hidden.filter(({ property }) => !named.has(property))];
}
