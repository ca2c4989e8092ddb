import type { ServiceConfig } from '../config/service.ts';
import type { Log } from '../log.ts';
import { createAgenticChecks } from './agentic/run-checks.ts';
import { createAlertTimers } from './alerting/alert-timers.ts';
import { createAlertFollower } from './alerting/follow-alerts.ts';
import { createLocationFollower } from './alerting/follow-locations.ts';
import { handleAnalyses } from './analyses/analyse.ts';
import { analyseNewGroups } from './analyses/queue.ts';
import { createLocationSampling, createQueueWaits, type QueueWaits } from './locations/sampling.ts';
import { createRollupLoop, handleRollups, noteRollups } from './analytics/rollup-work.ts';
import type { ArtifactFiles } from './artifacts/files.ts';
import type { NamedFiles } from './artifacts/named-files.ts';
import { createBackground, type Background } from './engine/background.ts';
import type { Db } from './db/database.ts';
import { createPartitions } from './db/partitions.ts';
import type { Encryption } from './engine/encryption.ts';
import { createErrorFollower } from './error-groups/follow-errors.ts';
import { createResultFilesLoop } from './result-files/result-files-loop.ts';
import { createFinishedRuns } from './results/finished-runs.ts';
import { followRoutes } from './results/route-changes.ts';
import { createHeartbeatTimers } from './heartbeats/timers.ts';
import { triggeredIncidents } from './incidents/triggered.ts';
import { createMaintenanceLoop } from './maintenance/advance.ts';
import { handleMaintenanceEvents } from './maintenance/events.ts';
import { createNotifications } from './notifications/deliver.ts';
import { createMailer } from './notifications/email.ts';
import { createLoop, type Loop } from './engine/loop.ts';
import { createScheduler } from './scheduling/scheduler.ts';
import { createKeeper } from './keeping/keeper.ts';
import { releaseEverything } from './keeping/release.ts';
import { requeueForgottenJobs } from './keeping/take-back.ts';
import { handleSubscriberMails, mailMaintenanceEvents } from './public-pages/subscriber-mails.ts';
import { createGroupRuns } from './triggers/group-runs.ts';

/** The service's background work: due checks, followers of finished runs, queues. */
export type OwnWork = {
  background: Background;
  /** Claims record here how long jobs waited. */
  waits: QueueWaits;
  /** Call it once the service listens. */
  start(): void;
  /** Resolves when no work is in progress. */
  stop(): Promise<void>;
};

/** Another replica that is not restarted yet may still hand checks out. */
const releaseEveryMs = 60_000;

type Deps = {
  db: Db;
  encryption: Encryption;
  config: ServiceConfig;
  /** Storage of run files. */
  files: ArtifactFiles;
  /** Storage of old results. */
  results: NamedFiles;
  log: Log;
  now: () => number;
  /** Jumps of the clock so far, as SteadyClock.adopted. */
  adopted: () => number;
  random: () => number;
  publicUrl: () => string;
};

/**
 * Creates the background work. Any number of replicas may run it, because one replica takes each item. The queues are
 * ready when it resolves.
 */
export async function createOwnWork(deps: Deps): Promise<OwnWork> {
  const { db, config, log, now } = deps;
  const background = createBackground({ db, log });
  handleQueues(background, deps);
  const waits = createQueueWaits({ db, now, log });
  const alerting = { background, now, incidents: triggeredIncidents(background) };
  const onNewErrors = config.analysis.automatic ? analyseNewGroups(background, now) : undefined;
  const followers = [
    createErrorFollower(onNewErrors),
    createAlertFollower(alerting),
    createLocationFollower(alerting),
    noteRollups,
    followRoutes,
  ];
  const loops: Pick<Loop, 'start' | 'stop'>[] = [
    createScheduler({ db, now, adopted: deps.adopted, random: deps.random, log }),
    createKeeping(deps),
    createHeartbeatTimers({ db, now, log }),
    createGroupRuns({ db, now, log }),
    createAgenticChecks({
      db,
      encryption: deps.encryption,
      now,
      log,
      config: config.analysis,
      partitions: createPartitions(db),
      files: deps.files,
    }),
    createMaintenanceLoop({ db, background, now, log }),
    createAlertTimers({ ...alerting, db, log }),
    createFinishedRuns({ db, now, log, followers }),
    createRollupLoop({ db, background, now, log }),
    createResultFilesLoop({
      db,
      files: deps.results,
      now,
      log,
      afterDays: config.resultFiles.afterDays,
      resultDays: config.retention.resultDays,
    }),
    createLocationSampling({ db, now, log }),
    waits.loop,
    background,
  ];
  await background.prepare();
  return {
    background,
    waits,
    start: () => {
      for (const loop of loops) loop.start();
    },
    stop: async () => {
      // The queues stop after the loops that fill them, so they still take the last items.
      for (const loop of loops) await loop.stop();
    },
  };
}

/** Hands checks out to agents; if they may hold none, takes back what they hold. */
function createKeeping({ db, now, log, config }: Deps): Pick<Loop, 'start' | 'stop'> {
  const parts = { db, now, log, partitions: createPartitions(db) };
  if (config.assignments !== false) return createKeeper(parts);
  const since = now();
  return createLoop({
    name: 'keeper',
    log,
    work: async () => {
      await releaseEverything(parts);
      await requeueForgottenJobs(db, { now: now(), since });
      return releaseEveryMs;
    },
  });
}

function handleQueues(background: Background, deps: Deps): void {
  const { db, encryption, config, log, now, publicUrl } = deps;
  handleRollups({ db, background, now, log });
  handleAnalyses(background, { db, encryption, log, now, config: config.analysis });
  const delivery = { db, encryption, log, now, publicUrl };
  createNotifications(background, { ...delivery, config: config.notifications });
  const sendMail = createMailer(config.notifications, publicUrl);
  handleSubscriberMails(background, { ...delivery, sendMail });
  handleMaintenanceEvents(background, { db, now, followers: [mailMaintenanceEvents(background, { now })] });
}
