import type { Log } from '../../log.ts';
import type { ReasonCode } from '../../protocol/reasons.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import { connectedMs } from '../locations/agent-statements.ts';
import type { Db } from '../db/database.ts';
import {
  connectedAbilities,
  endMissedJobs,
  lockExpiredJobs,
  lockUnrunnableJobs,
  type ExpiredJob,
} from './jobs-expiry.ts';
import { lockSpentLeases, redeliverExpired, type DeliveryLimits } from './jobs-lease.ts';
import { beat, type Away } from './service-beat.ts';
import { jobsChannel, type LockedJob } from './jobs.ts';
import type { Partitions } from '../db/partitions.ts';
import { deleteEndedLogs } from '../results/log-statements.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { endSessionRuns } from './session-runs.ts';
import { endJobs } from './own-results.ts';
import { missedMessages, recordMissed } from './record-missed.ts';

/** Cleans up jobs: expired leases, runs that nobody claimed, and runs that no agent can run. */

const everyMs = 1_000;
const batch = 100;
/**
 * A run that two agents were running when they disappeared is parked: it may be what ends them. A run that was only
 * near them is not charged, and is limited by the total number of deliveries.
 */
const max: DeliveryLimits = { deliveries: 20, losses: 2 };
/** Grace time for an agent that can run the type and is about to say hello. */
const unrunnableAfterMs = 5_000;

type Deps = { db: Db; now: () => number; log: Log; partitions: Partitions };
/** `at`: the moment of the sweep, in milliseconds since the epoch. */
type Moment = Deps & { at: number };

/** Creates the clean-up loop. */
export function createSweep(deps: Deps): Loop {
  const { db, now, log, partitions } = deps;
  /**
   * When this replica's sweep first worked since its start or its last failure. Before that, agents could neither renew
   * leases nor report their abilities. For one lease period after it, and after the service was away, nothing is
   * redelivered or ended.
   */
  let availableSince: number | null = null;

  async function sweep(): Promise<number> {
    let at: number;
    let away: Away | null;
    try {
      if (!(await isAnythingLeft(db))) {
        availableSince = Math.min(availableSince ?? Infinity, now());
        return everyMs;
      }
      // Besides the loop of beats: the sweep needs a moment at which the database has just worked.
      ({ at, away } = await beat(db, now));
    } catch (error) {
      availableSince = null;
      throw error;
    }
    // Never in the future: if the clock was set back, the clean-up must not wait until it has caught up.
    availableSince = Math.min(availableSince ?? Infinity, at);
    const since = Math.max(availableSince, away === null || away.to > at ? -Infinity : away.to);
    if (at - since < protocolLimits.leaseSeconds * 1000) return everyMs;
    // All statements below use the moment of the beat. If the database stops between two of them, the later ones do not
    // take leases for expired that nobody could renew meanwhile.
    const moment = { ...deps, at };
    await deleteEndedLogs(db);
    await endUnrunnable(moment);
    await redeliver(moment);
    for (;;) {
      const ended = await partitions.withDays(() => db.tx((tx) => endExpired(tx, { ...moment, away })));
      if (ended < batch) return everyMs;
    }
  }

  return createLoop({ name: 'sweep', log, work: sweep });
}

/** Most runs of checks that agents hold have no job. */
async function isAnythingLeft(db: Db): Promise<boolean> {
  const rows = await db.query(
    'select 1 where exists (select 1 from jobs) or exists (select 1 from run_logs)',
  );
  return rows.length > 0;
}

async function redeliver({ db, at: time, log, partitions }: Moment): Promise<void> {
  const at = new Date(time);
  for (;;) {
    const locations = await redeliverExpired(db, { now: at, limit: batch, max });
    for (const locationId of locations) await db.notify(jobsChannel, locationId);
    const ended = await partitions.withDays(() =>
      db.tx(async (tx) => {
        const spent = await lockSpentLeases(tx, { now: at, limit: batch, max });
        const end = { now: time, partitions };
        await endJobs(tx, {
          ...end,
          jobs: spent.filter(({ cancelRequested }) => cancelRequested),
          status: 'cancelled',
          code: 'CANCELLED',
          message: 'cancelled; its agent disappeared',
        });
        const errored = spent.filter(({ cancelRequested }) => !cancelRequested);
        await endJobs(tx, {
          ...end,
          jobs: errored.filter(({ isParked }) => isParked),
          status: 'errored',
          code: 'AGENT_LOST',
          message: `${max.losses} agents disappeared while they were running it`,
        });
        await endJobs(tx, {
          ...end,
          jobs: errored.filter(({ isParked }) => !isParked),
          status: 'errored',
          code: 'LEASE_EXPIRED',
          message: `${max.deliveries} agents that had it disappeared before any of them began it`,
        });
        return spent.length;
      }),
    );
    if (locations.length > 0) log.warn({ locations }, 'leases expired; their runs are redelivered');
    if (locations.length === 0 && ended === 0) return;
  }
}

