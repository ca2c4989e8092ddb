import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';
import { allVariables } from '../accounts/variables/statements.ts';
import { findCheckGroup } from '../checks/storage/group-statements.ts';
import type { CheckRow } from '../checks/storage/statements.ts';
import type { Queryable } from '../db/database.ts';
import { isSecretVariable, openVariables, type Encryption } from '../engine/encryption.ts';
import type { Variable } from '../checks/storage/settings.ts';

/** Secrets of a check, its group and its account. */

type Of = { accountId: string; check: Pick<CheckRow, 'groupId' | 'definition'> };
type Definition = { readonly [field: string]: unknown };

async function definitionsOf(db: Queryable, { accountId, check }: Of): Promise<Definition[]> {
  const group =
    check.groupId === null ? undefined : await findCheckGroup(db, { accountId, id: check.groupId });
  return [check.definition, ...(group === undefined ? [] : [group.definition])];
}

async function variablesWith(
  db: Queryable,
  encryption: Encryption,
  { accountId, definitions }: { accountId: string; definitions: readonly Definition[] },
): Promise<Variable[]> {
  const lists = definitions.map((definition) => (definition['environmentVariables'] ?? []) as Variable[]); // written by the check's and the group's routes
  return openVariables([...lists.flat(), ...(await allVariables(db, accountId))], encryption);
}

/**
 * Reads the variables of a check, its group and its account in plain text, the check's own first. Throws
 * EncryptionError.
 */
export async function variablesOfCheck(db: Queryable, encryption: Encryption, of: Of): Promise<Variable[]> {
  const definitions = await definitionsOf(db, of);
  return variablesWith(db, encryption, { accountId: of.accountId, definitions });
}

/** Selects the variables that are secret. */
export function secretsAmong(variables: readonly Variable[]): NamedSecret[] {
  return variables
    .filter((variable) => isSecretVariable(variable) || variable.locked)
    .map(({ key, value }) => ({ name: key, value }));
}

/**
 * Everything that must not be sent to a model: secret and locked variables, encrypted parts of the definitions (locked
 * headers and parameters, passwords), and passwords within URLs. Throws EncryptionError.
 */
export async function secretsOfCheck(db: Queryable, encryption: Encryption, of: Of): Promise<NamedSecret[]> {
  const definitions = await definitionsOf(db, of);
  const variables = await variablesWith(db, encryption, { accountId: of.accountId, definitions });
  const kept = definitions
    .flatMap(textsWithin)
    .flatMap((text) => (text.startsWith('sealed:') ? [encryption.open(text)] : passwordWithin(text)));
  return [...secretsAmong(variables), ...kept.map((value) => ({ name: 'definition', value }))].filter(
    ({ value }) => value !== '',
  );
}

function textsWithin(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsWithin);
}

function passwordWithin(text: string): string[] {
  if (!/^[a-z][a-z0-9+.-]{0,20}:\/\/[^/?#]*@/i.test(text) || !URL.canParse(text)) return [];
  const { password } = new URL(text);
  try {
    return [decodeURIComponent(password)];
  } catch {
    return [password];
  }
}
