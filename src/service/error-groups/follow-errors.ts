import { findFailedResults, trimErrorGroups, upsertErrorGroups, type SeenError } from './statements.ts';
import type { Db } from '../db/database.ts';
import type { RunFollower } from '../results/finished-runs.ts';
import { uuidv7 } from '../engine/ids.ts';
import { cleanMessage, hashOfMessage } from './clean-message.ts';
import { rawMessageOf } from './raw-message.ts';

/** Groups the errors of failed runs. */

/** Groups kept for one check; beyond this, the groups that were last seen longest ago are deleted. */
export const maxGroups = 100;

/** Whether results of this status have errors to group: failed targets, scripts, and our own errors. */
export const isGrouped = (status: string): boolean => status === 'failed' || status === 'errored';

export type NewGroup = { id: string; accountId: string; checkId: string };

/** `onNew` is called with groups that are seen for the first time, within the transaction. */
export function createErrorFollower(
  onNew: (tx: Db, groups: readonly NewGroup[]) => Promise<void> = async () => undefined,
): RunFollower {
  return async (tx, runs) => {
    const failed = runs.flatMap(({ accountId, checkId, parts }) =>
      parts
        .filter(({ status }) => isGrouped(status))
        .map(({ resultId, startedAt }) => ({ accountId, checkId, resultId, startedAt })),
    );
    if (failed.length === 0) return;
    const results = await findFailedResults(tx, {
      accountIds: [...new Set(failed.map(({ accountId }) => accountId))],
      ids: failed.map(({ resultId }) => resultId),
    });
    const byId = new Map(results.map((result) => [result.id, result]));
    const seen = new Map<string, SeenError>();
    for (const { accountId, checkId, resultId, startedAt } of failed) {
      const result = byId.get(resultId);
      if (result === undefined) continue;
      const raw = rawMessageOf(result);
      const cleaned = cleanMessage(raw);
      const hash = hashOfMessage(cleaned);
      const key = `${checkId} ${hash}`;
      const known = seen.get(key);
      const isLatest = known === undefined || startedAt >= known.last;
      const latest = isLatest
        ? { raw, last: startedAt, lastResultId: resultId }
        : { raw: known.raw, last: known.last, lastResultId: known.lastResultId };
      const first = known === undefined || startedAt < known.first ? startedAt : known.first;
      const id = known?.id ?? uuidv7(startedAt.getTime());
      seen.set(key, { id, accountId, checkId, hash, cleaned, first, ...latest });
    }
    if (seen.size === 0) return;
    const groups = await upsertErrorGroups(tx, [...seen.values()]);
    const isNew = groups.filter((group) => group.isNew);
    if (isNew.length === 0) return;
    await trimErrorGroups(tx, {
      checkIds: [...new Set(isNew.map(({ checkId }) => checkId))],
      max: maxGroups,
    });
    await onNew(tx, isNew);
  };
}
