import type { Queryable } from '../../db/database.ts';

/** Statements on account variables. Values of secret variables are encrypted. */

export type AccountVariableRow = {
  key: string;
  value: string;
  locked: boolean;
  secret: boolean;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = 'key, value, locked, secret, created_at as "createdAt", updated_at as "updatedAt"';

type Write = Omit<AccountVariableRow, 'createdAt' | 'updatedAt'> & { accountId: string; now: Date };

/** Returns false if the account has a variable with that key. */
export async function insertVariable(db: Queryable, variable: Write): Promise<boolean> {
  const rows = await db.query(
    `insert into account_variables (account_id, key, value, locked, secret, created_at) values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id, key) do nothing returning key`,
    [variable.accountId, variable.key, variable.value, variable.locked, variable.secret, variable.now],
  );
  return rows.length > 0;
}

export async function updateVariable(db: Queryable, variable: Write): Promise<void> {
  await db.query(
    `update account_variables set value = $3, locked = $4, secret = $5, updated_at = $6
     where account_id = $1 and key = $2`,
    [variable.accountId, variable.key, variable.value, variable.locked, variable.secret, variable.now],
  );
}

type Named = { accountId: string; key: string };

export async function findVariable(
  db: Queryable,
  { accountId, key }: Named,
): Promise<AccountVariableRow | undefined> {
  const rows = await db.query<AccountVariableRow>(
    `select ${columns} from account_variables where account_id = $1 and key = $2`,
    [accountId, key],
  );
  return rows[0];
}

/** Like findVariable, but locks the row until the transaction ends. */
export async function lockVariable(
  tx: Queryable,
  { accountId, key }: Named,
): Promise<AccountVariableRow | undefined> {
  const rows = await tx.query<AccountVariableRow>(
    `select ${columns} from account_variables where account_id = $1 and key = $2 for update`,
    [accountId, key],
  );
  return rows[0];
}

/** A page of variables, sorted by key. */
export async function listVariables(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<AccountVariableRow[]> {
  return db.query<AccountVariableRow>(
    `select ${columns} from account_variables where account_id = $1 order by key limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

/** All variables of an account, for runs. */
export async function allVariables(
  db: Queryable,
  accountId: string,
): Promise<Pick<AccountVariableRow, 'key' | 'value' | 'locked' | 'secret'>[]> {
  return db.query(
    'select key, value, locked, secret from account_variables where account_id = $1 order by key',
    [accountId],
  );
}

/**
 * Counts an account's variables and their total length, without one variable. Locks the count, so that concurrent
 * callers wait.
 */
export async function lockVariableTotals(
  tx: Queryable,
  { accountId, without }: { accountId: string; without: string | null },
): Promise<{ count: number; length: number }> {
  await tx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const rows = await tx.query<{ count: number; length: number }>(
    `select count(*)::integer as count, coalesce(sum(length(value)), 0)::float8 as length
     from account_variables where account_id = $1 and key is distinct from $2`,
    [accountId, without],
  );
  return rows[0] ?? { count: 0, length: 0 };
}

/** Returns false if there was no such variable. */
export async function deleteVariable(db: Queryable, { accountId, key }: Named): Promise<boolean> {
  const rows = await db.query(
    'delete from account_variables where account_id = $1 and key = $2 returning key',
    [accountId, key],
  );
  return rows.length > 0;
}
