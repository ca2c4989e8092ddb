import type { Queryable } from '../db/database.ts';
import { toJsonb } from '../db/jsonb.ts';

/** Statements on root cause analyses. */

export type Analysis = {
  classification: string;
  userImpact: string;
  rootCause: string;
  codeFix: string | null;
  evidence: { artifacts: { name: string; type: string }[]; description: string }[];
  referenceLinks: { url: string; title: string }[];
};

export type AnalysisRow = {
  id: string;
  accountId: string;
  checkId: string | null;
  errorGroupId: string | null;
  checkType: string;
  provider: string;
  model: string;
  userContext: string;
  status: 'PENDING' | 'COMPLETED';
  /** Milliseconds. */
  durationMs: number;
  /** Null while the analysis is pending. */
  analysis: Analysis | null;
  createdAt: Date;
};

const columns = `id, account_id as "accountId", check_id as "checkId", error_group_id as "errorGroupId",
  check_type as "checkType", provider, model, user_context as "userContext", status, duration_ms as "durationMs", analysis,
  created_at as "createdAt"`;

/** Inserts a pending analysis. */
export async function insertAnalysis(
  tx: Queryable,
  analysis: Pick<
    AnalysisRow,
    'id' | 'accountId' | 'checkId' | 'errorGroupId' | 'checkType' | 'userContext'
  > & {
    now: Date;
  },
): Promise<void> {
  await tx.query(
    `insert into root_cause_analyses (id, account_id, check_id, error_group_id, check_type, provider, model, user_context,
       status, created_at) values ($1, $2, $3, $4, $5, '', '', $6, 'PENDING', $7)`,
    [
      analysis.id,
      analysis.accountId,
      analysis.checkId,
      analysis.errorGroupId,
      analysis.checkType,
      analysis.userContext,
      analysis.now,
    ],
  );
}

/** Completes a pending analysis. Has no effect on one that is complete. */
export async function completeAnalysis(
  db: Queryable,
  done: { id: string; provider: string; model: string; durationMs: number; analysis: Analysis },
): Promise<void> {
  await db.query(
    `update root_cause_analyses set status = 'COMPLETED', provider = $2, model = $3, duration_ms = $4, analysis = $5::jsonb
     where id = $1 and status = 'PENDING'`,
    [done.id, done.provider, done.model, done.durationMs, toJsonb(done.analysis)],
  );
}

/** Account null = any account. */
export async function findAnalysis(
  db: Queryable,
  { accountId, id }: { accountId: string | null; id: string },
): Promise<AnalysisRow | undefined> {
  const rows = await db.query<AnalysisRow>(
    `select ${columns} from root_cause_analyses where id = $1 and ($2::uuid is null or account_id = $2)`,
    [id, accountId],
  );
  return rows[0];
}

/** Reads the newest analyses of each of these groups, newest first. */
export async function analysesOfGroups(
  db: Queryable,
  { groupIds, limit }: { groupIds: readonly string[]; limit: number },
): Promise<AnalysisRow[]> {
  if (groupIds.length === 0) return [];
  return db.query<AnalysisRow>(
    `select recent.* from unnest($1::uuid[]) as item (id)
     cross join lateral (
       select ${columns} from root_cause_analyses a where a.error_group_id = item.id
       order by a.created_at desc, a.id desc limit $2) as recent`,
    [[...groupIds], limit],
  );
}

/** Finds the newest complete analysis of a check's errors with this hash. */
export async function findLatestAnalysis(
  db: Queryable,
  { accountId, checkId, hash }: { accountId: string; checkId: string; hash: string },
): Promise<{ id: string; analysis: Analysis } | undefined> {
  const rows = await db.query<{ id: string; analysis: Analysis }>(
    `select a.id, a.analysis from error_groups g join root_cause_analyses a on a.error_group_id = g.id
     where g.account_id = $1 and g.check_id = $2 and g.error_hash = $3 and a.status = 'COMPLETED'
     order by a.created_at desc, a.id desc limit 1`,
    [accountId, checkId, hash],
  );
  return rows[0];
}

/** Locks the account's analyses until the end of the transaction. */
export async function lockPendingAnalyses(tx: Queryable, accountId: string): Promise<number> {
  await tx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const rows = await tx.query<{ count: number }>(
    `select count(*)::integer as count from root_cause_analyses where account_id = $1 and status = 'PENDING'`,
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/** Keeps the newest analyses of a group, up to `max`. */
export async function trimAnalyses(
  tx: Queryable,
  { errorGroupId, max }: { errorGroupId: string; max: number },
): Promise<void> {
  await tx.query(
    `delete from root_cause_analyses where id in (
       select id from root_cause_analyses where error_group_id = $1 and status = 'COMPLETED'
       order by created_at desc, id desc offset $2)`,
    [errorGroupId, max],
  );
}

/** Completes analyses that are pending since before `before`, because their work is lost. */
export async function completeLostAnalyses(
  db: Queryable,
  lost: { before: Date; provider: string; model: string; analysis: Analysis },
): Promise<void> {
  await db.query(
    `update root_cause_analyses set status = 'COMPLETED', provider = $2, model = $3, analysis = $4::jsonb
     where status = 'PENDING' and created_at < $1`,
    [lost.before, lost.provider, lost.model, toJsonb(lost.analysis)],
  );
}

/** Returns how many were deleted. */
export async function deleteOldAnalyses(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `delete from root_cause_analyses where id in (
       select id from root_cause_analyses where created_at < $1 order by created_at limit $2 for update skip locked)
     returning id`,
    [before, limit],
  );
  return rows.length;
}
