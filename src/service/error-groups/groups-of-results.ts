import type { Queryable } from '../db/database.ts';
import { findGroupsByHash } from './statements.ts';
import type { ResultRow } from '../results/statements.ts';
import { cleanMessage, hashOfMessage } from './clean-message.ts';
import { isGrouped } from './follow-errors.ts';
import { rawMessageOf } from './raw-message.ts';

/** The hash of a result's error, which identifies its group. Null if it has no error or its body was not read. */
export function errorHashOf(row: Pick<ResultRow, 'status' | 'reason' | 'body'>): string | null {
  if (!isGrouped(row.status)) return null;
  const raw = rawMessageOf(row);
  return raw === null && row.body === null ? null : hashOfMessage(cleanMessage(raw));
}

/** Adds to each row the group of its error. */
export async function withErrorGroups(
  db: Queryable,
  rows: readonly ResultRow[],
  { accountId }: { accountId: string },
): Promise<ResultRow[]> {
  const hashes = rows.map(errorHashOf);
  const errors = rows.flatMap(({ checkId }, index) => {
    const hash = hashes[index] ?? null;
    return hash === null ? [] : [{ checkId, hash }];
  });
  const groups = await findGroupsByHash(db, { accountId, errors });
  const ids = new Map(groups.map(({ id, checkId, errorHash }) => [`${checkId} ${errorHash}`, id]));
  return rows.map((row, index) => {
    const id = ids.get(`${row.checkId} ${hashes[index] ?? ''}`);
    return { ...row, errorGroupIds: id === undefined ? [] : [id] };
  });
}
