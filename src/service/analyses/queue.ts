import type { Background } from '../engine/background.ts';
import { insertAnalysis, lockPendingAnalyses, trimAnalyses } from './statements.ts';
import { findCheck } from '../checks/storage/statements.ts';
import type { Db } from '../db/database.ts';
import type { NewGroup } from '../error-groups/follow-errors.ts';
import { uuidv7 } from '../engine/ids.ts';

/** Queues analyses. */

export const analysesQueue = 'root-cause-analyses';
export type AnalysisItem = { analysisId: string };

/** Pending analyses that an account may have at once. */
export const maxPending = 50;
/** Analyses kept for one group; older ones are deleted. */
const maxOfGroup = 20;

/** Creates a pending analysis and queues its work, both with the commit of `tx`. Returns its id. */
export async function queueAnalysis(
  tx: Db,
  background: Background,
  options: {
    accountId: string;
    checkId: string;
    errorGroupId: string;
    checkType: string;
    userContext: string;
    /** Milliseconds since the epoch. */
    now: number;
  },
): Promise<string> {
  const id = uuidv7(options.now);
  await trimAnalyses(tx, { errorGroupId: options.errorGroupId, max: maxOfGroup - 1 });
  await insertAnalysis(tx, { ...options, id, now: new Date(options.now) });
  await background.send(tx, analysesQueue, { analysisId: id } satisfies AnalysisItem);
  return id;
}

/** Queues an analysis of each error that is seen for the first time. The error follower calls it. */
export function analyseNewGroups(
  background: Background,
  now: () => number,
): (tx: Db, groups: readonly NewGroup[]) => Promise<void> {
  return async (tx, groups) => {
    for (const { id, accountId, checkId } of groups) {
      const check = await findCheck(tx, { accountId, id: checkId });
      if (check === undefined || (await lockPendingAnalyses(tx, accountId)) >= maxPending) continue;
      const { checkType } = check;
      const of = { accountId, checkId, errorGroupId: id, checkType };
      await queueAnalysis(tx, background, { ...of, userContext: '', now: now() });
    }
  };
}
