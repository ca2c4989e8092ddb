import type { AddressInfo } from 'node:net';
import type { ServiceConfig } from '../config/service.ts';
import { exitCodes, FatalError, toError } from '../errors.ts';
import type { Log } from '../log.ts';
import { createLocationSampling, createQueueWaits } from './analytics/location-sampling.ts';
import { createRollupLoop, handleRollups, noteRollups } from './analytics/rollup-work.ts';
import { createAgenticSchedule, handleAgenticRuns } from './agentic/run-checks.ts';
import { handleAnalyses } from './analyses/analyse.ts';
import { analyseNewGroups } from './analyses/queue.ts';
import { registerAgentRoutes } from './agent-routes.ts';
import { createAlertTimers } from './alerting/alert-timers.ts';
import { createAlertFollower } from './alerting/follow-alerts.ts';
import { buildApp } from './app.ts';
import { openArtifactStore } from './artifact-store.ts';
import { bootstrap } from './bootstrap.ts';
import { createBackground } from './background.ts';
import { createErrorFollower } from './error-groups/follow-errors.ts';
import { createFinishedRuns } from './finished-runs.ts';
import { openDatabase } from './db/open-database.ts';
import type { Db } from './db/database.ts';
import { migrate } from './db/migrate.ts';
import { createHeartbeatTimers } from './heartbeats/timers.ts';
import { triggeredIncidents } from './incidents/triggered.ts';
import type { Keys } from './keys-file.ts';
import { createMaintenanceLoop } from './maintenance/advance.ts';
import { handleMaintenanceEvents } from './maintenance/events.ts';
import { createNotifications } from './notifications/deliver.ts';
import { createMailer } from './notifications/email.ts';
import { createRetention } from './retention.ts';
import { createScheduler } from './scheduler.ts';
import { handleSubscriberMails, tellOfMaintenances } from './status-pages/subscriber-mails.ts';
import { createGroupRuns } from './triggers/group-runs.ts';

export type RunningService = {
  /** Where it listens, reachable from this machine. */
  url: string;
  accountId: string;
  /** Null on a machine whose replica did not make the keys. */
  keysFile: string | null;
  keys: Keys | null;
  db: Db;
  /** Stops scheduling, answers what is under way, closes the database. */
  close: () => Promise<void>;
};

type Options = {
  config: ServiceConfig;
  log: Log;
  /** Milliseconds since the epoch. */
  now?: () => number;
  /** From 0 to 1. */
  random?: () => number;
};

/**
 * The whole service: database, first account, scheduler, HTTP. Listens when it resolves. Throws FatalError
 * (configuration, database in use, port in use).
 */
