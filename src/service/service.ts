import type { AddressInfo } from 'node:net';
import type { ServiceConfig } from '../config/service.ts';
import { exitCodes, FatalError, toError } from '../errors.ts';
import type { Log } from '../log.ts';
import { createSignInToken } from './accounts/web-sessions/sessions.ts';
import { createAgentCallLimits } from './agents/call-limits.ts';
import { registerAgentRoutes } from './agents/routes.ts';
import { createWrongKeys } from './http/wrong-keys.ts';
import { buildApp } from './app.ts';
import { openArtifactStore } from './artifacts/store.ts';
import { bootstrap } from './bootstrap.ts';
import { openDatabase } from './db/open-database.ts';
import type { Db } from './db/database.ts';
import { withFiledResults } from './db/query-results.ts';
import { migrate } from './db/migrate.ts';
import { keepingFrom } from './keeping/begin.ts';
import { basesFrom } from './results/bases.ts';
import type { Keys } from './keys-file.ts';
import { createServiceClock, type HostClock } from './engine/service-clock.ts';
import { createOwnWork } from './own-work.ts';
import { createFiledResults } from './result-files/read-results.ts';
import { createRetention } from './retention.ts';
import { systemClock } from '../steady-clock.ts';
import { codeOf } from '../system-errors.ts';

export type RunningService = {
  /** URL of the service, reachable from this machine. */
  url: string;
  accountId: string;
  /** Null if another machine's replica created the keys. */
  keysFile: string | null;
  keys: Keys | null;
  db: Db;
  /** A token for `/sign-in?token=…`, which signs in once with an API key. Null = there is no such key. */
  newSignInToken: (apiKey: string) => Promise<string | null>;
  /** Settles if the service cannot continue because its embedded database has failed. */
  failed: Promise<FatalError>;
  /** Stops scheduling, finishes requests in progress and closes the database. */
  close: () => Promise<void>;
};

type Options = {
  config: ServiceConfig;
  log: Log;
  /** Milliseconds since the epoch; absent = the clock of the database's server or of the host. */
  now?: () => number;
  /** The host's clocks; absent = those of this machine. */
  host?: HostClock;
  /** From 0 to 1. */
  random?: () => number;
};

/**
 * Starts the whole service: database, first account, scheduler, HTTP. It listens when the promise resolves. Throws
 * FatalError (configuration, database in use, port in use).
 */
export async function startService(options: Options): Promise<RunningService> {
  const { config, log } = options;
  // oxlint-disable-next-line eslint/no-restricted-properties -- this is where chance comes in
  const random = options.random ?? Math.random;
  // Closers of the opened parts, in order of opening. They are called in reverse.
  const closers: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  let fail: (error: FatalError) => void = () => undefined;
  const failed = new Promise<FatalError>((resolve) => (fail = resolve));
  try {
    const { databaseUrl, dataDir } = config;
    const database = await openDatabase({
      databaseUrl,
      dataDir,
      log,
      onBroken: (error) => fail(brokenDown(error)),
    });
    closers.push(() => database.close());
    await migrate(database);
    const clock = await createServiceClock({ db: database, host: options.host ?? systemClock, log });
    const { now = clock.now } = options;
    closers.push(async () => clock.loop?.stop());
    clock.loop?.start();
    const { accountId, keysFile, keys, encryption } = await bootstrap({
      db: database,
      config,
      now,
      log,
    });
    const { files, bundles, results, close: closeStore } = await openArtifactStore({ config, log });
    closers.push(closeStore);
    const db = withFiledResults(database, createFiledResults({ files: results, now, log }));
    const from = await keepingFrom(db, config.assignments);
    const wholeUntil = await basesFrom(db);
    if (from !== null && from > now()) {
      log.info({ from: new Date(from).toISOString() }, 'agents hold checks an hour after the upgrade');
    }
    const retention = createRetention({
      db,
      files,
      bundles,
      now,
      log,
      retention: config.retention,
      assignments: from !== null,
    });
    // Today's partitions must exist before the first result arrives. Other clean-ups that fail now (no bucket, tables
    // used by other replicas) are retried.
    await retention
      .tick()
      .catch((error: unknown) => log.warn({ error: toError(error).message }, 'clean-up postponed'));
    // Set as soon as the service listens.
    let localAddress: string | null = null;
    const publicUrl = () => config.publicUrl ?? localAddress ?? `http://${config.host}:${config.port}`;
    const work = await createOwnWork({
      db,
      encryption,
      config,
      files,
      results,
      log,
      now,
      adopted: clock.adopted,
      random,
      publicUrl,
    });
    closers.push(() => work.stop());
    const wrongKeys = config.rateLimit > 0 ? createWrongKeys({ now }) : undefined;
    const app = await buildApp(
      {
        db,
        encryption,
        now,
        files,
        bundles,
        background: work.background,
        publicUrl: config.publicUrl,
        agentImage: config.agentImage,
        canMail: config.notifications.smtpUrl !== null,
        retention: config.retention,
        rateLimit: config.rateLimit,
        wrongKeys,
        publicPages: config.publicPages,
      },
      {
        logger: log,
        trustedProxies: config.publicPages.trustedProxies,
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
              wrongKeys,
              limits: config.rateLimit > 0 ? createAgentCallLimits({ now }) : undefined,
              resultDays: config.retention.resultDays,
              waits: work.waits,
              keepingFrom: from,
              basesFrom: wholeUntil,
            }),
        ],
      },
    );
    closers.push(() => app.close());
    await listen(app, config);
    const url = localUrl(app.server.address() as AddressInfo); // it listens on TCP
    localAddress = url;
    closers.push(() => retention.stop());
    retention.start();
    work.start();
    log.info({ url, database: db.kind }, 'service listening');
    const newSignInToken = (apiKey: string) => createSignInToken(db, { apiKey, now: now() });
    return { url, accountId, keysFile, keys, db, newSignInToken, failed, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const brokenDown = (cause: Error) =>
  new FatalError('DATABASE_BROKEN', `the embedded database has failed (${cause.message})`, {
    exitCode: exitCodes.couldNotRun,
    remedy: 'restart the service',
    cause,
  });

type Listening = { listen: (options: { host: string; port: number }) => Promise<string> };

async function listen(app: Listening, { host, port }: ServiceConfig): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = codeOf(error);
    const reasons: { [code: string]: string } = {
      EADDRINUSE:
        'is in use by another program: stop it, or set SERVICE_PORT to another port (0 = any free port)',
      EACCES: 'may not be used by this user: set SERVICE_PORT to a port above 1023',
      EADDRNOTAVAIL: "is not an address of this machine: set SERVICE_HOST to one of this machine's addresses",
      ENOTFOUND: 'cannot be resolved on this machine: set SERVICE_HOST to an address of this machine',
    };
    const reason = reasons[code ?? ''];
    if (reason === undefined) throw error;
    throw new FatalError('PORT_IN_USE', `${host}:${port} ${reason}`, {
      exitCode: exitCodes.couldNotRun,
      cause: error,
    });
  }
}

/** Returns the URL by which this machine reaches a listening address. */
function localUrl({ address, port, family }: AddressInfo): string {
  if (address === '0.0.0.0' || address === '::') return `http://127.0.0.1:${port}`;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