/**
 * Ends runs that nobody claimed in time: missed, or errored if an attempt had been made. Returns how many there were.
 */
async function endExpired(
  tx: Db,
  { at: time, partitions, away }: Moment & { away: Away | null },
): Promise<number> {
  const expired = await lockExpiredJobs(tx, { now: new Date(time), limit: batch });
  if (expired.length === 0) return 0;
  const abilities = await connectedAbilities(tx, new Date(time - connectedMs));
  const connected = new Set(abilities.map(({ locationId }) => locationId));
  const codeOf = (job: LockedJob): ReasonCode => (connected.has(job.locationId) ? 'NOT_CLAIMED' : 'NO_AGENT');
  /** While the service was away, nobody could claim the run, whatever agents there were. */
  const missedCode = (job: ExpiredJob): ReasonCode =>
    away !== null && job.notBefore.getTime() <= away.to && job.expiresAt.getTime() >= away.from
      ? 'NOT_SCHEDULED'
      : codeOf(job);
  const begun = (job: LockedJob) => job.firstAttemptAt !== null || job.attempt > 1;
  for (const code of ['NOT_CLAIMED', 'NO_AGENT'] as const) {
    const jobs = expired.filter((job) => begun(job) && codeOf(job) === code);
    const message =
      code === 'NO_AGENT'
        ? 'no agent of the location was connected to make the next attempt'
        : 'no agent of the location claimed the next attempt in time';
    await endJobs(tx, { jobs, status: 'errored', code, message, now: time, partitions });
  }
  // On-demand runs report the outcome to their session. A run that an agent has had may still get a result, so it is
  // recorded like others.
  const isOver = (job: LockedJob) => !begun(job) && job.sessionId !== null && job.pastTokens.length === 0;
  for (const code of ['NOT_CLAIMED', 'NO_AGENT'] as const) {
    const jobs = expired.filter((job) => isOver(job) && codeOf(job) === code);
    const message = missedMessages[code] ?? code;
    await endJobs(tx, { jobs, status: 'missed', code, message, now: time, partitions });
  }
  const missed = expired.filter((job) => !begun(job) && !isOver(job));
  if (missed.length > 0) {
    await recordMissed(tx, {
      // Runs of test sessions do not count for the check.
      missed: missed
        .filter(({ testSession }) => !testSession)
        .map((job) => ({
          accountId: job.accountId,
          checkId: job.checkId,
          checkType: job.checkType,
          runLocation: job.runLocation,
          from: job.dueAt.getTime(),
          to: job.dueAt.getTime(),
          count: 1,
          code: missedCode(job),
        })),
      now: time,
      partitions,
    });
    await endMissedJobs(
      tx,
      missed.map(({ id }) => id),
    );
    await endSessionRuns(
      tx,
      missed.flatMap(({ id, sessionId }) => (sessionId === null ? [] : [{ jobId: id, status: 'missed' }])),
      new Date(time),
    );
  }
  return expired.length;
}

/**
 * Ends runs of a type or runtime that no connected agent of the location supports. They are errored, and the check's
 * status shows it.
 */
async function endUnrunnable({ db, at: time, partitions }: Moment): Promise<void> {
  for (const { locationId, checkTypes, runtimes } of await connectedAbilities(
    db,
    new Date(time - connectedMs),
  )) {
    const wanted = {
      locationId,
      checkTypes,
      runtimes,
      before: new Date(time - unrunnableAfterMs),
      limit: batch,
    };
    await partitions.withDays(() =>
      db.tx(async (tx) => {
        const jobs = await lockUnrunnableJobs(tx, wanted);
        const byCause = new Map<string, LockedJob[]>();
        for (const job of jobs) {
          const cause = checkTypes.includes(job.checkType)
            ? `runtime ${job.runtimeId}`
            : `type ${job.checkType}`;
          byCause.set(cause, [...(byCause.get(cause) ?? []), job]);
        }
        for (const [cause, some] of byCause) {
          await endJobs(tx, {
            jobs: some,
            status: 'errored',
            code: cause.startsWith('type') ? 'TYPE_UNAVAILABLE' : 'RUNTIME_UNAVAILABLE',
            message: cause.startsWith('type')
              ? `no connected agent of the location supports checks of ${cause}`
              : `no connected agent of the location has the ${cause}; they have: ${runtimes.toReversed().join(', ') || 'none'}`,
            now: time,
            partitions,
          });
        }
      }),
    );
  }
}
