import type { CheckType } from '../../../src/protocol/check-types.ts';
import { certificateExpiryOf } from '../../../src/protocol/certificate-expiry.ts';
import { createAlertTimers } from '../../../src/service/alerting/alert-timers.ts';
import { createAlertFollower } from '../../../src/service/alerting/follow-alerts.ts';
import type { AlertIncidents } from '../../../src/service/alerting/raise-alerts.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { queueFinishedRuns } from '../../../src/service/results/finished-run-statements.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import {
  insertResults,
  updateStatuses,
  type ResultToStore,
} from '../../../src/service/results/store-result.ts';
import { toJsonb } from '../../../src/service/db/jsonb.ts';
import { createFinishedRuns, type RunFollower } from '../../../src/service/results/finished-runs.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { notificationsQueue } from '../../../src/service/alert-channels/queue.ts';
import { silent, type Clock } from './agent-service.ts';

/** Runs as agents would have ended them, and replicas that follow them: alerts without anything that runs checks. */

export type Status = ResultToStore['status'];
export type Part = {
  status: Status;
  location?: string;
  /** Of the result; more than what is given here is not needed. */
  details?: Record<string, unknown>;
  message?: string;
  /** Of the reason; TIMEOUT if absent. */
  code?: string;
};
export type Run = {
  checkId: string;
  accountId: string;
  at: number;
  runId?: string;
  isTest?: boolean;
  parts: Part[];
  checkType?: CheckType;
};

/** Stores the results of runs in one transaction; the ids of their results. */
export async function endRuns(db: Db, runs: readonly Run[]): Promise<string[]> {
  const partitions = createPartitions(db);
  const runIds = new Map<string, string>();
  const results = runs.flatMap(
    ({ checkId, accountId, at, runId = uuidv7(at), isTest = false, parts, checkType = 'URL' }) =>
      parts.map(({ status, location = 'here', details = {}, message, code = 'TIMEOUT' }): ResultToStore => {
        const id = uuidv7(at);
        runIds.set(id, runId);
        return {
          id,
          startedAt: at,
          stoppedAt: at + 20,
          accountId,
          checkId,
          jobId: null,
          sequenceId: uuidv7(at),
          isTest,
          checkType,
          runLocation: location,
          resultType: 'FINAL',
          status,
          hasFailures: status === 'failed',
          hasErrors: status === 'errored',
          isDegraded: status === 'degraded',
          overMaxResponseTime: false,
          isCancelled: false,
          responseTime: 12.5,
          attempts: 0,
          reason: message === undefined ? null : toJsonb({ code, owner: 'target', message }),
          body: toJsonb({ assertions: [], timings: null, details, artifacts: [], log: [] }),
          sslDaysRemaining: certificateExpiryOf(details)?.daysRemaining ?? null,
        };
      }),
  );
  await partitions.make(results.map(({ startedAt }) => startedAt));
  await db.tx(async (tx) => {
    await insertResults(tx, results, new Date(runs[0]?.at ?? 0));
    await updateStatuses(tx, results, new Date(runs[0]?.at ?? 0));
    await queueFinishedRuns(tx, results, ({ id }) => runIds.get(id) ?? id);
  });
  return results.map(({ id }) => id);
}

/** Background work with the queue of notifications, without delivery. */
export async function idleBackground(db: Db): Promise<Background> {
  const background = createBackground({ db, log: silent });
  const retries = { retryLimit: 0, retryDelaySeconds: 0, expireSeconds: 60, concurrency: 1 };
  background.handle({ name: notificationsQueue, ...retries }, async () => undefined);
  await background.prepare();
  return background;
}

/** The parts of a replica that handle alerts: `follow` and `time` do the due work once. */
export function createAlertReplica(
  db: Db,
  {
    background,
    clock,
    incidents = null,
    after = async () => undefined,
  }: {
    background: Background;
    clock: Clock;
    incidents?: AlertIncidents | null;
    /** Follows the same runs after alerts have. */
    after?: RunFollower;
  },
) {
  const { now } = clock;
  const deps = { db, background, incidents, now, log: silent };
  const runs = createFinishedRuns({ db, followers: [createAlertFollower(deps), after], now, log: silent });
  const timers = createAlertTimers(deps);
  return { follow: () => runs.tick(), time: () => timers.tick() };
}

export async function addChannel(
  db: Db,
  {
    accountId,
    checkId = null,
    groupId = null,
    flags = 'FR',
    activated = true,
    ssl = null,
  }: {
    accountId: string;
    checkId?: string | null;
    groupId?: number | null;
    /** F, R and D: the kinds of alerts that the channel gets. */
    flags?: string;
    activated?: boolean;
    /** Threshold of its SSL alerts; null = none. */
    ssl?: number | null;
  },
): Promise<number> {
  const rows = await db.query<{ id: number }>(
    `insert into alert_channels (account_id, type, config, send_failure, send_recovery, send_degraded, ssl_expiry,
       ssl_expiry_threshold) values ($1, 'EMAIL', '{"address": "a@example.com"}', $2, $3, $4, $5, $6) returning id`,
    [accountId, flags.includes('F'), flags.includes('R'), flags.includes('D'), ssl !== null, ssl ?? 30],
  );
  const id = rows[0]?.id ?? 0;
  await db.query(
    'insert into alert_subscriptions (channel_id, check_id, group_id, activated) values ($1, $2, $3, $4)',
    [id, checkId, groupId, activated],
  );
  return id;
}

/** The alerts of a check, oldest first: the code without ALERT_, notes, and the notified channels. */
export async function alertsOf(db: Db, checkId: string): Promise<string[]> {
  const rows = await db.query<{
    alertType: string;
    silenced: boolean;
    reminder: number;
    channels: number[] | null;
  }>(
    `select a.alert_type as "alertType", a.silenced, a.reminder_sequence as reminder,
       (select array_agg(n.channel_id::integer order by n.channel_id) from alert_notifications n where n.alert_id = a.id) as channels
     from alerts a where a.check_id = $1 order by a.created_at, a.id`,
    [checkId],
  );
  return rows.map(({ alertType, silenced, reminder, channels }) =>
    [
      alertType.replace('ALERT_', ''),
      ...(reminder > 0 ? [`reminder ${reminder}`] : []),
      ...(silenced ? ['silenced'] : []),
      ...(channels === null ? [] : [`to ${channels.join(' ')}`]),
    ].join(' '),
  );
}

/** A window that silences alerts of checks with one of these tags. */
export async function addWindow(
  db: Db,
  { accountId, tags, from, to }: { accountId: string; tags: string[]; from: number; to: number },
): Promise<void> {
  await db.query(
    `insert into maintenance_windows (account_id, name, starts_at, ends_at, over_at, timezone, pause_all_checks, tags,
       silence_all_alerts, silence_alerts_tags, status_page_visibility, steps_done_until)
     values ($1, 'Window', $2, $3, $3, 'UTC', false, '{}', false, $4, '{"enabled": false}', $2)`,
    [accountId, new Date(from), new Date(to), tags],
  );
}
