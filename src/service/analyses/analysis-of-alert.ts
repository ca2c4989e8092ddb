import { findLatestAnalysis, type Analysis } from './statements.ts';
import type { Queryable } from '../db/database.ts';
import { cleanMessage, hashOfMessage } from '../error-groups/clean-message.ts';

/** Finds the newest analysis of the error that an alert is about; undefined where there is none. */
export async function analysisOf(
  db: Queryable,
  { accountId, checkId, error }: { accountId: string; checkId: string; error: string | null },
): Promise<{ id: string; analysis: Analysis } | undefined> {
  if (error === null) return undefined;
  return findLatestAnalysis(db, { accountId, checkId, hash: hashOfMessage(cleanMessage(error)) });
}
