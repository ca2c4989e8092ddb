import { defaultRetention, type RetentionConfig } from '../config/retention.ts';
import type { Log } from '../log.ts';
import { endLostAnalyses } from './analyses/analyse.ts';
import { dropEndedSessions } from './accounts/web-sessions/sessions.ts';
import { deleteOldAgents, trimAgentEvents } from './locations/agent-statements.ts';
import { deleteOldNotifications, failLostNotifications } from './alert-channels/notification-statements.ts';
import { deleteOldAnalyses } from './analyses/statements.ts';
import { deleteOldAlerts } from './alerting/statements.ts';
import { deleteOldSslNotices } from './alerting/ssl-notice-statements.ts';
import type { ArtifactFiles } from './artifacts/files.ts';
import { deleteOldBundles, sweepBundleFiles } from './bundles/bundles.ts';
import {
  forgetArtifacts,
  oldArtifacts,
  settleArtifact,
  unfinishedArtifacts,
} from './artifacts/statements.ts';
import { deleteOldSessions } from './sessions/statements.ts';
import type { Db } from './db/database.ts';
import { deleteOldErrorGroups } from './error-groups/statements.ts';
import { deleteOldGroupRuns } from './triggers/group-run-statements.ts';
import { deleteOldHeartbeatEvents } from './heartbeats/statements.ts';
import { deleteAbandonedJobs } from './scheduling/jobs-expiry.ts';
import { deleteOldMaintenances } from './maintenance/occurrence-statements.ts';
import { deleteOldMails } from './public-pages/mail-statements.ts';
import { createPartitions } from './db/partitions.ts';
import { dropRollupPartitions } from './analytics/rollup-statements.ts';
import type { Loop } from './engine/loop.ts';
import { createRetentionLoop, type CleanUp } from './engine/retention.ts';

import { dayMs, hourMs } from '../durations.ts';

/** Late and repeated results of a finished run are recognised for at least this long. */
const finishedJobDays = 1;
/** Agents that hold checks may bring results a day later. */
const finishedKeptDays = 2;
const agentEventDays = 30;
const maxAgentEvents = 10_000;
const artifactsAtOnce = 500;
/** Agents stop retrying an upload after one day, so an older upload will not be completed. */
const unfinishedMs = 26 * hourMs;
const sessionsAtOnce = 500;
const alertsAtOnce = 5_000;
const eventsAtOnce = 5_000;
/** Partitions are created this many days ahead, so that no result waits for its partition. */
const daysAhead = 2;

type Options = {
  db: Db;
  files?: ArtifactFiles;
  bundles?: ArtifactFiles;
  now: () => number;
  log: Log;
  /** Absent = the defaults. Results are dropped by day and rollups by month, never row by row. */
  retention?: RetentionConfig;
  /** Whether agents may hold checks; absent = they may not. */
  assignments?: boolean;
};

/**
 * Creates the loop that makes the partitions of the next days and deletes data past its retention, one subject at a
 * time.
 */
export function createRetention(options: Options): Loop {
  const { db, now, log, retention = defaultRetention } = options;
  return createRetentionLoop({
    db,
    now,
    log,
    cleanUps: [
      partitionsOf(options, retention),
      jobsAndAgents(db),
      artifactsOf(options, retention),
      runsAndAlerts(db, retention),
      longKeptRows(db, retention),
      bundlesOf(options),
    ],
  });
}

/** Creates partitions two days ahead and drops expired ones together with their rows. */
function partitionsOf({ db, log, assignments }: Options, retention: RetentionConfig): CleanUp {
  const partitions = createPartitions(db);
  const jobDays = assignments === true ? finishedKeptDays : finishedJobDays;
  return async (time) => {
    await partitions.make(Array.from({ length: daysAhead + 1 }, (_, day) => time + day * dayMs));
    const dropped = [
      ...(await partitions.drop('check_results', time - retention.resultDays * dayMs)),
      // Later, because a table of results that is in use is dropped another time.
      ...(await partitions.drop('result_bases', time - (retention.resultDays + 1) * dayMs)),
      ...(await partitions.drop('finished_jobs', time - jobDays * dayMs)),
      ...(await dropRollupPartitions(db, new Date(time - retention.rollupDays * dayMs))),
    ];
    if (dropped.length > 0) log.info({ dropped }, 'old results dropped');
    return false;
  };
}

