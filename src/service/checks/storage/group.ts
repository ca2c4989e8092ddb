import type { CheckGroupRow } from './group-statements.ts';
import { openVariables, sealVariables, type Encryption } from '../../engine/encryption.ts';
import { phaseSources, type ApiCheckDefaults, type GroupSettings } from './settings.ts';
import { checkAssertions, checkPhases, settleRetryStrategy, settleVariables } from '../rules/rules.ts';
import { type Problems } from '../../http/problems.ts';
import type { GroupBody } from '../fields/group-schema.ts';
import type { Role } from '../../http/fields/roles.ts';
import { mapRequestSecrets } from './check.ts';
import { hideInRequest, hideSecrets } from './hidden.ts';

/** Converts groups to rows and back, as check.ts does for checks. */

/** A complete group with all defaults filled in and decrypted secret values. */
export type SettledGroup = GroupSettings & {
  name: string;
  tags: string[];
  concurrency: number;
  browserCheckDefaults: object | string | null;
};

/** Validates a complete group. Problems between its fields are added to `problems`. */
export function settleGroup(body: GroupBody, problems: Problems): SettledGroup {
  checkPhases(body, problems);
  const { retryStrategy, apiCheckDefaults } = body;
  if (apiCheckDefaults !== null) checkAssertions(apiCheckDefaults.assertions, 'apiCheckDefaults', problems);
  return {
    ...body,
    locations: body.locations ?? [],
    privateLocations: body.privateLocations ?? [],
    environmentVariables: settleVariables(body.environmentVariables, problems),
    retryStrategy:
      retryStrategy === 'FALLBACK' ? retryStrategy : settleRetryStrategy(retryStrategy, null, problems),
  };
}

/** The fields of a group without a column of their own, in stored form. */
export function toGroupDefinition(group: SettledGroup, encryption: Encryption): Record<string, unknown> {
  const {
    name: _name,
    activated: _activated,
    muted: _muted,
    tags: _tags,
    locations: _locations,
    privateLocations: _privateLocations,
    runParallel: _runParallel,
    runtimeId: _runtimeId,
    // Stored in a separate table.
    alertChannelSubscriptions: _alertChannelSubscriptions,
    ...rest
  } = group;
  const { apiCheckDefaults } = rest;
  return {
    ...rest,
    environmentVariables: sealVariables(rest.environmentVariables, encryption),
    apiCheckDefaults: apiCheckDefaults === null ? null : mapRequestSecrets(apiCheckDefaults, encryption.seal),
  };
}

/** Whether the group adds setup or teardown scripts to its API checks. */
export function hasPhases(group: SettledGroup): boolean {
  const { setup, teardown } = phaseSources(group, null);
  return setup.length + teardown.length > 0;
}

type StoredDefinition = Omit<
  SettledGroup,
  | 'name'
  | 'activated'
  | 'muted'
  | 'tags'
  | 'locations'
  | 'privateLocations'
  | 'runParallel'
  | 'runtimeId'
  | 'alertChannelSubscriptions'
>;

/** The parts of a group's definition that a run needs, decrypted. Throws EncryptionError. */
export function openGroupDefinition(
  definition: Record<string, unknown>,
  encryption: Encryption,
): StoredDefinition {
  const stored = definition as StoredDefinition; // written by toGroupDefinition
  const defaults: ApiCheckDefaults | null | undefined = stored.apiCheckDefaults;
  return {
    ...stored,
    // Lists omit large fields.
    environmentVariables: openVariables(stored.environmentVariables ?? [], encryption),
    apiCheckDefaults:
      defaults === null || defaults === undefined ? null : mapRequestSecrets(defaults, encryption.open),
  };
}

/** A stored group with decrypted secrets. Throws EncryptionError. */
export function groupFromRow(row: CheckGroupRow, encryption: Encryption): SettledGroup {
  return {
    name: row.name,
    activated: row.activated,
    muted: row.muted,
    tags: row.tags,
    locations: row.locations,
    privateLocations: row.privateLocations,
    runParallel: row.runParallel,
    runtimeId: row.runtimeId,
    alertChannelSubscriptions: row.subscriptions,
    ...openGroupDefinition(row.definition, encryption),
  };
}

/** Whether a list's row omits a field. */
const isLeftOut = ({ definition }: CheckGroupRow, field: string): boolean =>
  ['environmentVariables', 'apiCheckDefaults', 'browserCheckDefaults'].includes(field) &&
  !(field in definition);

/** Shown if a group has no defaults for its API checks. */
const noApiCheckDefaults: ApiCheckDefaults = {
  url: '',
  headers: [],
  queryParameters: [],
  basicAuth: null,
  assertions: [],
};

/** A group as the API shows it to a key of this role. Secret values are empty. */
export function presentGroup(row: CheckGroupRow, encryption: Encryption, role: Role) {
  const group = groupFromRow(row, encryption);
  const shown = {
    ...group,
    doubleCheck: group.doubleCheck ?? false,
    apiCheckDefaults: hideInRequest(group.apiCheckDefaults ?? noApiCheckDefaults, role),
    browserCheckDefaults: group.browserCheckDefaults ?? '',
    environmentVariables: hideSecrets(group.environmentVariables, role),
  };
  return {
    id: row.id,
    ...(row.isPartial === true
      ? {
          ...Object.fromEntries(Object.entries(shown).filter(([field]) => !isLeftOut(row, field))),
          isPartial: true,
        }
      : shown),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt?.toISOString() ?? null,
  };
}
