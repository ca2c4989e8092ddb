import { laneOf, type JobType } from '../../protocol/check-types.ts';
import { claimWindowSeconds, nextDue, scheduledJobId, scheduledRunId } from '../../protocol/schedule.ts';
import type { Db } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';
import { createFindPauses } from '../maintenance/pauses.ts';
import { insertJobs, jobsChannel } from '../scheduling/jobs.ts';
import { lockChecksOf } from '../scheduling/missed.ts';
import type { CheckFacts } from './check-facts.ts';
import { momentsWithRun } from '../scheduling/gaps.ts';

/** The last runs that an agent owed of checks which were taken from it before it died: others make them late. */

type Owed = { check: CheckFacts; to: number };

/**
 * Queues the last owed runs that may still begin, and returns the checks of those. A run is not made late when its check has
 * been due again: then the next holder has made a newer one.
 */
export async function queueLastRuns(
  tx: Db,
  options: {
    accountId: string;
    owed: readonly Owed[];
    location: { locationId: string; slug: string };
    now: number;
  },
): Promise<Set<string>> {
  const { accountId, location, now } = options;
  const { locationId, slug } = location;
  const recent = options.owed.filter(
    ({ check, to }) =>
      to <= now && nextDue(check, to) > now && now - to < claimWindowSeconds(check.intervalSeconds) * 1000,
  );
  if (recent.length === 0) return new Set();
  const ids = recent.map(({ check }) => check.id);
  await lockChecksOf(tx, ids);
  const rows = await tx.query<{ id: string; runParallel: boolean }>(
    `select c.id, c.run_parallel as "runParallel" from checks c join kept_checks k on k.check_id = c.id
     where c.id = any($1::uuid[]) and k.dropped_at is null and k.location_id = $2`,
    [ids, locationId],
  );
  const held = new Map(rows.map((row) => [row.id, row]));
  const pauses = await createFindPauses()(tx, {
    checks: recent.map(({ check, to }) => ({ id: check.id, accountId, nextDueAt: new Date(to) })),
    now,
  });
  const queued: Owed[] = [];
  for (const item of recent) {
    const { check, to } = item;
    const isPaused = pauses.get(check.id)?.some(({ from, to: end }) => from <= to && to < end) === true;
    if (isPaused || !held.has(check.id)) continue;
    const stepMs = check.intervalSeconds * 1000;
    const known = await momentsWithRun(tx, {
      checkId: check.id,
      locationId,
      runLocation: slug,
      from: to,
      to,
      stepMs,
    });
    if (!known.has(to)) queued.push(item);
  }
  const woken = await insertJobs(
    tx,
    queued.map(({ check, to }) => ({
      id: scheduledJobId(check.id, locationId, to),
      accountId,
      checkId: check.id,
      runId: scheduledRunId(check.id, to),
      sequenceId: uuidv7(now),
      locationId,
      runLocation: slug,
      runSource: 'SCHEDULER',
      runParallel: held.get(check.id)?.runParallel ?? false,
      checkType: check.checkType,
      // Agents hold only types that have jobs, without scripts.
      runtimeId: null,
      lane: laneOf[check.checkType as JobType],
      dueAt: new Date(to),
      expiresAt: new Date(to + claimWindowSeconds(check.intervalSeconds) * 1000),
      claimWindowSeconds: claimWindowSeconds(check.intervalSeconds),
    })),
  );
  for (const id of woken) await tx.notify(jobsChannel, id);
  return new Set(queued.map(({ check }) => check.id));
}