export async function startService(options: Options): Promise<RunningService> {
  const { config, log, now = Date.now } = options;
  // oxlint-disable-next-line eslint/no-restricted-properties -- this is where chance comes in
  const random = options.random ?? Math.random;
  // What was opened, in order; closed in reverse.
  const closers: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const db = await openDatabase({ databaseUrl: config.databaseUrl, dataDir: config.dataDir, log });
    closers.push(() => db.close());
    await migrate(db);
    const { accountId, keysFile, keys, encryption } = await bootstrap({ db, config, now, log });
    const { files, bundles, close: closeStore } = await openArtifactStore({ config, log });
    closers.push(closeStore);
    const retention = createRetention({ db, files, bundles, now, log, retention: config.retention });
    // The partitions of today exist before the first result comes. What else can't be cleared up now (the bucket is away, the
    // tables are in use by other replicas) is tried again.
    await retention
      .tick()
      .catch((error: unknown) => log.warn({ error: toError(error).message }, 'clearing up is put off'));
    const background = createBackground({ db, log });
    const alerting = { background, now, incidents: triggeredIncidents(background) };
    const onNewErrors = config.analysis.automatic ? analyseNewGroups(background, now) : undefined;
    const finishedRuns = createFinishedRuns({
      db,
      now,
      log,
      followers: [createErrorFollower(onNewErrors), createAlertFollower(alerting), noteRollups],
    });
    handleRollups({ db, background, now });
    handleAnalyses(background, { db, encryption, log, now, config: config.analysis });
    handleAgenticRuns(background, { db, encryption, now, config: config.analysis });
    // Known when it listens.
    let localAddress: string | null = null;
    const publicUrl = () => config.publicUrl ?? localAddress ?? `http://${config.host}:${config.port}`;
    createNotifications(background, {
      db,
      encryption,
      log,
      now,
      config: config.notifications,
      publicUrl,
    });
    const sendMail = createMailer(config.notifications, publicUrl);
    handleSubscriberMails(background, { db, encryption, log, now, sendMail, publicUrl });
    handleMaintenanceEvents(background, { db, now, followers: [tellOfMaintenances(background)] });
    await background.prepare();
    closers.push(() => background.stop());
    const waits = createQueueWaits({ db, now, log });
    const app = await buildApp(
      {
        db,
        encryption,
        now,
        files,
        bundles,
        background,
        publicUrl: config.publicUrl,
        canMail: config.notifications.smtpUrl !== null,
        retention: config.retention,
        rateLimit: config.rateLimit,
      },
      {
        logger: log,
        plugins: [
          (instance) =>
            registerAgentRoutes(instance, {
              db,
              encryption,
              now,
              random,
              log,
              files,
              bundles,
              resultDays: config.retention.resultDays,
              waits,
            }),
        ],
      },
    );
    closers.push(() => app.close());
    const scheduler = createScheduler({ db, now, random, log });
    await listen(app, config);
    localAddress = localUrl(app.server.address() as AddressInfo); // it listens on TCP
    closers.push(() => scheduler.stop());
    scheduler.start();
    const heartbeats = createHeartbeatTimers({ db, now, log });
    closers.push(() => heartbeats.stop());
    heartbeats.start();
    const groupRuns = createGroupRuns({ db, now, log });
    closers.push(() => groupRuns.stop());
    groupRuns.start();
    closers.push(() => retention.stop());
    retention.start();
    const rollups = createRollupLoop({ db, background, now, log });
    closers.push(() => rollups.stop());
    rollups.start();
    for (const loop of [createLocationSampling({ db, now, log }), waits.loop]) {
      closers.push(() => loop.stop());
      loop.start();
    }
    const maintenance = createMaintenanceLoop({ db, background, now, log });
    closers.push(() => maintenance.stop());
    maintenance.start();
    const alertTimers = createAlertTimers({ ...alerting, db, log });
    closers.push(() => alertTimers.stop());
    alertTimers.start();
    background.start();
    const agentic = createAgenticSchedule({ db, background, now, log });
    closers.push(() => agentic.stop());
    agentic.start();
    closers.push(() => finishedRuns.stop());
    finishedRuns.start();
    const url = localAddress;
    log.info({ url, database: db.kind }, 'service listens');
    return { url, accountId, keysFile, keys, db, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Listening = { listen: (options: { host: string; port: number }) => Promise<string> };

async function listen(app: Listening, { host, port }: ServiceConfig): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // net throws ErrnoException
    const reasons: { [code: string]: string } = {
      EADDRINUSE:
        'is in use by another program: stop it, or set SERVICE_PORT to another one (0 = any free one)',
      EACCES: 'may not be used by this user: set SERVICE_PORT to one above 1023',
      EADDRNOTAVAIL: 'is not an address of this machine: set SERVICE_HOST to one that is',
      ENOTFOUND: 'is not a host name that is known here: set SERVICE_HOST to an address of this machine',
    };
    const reason = reasons[code ?? ''];
    if (reason === undefined) throw error;
    throw new FatalError('PORT_IN_USE', `${host}:${port} ${reason}`, {
      exitCode: exitCodes.couldNotRun,
      cause: error,
    });
  }
}

/** The URL by which this machine reaches a listening address. */
function localUrl({ address, port, family }: AddressInfo): string {
  if (address === '0.0.0.0' || address === '::') return `http://127.0.0.1:${port}`;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
