import { reasonOf } from '../../protocol/reasons.ts';
import type { Db } from '../db/database.ts';
import { queueFinishedRuns } from '../results/finished-run-statements.ts';
import {
  insertHeartbeatEvents,
  restartTimers,
  type HeartbeatEvent,
  type HeartbeatState,
  type LockedHeartbeat,
} from './statements.ts';
import type { Partitions } from '../db/partitions.ts';
import { insertResults, updateStatuses, type ResultToStore } from '../results/store-result.ts';
import { toJsonb } from '../db/jsonb.ts';
import { uuidv7 } from '../engine/ids.ts';

/** Stores the outcome of a ping or of a missed ping: an event, a result like that of a run, and the restarted timer. */

/** The location of results that the service itself produces. */
export const serviceLocation = 'service';

export type HeartbeatOutcome = {
  heartbeat: LockedHeartbeat;
  state: HeartbeatState;
  source: string;
  userAgent: string;
};

/** `tx` must have locked the heartbeats. Returns their events in the same order. */
export async function storeOutcomes(
  tx: Db,
  { partitions, now }: { partitions: Partitions; now: number },
  outcomes: readonly HeartbeatOutcome[],
): Promise<HeartbeatEvent[]> {
  if (outcomes.length === 0) return [];
  partitions.check([now]);
  const at = new Date(now);
  const events = outcomes.map(({ heartbeat, state, source, userAgent }) => ({
    id: uuidv7(now),
    checkId: heartbeat.checkId,
    accountId: heartbeat.accountId,
    state,
    happenedAt: at,
    source,
    userAgent,
  }));
  await insertHeartbeatEvents(tx, events);
  await restartTimers(
    tx,
    outcomes.map(({ heartbeat: { checkId }, state }) => ({ checkId, from: at, state })),
  );
  const results = outcomes.map((outcome, index) => resultOf(outcome, events[index]?.id ?? '', now));
  await insertResults(tx, results, at);
  await updateStatuses(tx, results, at);
  await queueFinishedRuns(tx, results, ({ id }) => id);
  return events.map(({ checkId: _checkId, accountId: _accountId, ...event }) => event);
}

function resultOf(
  { heartbeat, state, source, userAgent }: HeartbeatOutcome,
  eventId: string,
  now: number,
): ResultToStore {
  const isFailing = state === 'FAILING';
  const details = { state, source, userAgent, eventId };
  return {
    id: uuidv7(now),
    startedAt: now,
    stoppedAt: now,
    accountId: heartbeat.accountId,
    checkId: heartbeat.checkId,
    jobId: null,
    sequenceId: uuidv7(now),
    checkType: 'HEARTBEAT',
    runLocation: serviceLocation,
    resultType: 'FINAL',
    status: isFailing ? 'failed' : 'passed',
    hasFailures: isFailing,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: 0,
    attempts: 0,
    reason: isFailing ? toJsonb(reasonOf('HEARTBEAT_MISSED', missedMessage(heartbeat))) : null,
    body: toJsonb({ assertions: [], timings: null, details, artifacts: [], log: [] }),
    sslDaysRemaining: null,
  };
}

function missedMessage({ timerFrom, state, periodSeconds, graceSeconds }: LockedHeartbeat): string {
  const since = timerFrom?.toISOString() ?? '';
  const last = state === 'FAILING' ? `the previous failure at ${since}` : `the ping at ${since}`;
  return `no ping arrived within ${periodSeconds} s and a grace period of ${graceSeconds} s after ${last}`;
}
