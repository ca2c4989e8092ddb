import { cancelRuns } from '../agentic/schedule.ts';
import { serviceCheckType, typesWhere, type ServiceCheckType } from '../checks/types/table.ts';
import type { SessionRunRow } from './statements.ts';
import type { Db } from '../db/database.ts';
import { requestCancel } from '../scheduling/jobs-lease.ts';
import type { Partitions } from '../db/partitions.ts';
import { HttpError } from '../http/errors.ts';
import { endJobs } from '../scheduling/own-results.ts';

/** Cancels runs of sessions. */

/** Runs cancelled in one transaction, few enough not to block the embedded database. */
const cancelledAtOnce = 100;

/** How a run is cancelled; null = it cannot be. */
const cancelOf = (checkType: string) => serviceCheckType(checkType)?.cancel ?? null;

/**
 * Cancels active runs of suites and agentic checks; runs of other types continue.
 * Queued runs finish at once; the agent of a leased run is notified when it next renews its lease.
 * `sequenceIds` null = all runs of the session. Throws HttpError 400 that names ids which cannot be cancelled.
 */
export async function cancelSessionRuns(
  { db, now, partitions }: { db: Db; now: () => number; partitions: Partitions },
  { runs, sequenceIds }: { runs: readonly SessionRunRow[]; sequenceIds: readonly string[] | null },
): Promise<void> {
  const attributes: { [path: string]: string[] } = {};
  for (const [index, id] of (sequenceIds ?? []).entries()) {
    const run = runs.find(({ sequenceId }) => sequenceId === id);
    if (run === undefined)
      attributes[`sequenceId.${index}`] = [`is not the id of a run in this session (${id})`];
    else if (cancelOf(run.checkType) === null) {
      attributes[`sequenceId.${index}`] = [
        `is a run of type ${run.checkType}: only runs of ${typesWhere(({ cancel }) => cancel !== null).join(' and ')} checks can be cancelled (${id})`,
      ];
    }
  }
  if (Object.keys(attributes).length > 0) {
    throw new HttpError(400, 'Some of the runs cannot be cancelled; see attributes.', attributes);
  }
  const going = runs
    .filter(({ sequenceId }) => sequenceIds === null || sequenceIds.includes(sequenceId))
    .filter(({ status }) => status === null);
  const idsOf = (how: ServiceCheckType['cancel']) =>
    going.filter(({ checkType }) => cancelOf(checkType) === how).map(({ jobId }) => jobId);
  await cancelRuns({ db, now, partitions }, idsOf('agentic run'));
  const jobIds = idsOf('job');
  for (let from = 0; from < jobIds.length; from += cancelledAtOnce) {
    const some = jobIds.slice(from, from + cancelledAtOnce);
    await partitions.withDays(() =>
      db.tx(async (tx) => {
        const queued = await requestCancel(tx, some);
        const message = 'cancelled while waiting for an agent';
        const time = now();
        await endJobs(tx, {
          jobs: queued,
          status: 'cancelled',
          code: 'CANCELLED',
          message,
          now: time,
          partitions,
        });
      }),
    );
  }
}
