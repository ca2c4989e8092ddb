import { reasonOf, type ReasonCode } from '../../protocol/reasons.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { toJsonb } from '../db/jsonb.ts';
import { uuidv7 } from '../engine/ids.ts';
import { insertResults, type ResultToStore } from '../results/store-result.ts';
import {
  findLiveMoments,
  findOpenMissed,
  updateMissedResults,
  lockChecksOf,
  saveOpenMissed,
  type OpenMissed,
} from './missed.ts';
import { foldMissed, type Missed } from './fold-missed.ts';
import { bodyOf } from './own-results.ts';

/** Results of runs that did not take place. Consecutive ones with the same reason share one record. */

/** Why a run did not take place, as text. */
export const missedMessages: { readonly [code in ReasonCode]?: string } = {
  NOT_SCHEDULED: 'the service or its database was not available when the run was due',
  NO_AGENT: 'no agent of the location was connected',
  STILL_RUNNING: 'the previous run was still in progress',
  NOT_CLAIMED: 'the agents of the location were busy: none claimed the run in time',
};

/**
 * Records runs that did not take place. A moment is in one record at most, and no record spans a run that takes place:
 * the records of a check are written under a lock of the check, and `foldMissed` decides from the rows that it reads
 * under that lock, never from what an earlier transaction left in memory.
 */
export async function recordMissed(
  tx: Db,
  options: { missed: readonly Missed[]; now: number; partitions: Partitions },
): Promise<void> {
  if (options.missed.length === 0) return;
  const steps = await lockChecksOf(tx, [...new Set(options.missed.map(({ checkId }) => checkId))]);
  const byPlace = new Map<string, Missed[]>();
  for (const item of options.missed) {
    if (!steps.has(item.checkId)) continue;
    byPlace.set(keyOf(item), [...(byPlace.get(keyOf(item)) ?? []), item]);
  }
  const places = [...byPlace.values()].flatMap(([first]) => first ?? []);
  if (places.length === 0) return;
  const open = new Map((await findOpenMissed(tx, places)).map((record) => [keyOf(record), record]));
  const live = new Map((await findLiveMoments(tx, places)).map((row) => [keyOf(row), row.moments]));

  const grown: (OpenMissed & { newId: string })[] = [];
  const fresh: { item: Missed; isOpen: boolean }[] = [];
  for (const [key, items] of byPlace) {
    const record = open.get(key);
    const [first] = items;
    const stepMs = steps.get(first?.checkId ?? '') ?? 0;
    const folded = foldMissed({ open: record ?? null, items, live: live.get(key) ?? [], stepMs });
    if (folded.grown !== null) {
      const { from, resultId, resultStartedAt } = folded.grown;
      const isSameStart = from.getTime() === resultStartedAt.getTime();
      grown.push({ ...folded.grown, newId: isSameStart ? resultId : uuidv7(from.getTime()) });
    }
    fresh.push(...folded.fresh);
  }
  options.partitions.check([
    ...grown.map(({ from }) => from.getTime()),
    ...fresh.map(({ item }) => item.from),
  ]);
  await updateMissedResults(
    tx,
    grown.map((record) => ({ ...record, details: detailsOf(record) })),
  );
  const results = fresh.map(({ item }) => missedResultOf(item));
  await insertResults(tx, results, new Date(options.now));
  const opened = fresh.flatMap(({ item, isOpen }, index) =>
    isOpen ? [openOf(item, results[index]?.id ?? '')] : [],
  );
  const replaced = new Set(opened.map(keyOf));
  await saveOpenMissed(tx, [
    ...grown
      .filter((record) => !replaced.has(keyOf(record)))
      .map((record) => ({ ...record, resultId: record.newId, resultStartedAt: record.from })),
    ...opened,
  ]);
}

const keyOf = ({ checkId, runLocation }: { checkId: string; runLocation: string }) =>
  `${checkId} ${runLocation}`;

/** The open record of these missed runs. */
export function openOf(item: Missed, resultId: string): OpenMissed {
  return {
    checkId: item.checkId,
    runLocation: item.runLocation,
    resultId,
    resultStartedAt: new Date(item.from),
    count: item.count,
    from: new Date(item.from),
    to: new Date(item.to),
    reason: item.code,
  };
}

/** `details` of a result that records missed runs. */
export const detailsOf = ({ count, from, to, reason }: OpenMissed) => ({ count, from, to, reason });

/** The result that records these missed runs. */
export function missedResultOf(item: Missed): ResultToStore {
  const id = uuidv7(item.from);
  return {
    id,
    startedAt: item.from,
    stoppedAt: item.to,
    accountId: item.accountId,
    checkId: item.checkId,
    jobId: null,
    sequenceId: uuidv7(item.from),
    checkType: item.checkType,
    runLocation: item.runLocation,
    resultType: 'FINAL',
    status: 'missed',
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: 0,
    attempts: 0,
    reason: toJsonb(reasonOf(item.code, missedMessages[item.code] ?? item.code)),
    body: bodyOf(detailsOf(openOf(item, id))),
    sslDaysRemaining: null,
  };
}
