import type { SharedVariables } from '../../protocol/assignments.ts';
import { allVariables } from '../accounts/variables/statements.ts';
import type { Queryable } from '../db/database.ts';
import { openVariables, type Encryption } from '../engine/encryption.ts';

/** The variables of an account, which agents get apart from the checks that they hold. */

/** Agents of this protocol minor and later take them apart. */
export const sharingMinor = 8;

/**
 * For SQL: what tells whether an agent has the present variables. It follows from what is stored, so that all replicas, of
 * this release and of others, agree on it, and so does a restored database. `account`: an expression.
 */
export const variablesTag = (account: string): string =>
  `(select encode(sha256(convert_to(coalesce(jsonb_agg(jsonb_build_array(v.key, v.value, v.locked, v.secret)
     order by v.key), '[]')::text, 'UTF8')), 'hex') from account_variables v where v.account_id = ${account})`;

/**
 * The present variables. `tag` must have been read before, so that a change in between makes it wrong, and not right.
 * Throws EncryptionError.
 */
export async function sharedVariables(
  { db, encryption }: { db: Queryable; encryption: Encryption },
  { accountId, tag }: { accountId: string; tag: string },
): Promise<SharedVariables> {
  return { tag, list: openVariables(await allVariables(db, accountId), encryption) };
}
