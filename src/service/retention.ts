import { defaultRetention, type RetentionConfig } from '../config/retention.ts';
import type { Log } from '../log.ts';
import { endLostAnalyses } from './analyses/analyse.ts';
import { deleteOldAgents, trimAgentEvents } from './locations/agent-statements.ts';
import { deleteOldNotifications, failLostNotifications } from './alert-channels/notification-statements.ts';
import { deleteOldAnalyses } from './analyses/statements.ts';
import { deleteOldAlerts } from './alerting/statements.ts';
import { deleteOldSslNotices } from './alerting/ssl-notice-statements.ts';
import type { ArtifactFiles } from './artifacts/files.ts';
import { deleteOldBundles, sweepBundleFiles } from './bundles/bundles.ts';
import { forgetArtifacts, oldArtifacts, settleArtifact, unfinishedArtifacts } from './artifacts/statements.ts';
import { deleteOldSessions } from './sessions/statements.ts';
import type { Db } from './db/database.ts';
import { deleteOldErrorGroups } from './error-groups/statements.ts';
import { deleteOldGroupRuns } from './triggers/group-run-statements.ts';
import { deleteOldHeartbeatEvents } from './heartbeats/statements.ts';
import { deleteAbandonedJobs } from './scheduling/jobs-expiry.ts';
import { deleteOldMaintenances } from './maintenance/occurrence-statements.ts';
import { createPartitions } from './db/partitions.ts';
import { dropRollupPartitions } from './analytics/rollup-statements.ts';
import { createVacuum } from './engine/vacuum.ts';
import { createLoop, type Loop } from './engine/loop.ts';
import { dayMs, hourMs } from '../durations.ts';

/** Late and repeated results of an ended run are recognised for at least so long. */
const finishedJobDays = 1;
const agentEventDays = 30;
const mostAgentEvents = 10_000;
const artifactsAtOnce = 500;
/** An agent gives up after a day: what has not come by then will not come. */
const unfinishedMs = 26 * hourMs;
const sessionsAtOnce = 500;
const alertsAtOnce = 5_000;
const eventsAtOnce = 5_000;
const everyMs = 10 * 60_000;
/** Partitions are made so far ahead that no result has to wait for its own. */
const daysAhead = 2;

/** Uploads that nobody will end: their bytes go, and their rows say so. */
async function dropUnfinished({ db, files, now }: { db: Db; files: ArtifactFiles; now: number }) {
  const before = new Date(now - unfinishedMs);
  for (const id of await unfinishedArtifacts(db, { before, limit: artifactsAtOnce })) {
    await files.remove(id);
    await settleArtifact(db, { id, state: 'lost', now: new Date(now) });
  }
}

/** Makes the partitions of the next days and drops what is old. Harmless when several replicas do it. */
export function createRetention(options: {
  db: Db;
  files?: ArtifactFiles;
  bundles?: ArtifactFiles;
  now: () => number;
  log: Log;
  /** Absent = the defaults. Results are dropped by the day, rollups by the month, never row by row. */
  retention?: RetentionConfig;
}): Loop {
  const { db, files, bundles, now, log, retention = defaultRetention } = options;
  const partitions = createPartitions(db);
  let isFirst = true;
  const cleaning = createLoop({
    name: 'retention',
    log,
    work: async () => {
      const time = now();
      await partitions.make(Array.from({ length: daysAhead + 1 }, (_, day) => time + day * dayMs));
      const dropped = [
        ...(await partitions.drop('check_results', time - retention.resultDays * dayMs)),
        ...(await partitions.drop('finished_jobs', time - finishedJobDays * dayMs)),
        ...(await dropRollupPartitions(db, new Date(time - retention.rollupDays * dayMs))),
      ];
      if (dropped.length > 0) log.info({ dropped }, 'old results dropped');
      await deleteAbandonedJobs(db, { before: new Date(time - finishedJobDays * dayMs), limit: 500 });
      await deleteOldAgents(db, new Date(time - dayMs));
      await trimAgentEvents(db, {
        before: new Date(time - agentEventDays * dayMs),
        most: mostAgentEvents,
        limit: 500,
      });
      const before = new Date(time - retention.resultDays * dayMs);
      const old =
        files === undefined
          ? []
          : await oldArtifacts(db, {
              before: new Date(time - retention.artifactDays * dayMs),
              limit: artifactsAtOnce,
            });
      // The bytes first: a row that has none names nothing, bytes without a row would stay for ever.
      for (const id of old) await files?.remove(id);
      if (old.length > 0) await forgetArtifacts(db, old);
      if (files !== undefined) await dropUnfinished({ db, files, now: time });
      const sessions = await deleteOldSessions(db, { before, limit: sessionsAtOnce });
      await deleteOldGroupRuns(db, { before, limit: sessionsAtOnce });
      const events = await deleteOldHeartbeatEvents(db, { before, limit: eventsAtOnce });
      let isMore = old.length === artifactsAtOnce || sessions === sessionsAtOnce || events === eventsAtOnce;
      const alerts = await deleteOldAlerts(db, { before, limit: alertsAtOnce });
      const notices = await deleteOldSslNotices(db, { before, limit: alertsAtOnce });
      const notifications = await deleteOldNotifications(db, { before, limit: alertsAtOnce });
      await failLostNotifications(db, {
        before: new Date(time - dayMs),
        now: new Date(time),
        limit: alertsAtOnce,
      });
      const grown = { before: new Date(time - retention.rollupDays * dayMs), limit: eventsAtOnce };
      await deleteOldErrorGroups(db, grown);
      await deleteOldAnalyses(db, grown);
      await endLostAnalyses(db, time);
      isMore ||= (await deleteOldMaintenances(db, grown)) === eventsAtOnce;
      isMore ||= notifications === alertsAtOnce;
      isMore ||= alerts === alertsAtOnce || notices === alertsAtOnce;
      if (bundles !== undefined) {
        // Before anything is served: with an embedded database nobody else uploads.
        await sweepBundleFiles({ db, bundles, now }, { isAlone: isFirst && db.kind === 'embedded' });
        isMore = (await deleteOldBundles({ db, bundles, now })) || isMore;
      }
      isFirst = false;
      return isMore ? 0 : everyMs;
    },
  });
  // A server does this itself.
  const loops = db.kind === 'embedded' ? [cleaning, createVacuum({ db, log })] : [cleaning];
  return {
    start: () => {
      for (const loop of loops) loop.start();
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
    tick: async () => {
      for (const loop of loops) await loop.tick();
    },
  };
}
