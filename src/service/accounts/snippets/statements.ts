import type { Queryable } from '../../db/database.ts';

/** Statements on snippets. */

export type SnippetRow = {
  id: number;
  name: string;
  script: string;
  createdAt: Date;
  updatedAt: Date | null;
};
type Named = { accountId: string; id: number };

const columns = `id, name, script, created_at as "createdAt", updated_at as "updatedAt"`;

/** Returns the new id; null if the account has a snippet of that name. */
export async function insertSnippet(
  db: Queryable,
  snippet: { accountId: string; name: string; script: string; now: Date },
): Promise<number | null> {
  const rows = await db.query<{ id: number }>(
    `insert into snippets (account_id, name, script, created_at) values ($1, $2, $3, $4)
     on conflict (account_id, name) do nothing returning id`,
    [snippet.accountId, snippet.name, snippet.script, snippet.now],
  );
  return rows[0]?.id ?? null;
}

/** Returns false if another snippet of the account has that name. */
export async function updateSnippet(
  db: Queryable,
  snippet: { accountId: string; id: number; name: string; script: string; now: Date },
): Promise<boolean> {
  const rows = await db.query(
    `update snippets set name = $3, script = $4, updated_at = $5
     where id = $1 and account_id = $2 and not exists (
       select 1 from snippets other where other.account_id = $2 and other.name = $3 and other.id <> $1)
     returning id`,
    [snippet.id, snippet.accountId, snippet.name, snippet.script, snippet.now],
  );
  return rows.length > 0;
}

export async function findSnippet(db: Queryable, { accountId, id }: Named): Promise<SnippetRow | undefined> {
  const rows = await db.query<SnippetRow>(
    `select ${columns} from snippets where id = $1 and account_id = $2`,
    [id, accountId],
  );
  return rows[0];
}

/** Like findSnippet, but locks the row until the transaction ends. */
export async function lockSnippet(tx: Queryable, { accountId, id }: Named): Promise<SnippetRow | undefined> {
  const rows = await tx.query<SnippetRow>(
    `select ${columns} from snippets where id = $1 and account_id = $2 for update`,
    [id, accountId],
  );
  return rows[0];
}

/** Those of `ids` that are snippets of the account, locked against deletion until the transaction ends. */
export async function shareLockSnippets(
  tx: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly number[] },
): Promise<number[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ id: number }>(
    'select id from snippets where account_id = $1 and id = any($2::bigint[]) order by id for share',
    [accountId, [...new Set(ids)]],
  );
  return rows.map(({ id }) => id);
}

/** A page of snippets, oldest first. */
export async function listSnippets(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<SnippetRow[]> {
  return db.query<SnippetRow>(
    `select ${columns} from snippets where account_id = $1 order by created_at, id limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

/** All snippets of an account, for runs. `snippetLimits` limits their number and size. */
export async function allSnippets(
  db: Queryable,
  accountId: string,
): Promise<{ id: number; name: string; script: string }[]> {
  return db.query('select id, name, script from snippets where account_id = $1 order by id', [accountId]);
}

/**
 * Counts an account's snippets and their total length, without one snippet. Locks the count, so that concurrent
 * callers wait.
 */
export async function lockSnippetTotals(
  tx: Queryable,
  { accountId, without }: { accountId: string; without: number | null },
): Promise<{ count: number; length: number }> {
  await tx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const rows = await tx.query<{ count: number; length: number }>(
    `select count(*)::integer as count, coalesce(sum(length(script)), 0)::float8 as length
     from snippets where account_id = $1 and id is distinct from $2::bigint`,
    [accountId, without],
  );
  return rows[0] ?? { count: 0, length: 0 };
}

/** Names of up to `limit` checks and groups that use a snippet as setup or teardown script. */
export async function usersOfSnippet(
  db: Queryable,
  { accountId, id, limit }: { accountId: string; id: number; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select name from (
       select name, created_at from checks
       where account_id = $1 and $2 in (setup_snippet_id, tear_down_snippet_id)
       union all
       select name, created_at from check_groups
       where account_id = $1 and has_scripts
         and $2::text in (definition->>'setupSnippetId', definition->>'tearDownSnippetId')
     ) as users order by created_at limit $3`,
    [accountId, id, limit],
  );
  return rows.map(({ name }) => name);
}

export async function deleteSnippet(tx: Queryable, { accountId, id }: Named): Promise<void> {
  await tx.query('delete from snippets where id = $1 and account_id = $2', [id, accountId]);
}
