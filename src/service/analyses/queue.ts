import type { Background } from '../background.ts';
import { insertAnalysis, trimAnalyses } from '../db/analyses.ts';
import type { Db } from '../db/database.ts';
import { uuidv7 } from '../ids.ts';

/** Analyses that are asked for. */

export const analysesQueue = 'root-cause-analyses';
export type AnalysisItem = { analysisId: string };

/** Of one group; older ones go. */
const mostOfGroup = 20;

/** A pending analysis, whose work is queued with the transaction's commit; its id. */
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
  await trimAnalyses(tx, { errorGroupId: options.errorGroupId, most: mostOfGroup - 1 });
  await insertAnalysis(tx, { ...options, id, now: new Date(options.now) });
  await background.send(tx, analysesQueue, { analysisId: id } satisfies AnalysisItem);
  return id;
}
