import type { SharedVariables } from '../../protocol/assignments.ts';
import type { AccountVariableRow } from '../accounts/variables/statements.ts';
import type { Queryable } from '../db/database.ts';
import { openVariables, type Encryption } from '../engine/encryption.ts';

/** The variables of an account, which agents get apart from the checks that they hold. */

type Variable = Pick<AccountVariableRow, 'key' | 'value' | 'locked' | 'secret'>;

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
 * The present variables. One statement reads them and their tag, so that no change comes in between: with the tag of other
 * values, the agent would keep these. Throws EncryptionError.
 */
export async function sharedVariables(
  { db, encryption }: { db: Queryable; encryption: Encryption },
  accountId: string,
): Promise<SharedVariables> {
  const [row] = await db.query<{ tag: string; list: Variable[] }>(
    `select ${variablesTag('$1')} as tag, (
       select coalesce(jsonb_agg(jsonb_build_object('key', key, 'value', value, 'locked', locked, 'secret', secret)
         order by key), '[]') from account_variables where account_id = $1) as list`,
    [accountId],
  );
  if (row === undefined) throw new Error('the statement has one row');
  return { tag: row.tag, list: openVariables(row.list, encryption) };
}
