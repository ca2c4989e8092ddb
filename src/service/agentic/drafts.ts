import { allVariables } from '../accounts/variables/statements.ts';
import { findCheckGroup } from '../checks/storage/group-statements.ts';
import { findCheck, type CheckRow } from '../checks/storage/statements.ts';
import type { Variable } from '../checks/storage/settings.ts';
import type { Queryable } from '../db/database.ts';
import type { Encryption } from '../engine/encryption.ts';
import { fieldsOf, parsedJson } from '../../json-values.ts';
import { draftOfCheck } from '../scheduling/jobs-claim.ts';

/** Drafts of agentic checks: definitions that are tried and not stored. The service keeps them encrypted until they run. */

/** What a run needs of its check. */
export type AgenticTask = Pick<CheckRow, 'id' | 'groupId' | 'definition'>;

const variablesIn = (definition: Record<string, unknown>) =>
  (definition['environmentVariables'] ?? []) as Variable[]; // written by the routes of checks and groups

/** Returns a function that seals the definition of a check as `tx` sees it, with the variables of its group and account. */
export function createAgenticDrafts(
  tx: Queryable,
  { accountId, encryption }: { accountId: string; encryption: Encryption },
): (checkId: string) => Promise<string | null> {
  return async (id) => {
    const check = await findCheck(tx, { accountId, id });
    if (check === undefined) return null;
    const { definition, groupId } = check;
    const group = groupId === null ? undefined : await findCheckGroup(tx, { accountId, id: groupId });
    const environmentVariables = [
      ...variablesIn(definition),
      ...variablesIn(group?.definition ?? {}),
      ...(await allVariables(tx, accountId)),
    ];
    return encryption.seal(JSON.stringify({ ...definition, environmentVariables }));
  };
}

/** The check of a run; of a draft, what was sealed. Undefined = it is deleted. Throws EncryptionError. */
export async function checkOfRun(
  db: Queryable,
  encryption: Encryption,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<CheckRow | AgenticTask | undefined> {
  const check = await findCheck(db, { accountId, id: checkId });
  if (check !== undefined) return check;
  const sealed = await draftOfCheck(db, checkId);
  if (sealed === null) return undefined;
  return { id: checkId, groupId: null, definition: fieldsOf(parsedJson(encryption.open(sealed))) };
}
