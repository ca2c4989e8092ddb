import { effectiveSlugs } from '../checks/storage/effective-checks.ts';
import type { Queryable } from '../db/database.ts';
import type { ClaimedGroup } from '../scheduling/jobs-claim.ts';

/** Statements on drafts, checks without an account that belong to a test session. */

/** What a job needs of a check besides its definition. Null as the definition of its group: it is read separately. */
type DraftParts = {
  checkName: string;
  checkType: string;
  locationCount: number;
  runtimeId: string | null;
  hasCode: boolean;
  group: ClaimedGroup | null;
  accountRuntimeId: string;
};

/** Reads a check for a draft; undefined = there is none. */
export async function draftPartsOf(tx: Queryable, checkId: string): Promise<DraftParts | undefined> {
  const rows = await tx.query<DraftParts>(
    `select c.name as "checkName", c.check_type as "checkType", cardinality(${effectiveSlugs}) as "locationCount",
       null as "runtimeId", c.code is not null as "hasCode", a.runtime_id as "accountRuntimeId",
       case when g.id is not null then jsonb_build_object('id', g.id, 'runtimeId', g.runtime_id, 'definition', null) end as "group"
     from checks c join accounts a on a.id = c.account_id left join check_groups g on g.id = c.group_id where c.id = $1`,
    [checkId],
  );
  return rows[0];
}

export type Draft = { id: string; name: string; checkType: string; sessionId: string; job: string };

/** Stores drafts. Their session is written in the same transaction; when it is deleted, they are too. */
export async function insertDrafts(tx: Queryable, drafts: readonly Draft[]): Promise<void> {
  for (const { id, name, checkType, sessionId, job } of drafts) {
    // One at a time, because scripts make them large.
    await tx.query(
      `insert into checks (id, name, check_type, activated, frequency, interval_seconds, offset_seconds, definition,
         draft_session, draft_job) values ($1, $2, $3, false, 10, 600, 0, '{}', $4, $5)`,
      [id, name, checkType, sessionId, job],
    );
  }
}
