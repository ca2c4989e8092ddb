import type { NamedSecret } from '../../secrets/scrubber.ts';
import { allVariables } from '../db/account-variables.ts';
import { findCheckGroup } from '../db/check-groups.ts';
import type { CheckRow } from '../db/checks.ts';
import type { Queryable } from '../db/database.ts';
import { isSecretVariable, openVariables, type Encryption } from '../encryption.ts';
import type { Variable } from '../group-settings.ts';

/** The variables that a check, its group and its account have, in the clear: the check's own first. Throws EncryptionError. */
export async function variablesOfCheck(
  db: Queryable,
  encryption: Encryption,
  { accountId, check }: { accountId: string; check: Pick<CheckRow, 'groupId' | 'definition'> },
): Promise<Variable[]> {
  const group =
    check.groupId === null ? undefined : await findCheckGroup(db, { accountId, id: check.groupId });
  const lists = [check.definition, group?.definition].map(
    (definition) => (definition?.['environmentVariables'] ?? []) as Variable[], // written by the check's and the group's routes
  );
  return openVariables([...lists.flat(), ...(await allVariables(db, accountId))], encryption);
}

/** Those among them that must be shown to nobody. */
export function secretsAmong(variables: readonly Variable[]): NamedSecret[] {
  return variables.filter(isSecretVariable).map(({ key, value }) => ({ name: key, value }));
}
