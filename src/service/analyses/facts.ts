import type { AnalysisRow } from './statements.ts';
import { earlierResults, type ShortResult } from './result-statements.ts';
import { findCheck, type CheckRow } from '../checks/storage/statements.ts';
import type { Queryable } from '../db/database.ts';
import { findErrorGroup, type ErrorGroupRow } from '../error-groups/statements.ts';
import { findResult, type ResultRow } from '../results/statements.ts';
import { cleanMessage, hashOfMessage } from '../error-groups/clean-message.ts';
import { isGrouped } from '../error-groups/follow-errors.ts';
import { timeOfUuidv7 } from '../engine/ids.ts';
import { dayMs } from '../../durations.ts';

/** The input of an analysis. */

export type Facts = {
  check: Pick<CheckRow, 'name' | 'checkType' | 'groupId' | 'definition'>;
  group: ErrorGroupRow;
  /** The complete latest result of the group; null when retention has deleted it. */
  latest: ResultRow | null;
  /** Results around that time, newest first: of the group, other failed ones, and passed ones. */
  inGroup: readonly ShortResult[];
  otherFailed: readonly ShortResult[];
  passed: readonly ShortResult[];
  userContext: string;
};

/** Number of results that are read. */
const max = 200;
const maxPassed = 50;
const backMs = 7 * dayMs;

/** Null when the check or the group was deleted. */
export async function gatherFacts(
  db: Queryable,
  { accountId, checkId, errorGroupId, userContext }: AnalysisRow,
): Promise<Facts | null> {
  if (checkId === null || errorGroupId === null) return null;
  const group = await findErrorGroup(db, { accountId, id: errorGroupId });
  const check = await findCheck(db, { accountId, id: checkId });
  if (group === undefined || check === undefined) return null;
  const { lastResultId, lastSeen, firstSeen } = group;
  const time = timeOfUuidv7(lastResultId);
  const latest =
    time === null
      ? undefined
      : await findResult(db, { accountId, checkId, id: lastResultId, startedAt: new Date(time) });
  const of = { accountId, checkId, to: lastSeen };
  const from = new Date(lastSeen.getTime() - backMs);
  const recent = await earlierResults(db, { ...of, from, onlyPassed: false, limit: max });
  // Passed results are read from before the error began: a check that has failed for long has none among its latest
  // results.
  const start = new Date(Math.max(firstSeen.getTime(), from.getTime()));
  const passed = await earlierResults(db, {
    ...of,
    from: new Date(start.getTime() - backMs),
    onlyPassed: true,
    limit: maxPassed,
  });
  const failed = recent.filter(({ status }) => isGrouped(status));
  const isOfGroup = ({ message }: ShortResult) => hashOfMessage(cleanMessage(message)) === group.errorHash;
  return {
    check,
    group,
    latest: latest ?? null,
    inGroup: failed.filter(isOfGroup),
    otherFailed: failed.filter((result) => !isOfGroup(result)),
    passed,
    userContext,
  };
}