function jobsAndAgents(db: Db): CleanUp {
  return async (time) => {
    await deleteAbandonedJobs(db, { before: new Date(time - finishedJobDays * dayMs), limit: 500 });
    await deleteOldAgents(db, new Date(time - dayMs));
    await dropEndedSessions(db, time);
    await deleteOldMails(db, new Date(time - dayMs));
    const before = new Date(time - agentEventDays * dayMs);
    await trimAgentEvents(db, { before, max: maxAgentEvents, limit: 500 });
    return false;
  };
}

function artifactsOf({ db, files }: Options, retention: RetentionConfig): CleanUp {
  return async (time) => {
    if (files === undefined) return false;
    const before = new Date(time - retention.artifactDays * dayMs);
    const old = await oldArtifacts(db, { before, limit: artifactsAtOnce });
    // Bytes first. A row without bytes is harmless, but bytes without a row would never be deleted.
    for (const id of old) await files.remove(id);
    if (old.length > 0) await forgetArtifacts(db, old);
    await dropUnfinished({ db, files, now: time });
    return old.length === artifactsAtOnce;
  };
}

/** Deletes the bytes of uploads that will not be finished and marks their rows as lost. */
async function dropUnfinished({ db, files, now }: { db: Db; files: ArtifactFiles; now: number }) {
  const before = new Date(now - unfinishedMs);
  for (const id of await unfinishedArtifacts(db, { before, limit: artifactsAtOnce })) {
    await files.remove(id);
    await settleArtifact(db, { id, state: 'lost', now: new Date(now) });
  }
}

/** Deletes rows that are kept as long as results. */
function runsAndAlerts(db: Db, retention: RetentionConfig): CleanUp {
  return async (time) => {
    const before = new Date(time - retention.resultDays * dayMs);
    const sessions = await deleteOldSessions(db, { before, limit: sessionsAtOnce });
    await deleteOldGroupRuns(db, { before, limit: sessionsAtOnce });
    const events = await deleteOldHeartbeatEvents(db, { before, limit: eventsAtOnce });
    const alerts = await deleteOldAlerts(db, { before, limit: alertsAtOnce });
    const notices = await deleteOldSslNotices(db, { before, limit: alertsAtOnce });
    const notifications = await deleteOldNotifications(db, { before, limit: alertsAtOnce });
    const lost = { before: new Date(time - dayMs), now: new Date(time), limit: alertsAtOnce };
    await failLostNotifications(db, lost);
    return (
      sessions === sessionsAtOnce ||
      events === eventsAtOnce ||
      [alerts, notices, notifications].includes(alertsAtOnce)
    );
  };
}

/** Deletes rows that are kept as long as rollups. */
function longKeptRows(db: Db, retention: RetentionConfig): CleanUp {
  return async (time) => {
    const old = { before: new Date(time - retention.rollupDays * dayMs), limit: eventsAtOnce };
    await deleteOldErrorGroups(db, old);
    await deleteOldAnalyses(db, old);
    await endLostAnalyses(db, time);
    return (await deleteOldMaintenances(db, old)) === eventsAtOnce;
  };
}

function bundlesOf({ db, bundles, now }: Options): CleanUp {
  let isFirst = true;
  return async () => {
    if (bundles === undefined) return false;
    // During the first run no request is served yet, and an embedded database has only this process. No upload can be
    // in progress.
    await sweepBundleFiles({ db, bundles, now }, { isOnlyUser: isFirst && db.kind === 'embedded' });
    isFirst = false;
    return deleteOldBundles({ db, bundles, now });
  };
}
