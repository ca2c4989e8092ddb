import { fieldsOf, type Fields } from '../../json-values.ts';
import { channelTypes, openConfig } from '../alert-channels/configs.ts';
import { openRequest } from '../checks/storage/check.ts';
import { openGroupDefinition } from '../checks/storage/group.ts';
import { openVariables, type Encryption } from '../engine/encryption.ts';
import type { Db } from '../db/database.ts';
import { changedSecrets, type Difference } from './differences.ts';
import type { ResourceType } from './kinds.ts';
import { secretRows, type SecretRow } from './statements.ts';
import { mask, type Shown } from './states.ts';

/** Secret values that the account has now. They are compared, and never shown or stored. */

/** The parts of a stored resource that may be secret, decrypted, where its payload has them. */
type Open = (row: SecretRow, encryption: Encryption) => Fields;

const openers: { readonly [T in ResourceType]?: Open } = {
  variable: ({ definition }, encryption) => {
    const [variable] = openVariables(
      [definition as { key: string; value: string; secret: boolean }],
      encryption,
    ); // a row of the table
    return { ...variable };
  },
  check: ({ definition }, encryption) => {
    // Written by toStored.
    const { environmentVariables = [], request } = definition as {
      environmentVariables?: { key: string; value: string; secret: boolean }[];
      request?: object;
    };
    return {
      environmentVariables: openVariables(environmentVariables, encryption),
      ...(request === undefined ? {} : { request: openRequest(request, encryption) }),
    };
  },
  'check-group': ({ definition }, encryption) => {
    const { environmentVariables, apiCheckDefaults } = openGroupDefinition(definition, encryption);
    return { environmentVariables, apiCheckDefaults };
  },
  'alert-channel': ({ definition: { type, config } }, encryption) => {
    const known = channelTypes.find((one) => one === type);
    return known === undefined ? {} : { config: openConfig(known, { ...fieldsOf(config) }, encryption) };
  },
};

/** The secret values of those resources of a type whose states show that they have some, by id. */
export async function secretsOf(
  { tx, encryption, accountId }: { tx: Db; encryption: Encryption; accountId: string },
  type: ResourceType,
  states: ReadonlyMap<string, Shown>,
): Promise<Map<string, Fields>> {
  const open = openers[type];
  if (open === undefined) return new Map();
  const ids = [...states].filter(([, { state }]) => hasMask(state)).map(([id]) => id);
  const rows = await secretRows(tx, { type, accountId, ids });
  return new Map(rows.map((row) => [row.id, open(row, encryption)]));
}

const hasMask = (value: unknown): boolean =>
  value === mask || (typeof value === 'object' && value !== null && Object.values(value).some(hasMask));

/** Secrets that others changed since `old` was written. An empty value in `old` left the choice to others. */
export function secretsOfOthers(old: Fields, now: Fields | undefined, state: Fields): Difference[] {
  if (now === undefined) return [];
  // Both ways, because each side names only what the other one has to be compared with.
  const written = new Set(changedSecrets({}, old, state).map(({ property }) => property));
  return changedSecrets(old, now, state).filter(({ property }) => written.has(property));
}
