import { isCheckType, type CheckType } from '../../../protocol/check-types.ts';
import { serviceCheckType } from '../types/table.ts';
import type { CheckRow } from './statements.ts';
import { isSecretVariable, openVariables, sealVariables, type Encryption } from '../../engine/encryption.ts';
import type { SettledCheck } from '../rules/rules.ts';
import type { SettledScriptCheck } from '../rules/scripts.ts';
import type { SettledServiceCheck } from '../rules/service-checks.ts';
import type { SettledSuite } from '../rules/suites.ts';

/**
 * Converts checks to rows and back. Columns hold the values that statements filter by, `code` holds scripts and their
 * files, and `definition` holds the rest as the API shows it. These values are encrypted in place: secret variables,
 * locked headers and query parameters, and the password of basic authentication.
 */

/** A validated check of any type. */
export type AnySettledCheck = SettledCheck | SettledScriptCheck | SettledSuite | SettledServiceCheck;

type Variable = SettledCheck['environmentVariables'][number];
type Pair = { key: string; value: string; locked: boolean };

const isPair = (item: unknown): item is Pair => typeof item === 'object' && item !== null && 'value' in item;

/** `request` with `change` applied to each encrypted value. */
export function mapRequestSecrets<R extends object>(request: R, change: (text: string) => string): R {
  const changed = { ...request } as { [name: string]: unknown }; // any object has fields by name
  for (const name of ['headers', 'queryParameters']) {
    const pairs = changed[name];
    if (Array.isArray(pairs)) {
      changed[name] = pairs.map((pair: unknown) =>
        isPair(pair) && pair.locked ? { ...pair, value: change(pair.value) } : pair,
      );
    }
  }
  const basicAuth = changed['basicAuth'];
  if (typeof basicAuth === 'object' && basicAuth !== null && 'password' in basicAuth) {
    changed['basicAuth'] = { ...basicAuth, password: change(String(basicAuth.password)) };
  }
  return changed as R; // the same fields, texts still texts
}

/** The `request` of a stored definition with decrypted values, for a job. Throws EncryptionError. */
export function openRequest<R extends object>(request: R, encryption: Encryption): R {
  return mapRequestSecrets(request, encryption.open);
}

type Stored = Pick<CheckRow, 'definition' | 'code'>;

/** The fields of a check without a column of their own, in stored form. */
export function toStored(check: AnySettledCheck, encryption: Encryption): Stored {
  const {
    name: _name,
    activated: _activated,
    muted: _muted,
    tags: _tags,
    groupId: _groupId,
    locations: _locations,
    privateLocations: _privateLocations,
    runParallel: _runParallel,
    frequency: _frequency,
    frequencyOffset: _frequencyOffset,
    // Stored in a separate table.
    alertChannelSubscriptions: _alertChannelSubscriptions,
    ...rest
  } = check;
  const environmentVariables = sealVariables(rest.environmentVariables, encryption);
  if ('codeBundlePath' in rest || 'prompt' in rest || !('request' in rest || 'script' in rest)) {
    return { definition: { ...rest, environmentVariables }, code: null };
  }
  if (!('request' in rest)) {
    const { script, dependencies, ...definition } = rest;
    return { definition: { ...definition, environmentVariables }, code: { script, dependencies } };
  }
  const {
    dependencies = null,
    ...definition
  }: typeof rest & { dependencies?: SettledCheck<'API'>['dependencies'] } = rest;
  return {
    definition: {
      ...definition,
      environmentVariables,
      request: mapRequestSecrets(rest.request, encryption.seal),
    },
    code: dependencies === null || dependencies.length === 0 ? null : { dependencies },
  };
}

/** The check type of a row; null if a newer version added the type. */
export function typeOf(row: CheckRow): CheckType | null {
  return isCheckType(row.checkType) ? row.checkType : null;
}

/** A stored check with decrypted secrets. Use it to merge a change, never for an answer. */
export function fromRow(row: CheckRow, encryption: Encryption): AnySettledCheck {
  const definition = row.definition as Omit<SettledCheck, 'name' | 'request' | 'environmentVariables'> & {
    request?: object;
    environmentVariables?: SettledCheck['environmentVariables'];
  }; // written by toStored
  const check = {
    ...(serviceCheckType(row.checkType)?.code === 'phases' ? { dependencies: [] } : {}),
    ...definition,
    ...row.code,
    name: row.name,
    activated: row.activated,
    muted: row.muted,
    tags: row.tags,
    groupId: row.groupId,
    locations: row.locations,
    privateLocations: row.privateLocations,
    runParallel: row.runParallel,
    frequency: row.frequency,
    ...(row.frequencyOffset === null ? {} : { frequencyOffset: row.frequencyOffset }),
    alertChannelSubscriptions: row.subscriptions,
    ...(definition.environmentVariables === undefined
      ? {}
      : { environmentVariables: openVariables(definition.environmentVariables, encryption) }),
    ...(definition.request === undefined ? {} : { request: openRequest(definition.request, encryption) }),
  };
  return check as unknown as AnySettledCheck; // columns, definition and code together are the check that was stored
}

/** Clients cannot read secret values, so an empty value in a change keeps the stored one. */
export function keepSecretValues(variables: readonly Variable[], stored: readonly Variable[]): Variable[] {
  return variables.map((variable) => {
    const known = stored.find(({ key, secret }) => secret && key === variable.key);
    if (known === undefined || variable.value !== '') return variable;
    return isSecretVariable(variable) ? { ...variable, value: known.value } : variable;
  });
}
