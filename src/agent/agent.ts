import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { AgentConfig } from '../config.ts';
import { exitCodes, FatalError, toError } from '../errors.ts';
import type { Log } from '../log.ts';
import { protocolLimits } from '../protocol/agent-calls.ts';
import {
  jobTypes,
  laneOf,
  lanes as allLanes,
  probeTypes,
  scriptTypes,
  type JobType,
  type Lane,
} from '../protocol/check-types.ts';
import { createScrubber } from '../secrets/scrubber.ts';
import { createArtifactDelivery } from './artifact-delivery.ts';
import { pause } from './backoff.ts';
import { createFaultEvents } from './fault-events.ts';
import { silentOwnerMs } from './folder-owner.ts';
import { createGuards } from './guards.ts';
import { startHealthServer, type AgentState } from './health.ts';
import { createIntake, type RunningTools } from './intake.ts';
import { createLanes } from './lanes.ts';
import { createLeases } from './leases.ts';
import { browserSlots, machine } from './machine.ts';
import { createMetrics } from './metrics.ts';
import { Outbox, outboxLimits, type OutboxLimits } from './outbox.ts';
import { ownSecrets } from './own-secrets.ts';
import { createPoller, type Poller } from './poller.ts';
import { createResultSender } from './result-sender.ts';
import { createScriptHost, packageRuntimes } from './script-host.ts';
import { createServiceClient } from './service-client.ts';
import { createSession } from './session.ts';
import { createTransport, readAuthorities } from './transport.ts';
import { createTurnWatch } from './turn-watch.ts';
import { createWorkDirs } from './work-dir.ts';

/** The daemon: claims jobs of its private location, runs them, and brings the results to the service. */
export type Agent = {
  /** Resolves when the health port is open and the loops turn; the service may still be away. FatalError otherwise. */
  start: () => Promise<void>;
  /** Where probes and metrics are; known after `start`. */
  readonly healthUrl: string;
  /** Resolves, if ever, with why the agent cannot go on; `stop` it then. */
  readonly failed: Promise<FatalError>;
  /**
   * Ends in order: takes nothing more, lets running jobs finish within the grace period, hands back the others, sends
   * what is in the outbox. `cut` counts jobs that had to be aborted.
   */
  drain: () => Promise<{ cut: number }>;
  /** Shortens a drain: running jobs are aborted and handed back now. */
  cancel: () => void;
  /** Ends at once. Results that were not sent stay in the outbox. */
  stop: () => Promise<void>;
};

export type AgentOptions = {
  config: AgentConfig;
  log: Log;
  version: string;
  /** Milliseconds since the epoch. */
  now?: () => number;
  /** From 0 to 1. */
  random?: () => number;
  outboxLimits?: OutboxLimits;
  /** The folder whose subfolders are runtimes; the package's own unless a test names another. */
  runtimesFolder?: string;
  /** How often runtimes are looked for, in milliseconds: one may be installed while the agent runs. */
  runtimesEveryMs?: number;
};

const unsettledMs = 10_000;
const lastSendMs = 3000;
const runtimesEveryMs = 5000;
/** Renewals carry at most this many leases, so no more jobs are held at a time. */
const mostHeld = 10_000;

export function createAgent(options: AgentOptions): Agent {
  let starting: ReturnType<typeof startParts> | null = null;
  let healthUrl = '';
  let fail: (error: FatalError) => void = () => undefined;
  const failed = new Promise<FatalError>((resolve) => (fail = resolve));
  // Whoever ends the agent while it starts waits for the start: half an agent can't be ended in order.
  const started = () => starting?.catch(() => null) ?? null;
  return {
    start: async () => {
      starting = startParts(options, fail);
      ({ healthUrl } = await starting);
    },
    get healthUrl() {
      return healthUrl;
    },
    failed,
    drain: async () => (await (await started())?.drain()) ?? { cut: 0 },
    cancel: () => void started()?.then((parts) => parts?.cancel()),
    stop: async () => (await started())?.stop(),
  };
}

/** Everything the agent is made of, in the order in which it comes to life. */
async function startParts(options: AgentOptions, fail: (error: FatalError) => void) {
  // eslint-disable-next-line no-restricted-properties -- this is where chance comes from
  const { config, log, version, now = Date.now, random = Math.random } = options;
  const instanceId = randomUUID();
  const metrics = createMetrics();
  const stopped = new AbortController();
  let state: AgentState = 'starting';

  const secrets = ownSecrets(config);
  const scrubber = createScrubber(secrets);
  for (const warning of scrubber.warnings) log.warn(warning);

  // Targets are to trust them as well, so a file that is none must not wait for an https service to be noticed.
  if (config.extraCaFile !== null) readAuthorities(config.extraCaFile);
  const transport = await createTransport({
    serviceUrl: config.serviceUrl,
    proxy: config.proxy,
    extraCaFile: config.extraCaFile,
    headers: {
      authorization: `Bearer ${config.apiKey.reveal()}`,
      'user-agent': `private-location-agent/${version}`,
      accept: 'application/json',
    },
  });
  const client = createServiceClient({ transport, serviceUrl: config.serviceUrl, now, onKeyRefused: fail });

  const slots = slotsOf(config);
  const host = createScriptHost({
    runtimesFolder: options.runtimesFolder ?? packageRuntimes(),
    dataFolder: config.dataDir,
    slots: slots.browser,
    extraCaFile: config.extraCaFile,
    warn: (line) => log.warn(line),
  });
  await host.look();
  const types = () => (host.runtimes().length > 0 ? [...probeTypes, ...scriptTypes] : [...probeTypes]);
  const lanes = createLanes(lanesOf(slots, types()));
  const workDirs = createWorkDirs(join(config.dataDir, 'runs'), instanceId);
  const leases = createLeases({ client, log, metrics, random });
  const helloWatch = createTurnWatch();
  const watches = [helloWatch];
  const session = createSession({
    client,
    log,
    version,
    now,
    random,
    instanceId,
    watch: helloWatch,
    abilities: () => ({ checkTypes: types(), runtimes: host.runtimes(), lanes: lanes.slots }),
    stopped: stopped.signal,
    onAccepted: (hello) => {
      if (state === 'starting') state = 'running';
      leases.begin(hello);
    },
  });

  const events = config.externalObservability
    ? createFaultEvents({ client, session, version, scrub: scrubber.text, now })
    : null;
  const fault = (error: Error, message: string) => {
    metrics.faults += 1;
    log.error({ err: error }, message);
    events?.report(error, message);
  };

  const limits = options.outboxLimits ?? outboxLimits;
  const folder = join(config.dataDir, 'outbox');
  const outbox = await Outbox.open({ folder, instanceId, log, metrics, fault, now, limits }).catch(
    (error: unknown) => {
      throw uselessDataDir(config.dataDir, error);
    },
  );
  const sender = createResultSender({ outbox, client, session, log, metrics, fault, random });
  const guards = createGuards({
    dataDir: config.dataDir,
    memoryLimitBytes: machine().memoryBytes,
    serviceFailingSince: client.failingSince,
    clockSkewMs: session.clockSkewMs,
    outbox: () => outbox.status(),
    outboxCapBytes: limits.capBytes,
    outboxMemoryBytes: limits.memoryBytes,
    now,
  });

  const common = { client, session, log, metrics, fault, now, random, instanceId };
  const { dataDir, serviceUrl } = config;
  const artifacts = createArtifactDelivery({ ...common, dataDir, serviceUrl, transport, onKeyRefused: fail });

  let closeNetwork = () => {};
  /** What only an agent with work needs: the schemas, the executors, the network and the grading. */
  const load = async (): Promise<RunningTools> => {
    const [
      { parseJob },
      { runJob, reportInvalid },
      { loadExecutors },
      { createNetwork },
      { jobScrubbers },
      { warmUp },
    ] = await Promise.all([
      import('./parse-job.ts'),
      import('./run-job.ts'),
      import('./load-executors.ts'),
      import('../executors/system-network.ts'),
      import('./own-secrets.ts'),
      import('./warm-up.ts'),
    ]);
    const network = createNetwork({ useOsDnsResolver: config.useOsDnsResolver });
    closeNetwork = network.close;
    const executorOf = await loadExecutors(host.carriesScripts ? jobTypes : probeTypes, fault);
    await warmUp(probeTypes, executorOf, { network, now });
    return {
      parseJob,
      runJob,
      reportInvalid,
      parts: {
        version,
        lanes,
        leases,
        metrics,
        executorOf,
        network,
        ...(host.carriesScripts
          ? {
              forScripts: { scripts: host.scripts, workDirs, keepArtifacts: artifacts.keep },
              detectSecrets: config.detectSecrets,
            }
          : {}),
        fault,
        now,
        scrubberOf: jobScrubbers(secrets, scrubber),
        deliver: (json) => outbox.add(json),
        resultBytes: () =>
          Math.min(session.current()?.limits.resultBytes ?? Infinity, protocolLimits.resultBytes),
        clockSkewMs: () => substantial(session.clockSkewMs()),
      },
    };
  };
  const intake = createIntake({ load, available: types, leases, log, metrics, fault });

  const pollers: Poller[] = [];
  const addPoller = (lane: Lane): Poller => {
    const watch = createTurnWatch();
    watches.push(watch);
    const blocked = () => guards.stopClaiming() || leases.size() >= mostHeld;
    const poller = createPoller({
      lane,
      lanes,
      client,
      session,
      log,
      metrics,
      watch,
      random,
      blocked,
      accept: intake.accept,
    });
    pollers.push(poller);
    return poller;
  };
  for (const lane of ownLanes(lanes.slots)) addPoller(lane);

  /** Announces what runtimes that have come or gone make of the agent. */
  const lookForRuntimes = async () => {
    if (!(await host.look()) || intake.isClosed()) return;
    log.info({ runtimes: host.runtimes() }, 'runtimes have changed');
    const isNew = lanes.slots.browser === undefined && host.runtimes().length > 0;
    if (isNew) lanes.open('browser', slots.browser);
    await session.renew();
    if (isNew && !intake.isClosed()) addPoller('browser').start();
  };
  let runtimesTimer: NodeJS.Timeout | undefined;
  const watchRuntimes = () => {
    // A look that was under way when the agent began to end must not start the next.
    if (intake.isClosed()) return;
    const everyMs = options.runtimesEveryMs ?? runtimesEveryMs;
    runtimesTimer = setTimeout(() => void lookForRuntimes().finally(watchRuntimes), everyMs);
    runtimesTimer.unref();
  };

  let metricsPage: (() => Promise<{ contentType: string; body: string }>) | null = null;
  const health = await startHealthServer({
    port: config.healthPort,
    view: () => ({
      state,
      version,
      guards: guards.raised(),
      clockSkewMs: session.clockSkewMs(),
      alive: !watches.some((watch) => watch.isStuck()),
    }),
    metricsPage: async () => {
      if (metricsPage === null) {
        const { createMetricsPage } = await import('./metrics-page.ts');
        metricsPage ??= createMetricsPage({ metrics, lanes, leases, outbox, guards, session, version, now });
      }
      return metricsPage();
    },
  }).catch(async (error: unknown) => {
    await outbox.close();
    transport.close();
    throw error;
  });

  guards.start();
  sender.start();
  for (const poller of pollers) poller.start();
  if (host.carriesScripts) {
    await workDirs.removeDead();
    // An agent of another container counts as dead after a silence only.
    setTimeout(() => void workDirs.removeDead(), 2 * silentOwnerMs).unref();
    watchRuntimes();
    await artifacts.start();
  }
  const started = { healthUrl: health.url, lanes: lanes.slots, checkTypes: types(), version };
  log.info({ ...started, runtimes: host.runtimes() }, 'agent started');

  const cancelled = new AbortController();
  let stopping: Promise<void> | null = null;

  const stop = (): Promise<void> => (stopping ??= stopParts());
  const stopParts = async () => {
    state = 'draining';
    intake.close();
    clearTimeout(runtimesTimer);
    stopped.abort(new Error('the agent stops'));
    for (const poller of pollers) poller.cut();
    leases.cancel();
    await atMost(leases.whenIdle(), unsettledMs);
    leases.stop();
    await atMost(host.scripts.close(), unsettledMs);
    await workDirs.close();
    await sender.stop();
    await atMost(artifacts.stop(), unsettledMs);
    await outbox.close();
    events?.stop();
    guards.stop();
    closeNetwork();
    client.close();
    await health.close();
    log.info('agent ended');
  };

  const drain = async (): Promise<{ cut: number }> => {
    const graceEnd = performance.now() + config.shutdownGraceSeconds * 1000;
    state = 'draining';
    log.info({ jobs: leases.size(), graceSeconds: config.shutdownGraceSeconds }, 'draining');
    intake.close();
    const loops = pollers.map((poller) => poller.finish());
    leases.drain();
    await Promise.race([leases.whenIdle(), pause(graceEnd - performance.now(), cancelled.signal)]);
    const cut = leases.cancel();
    if (cut > 0) log.warn({ jobs: cut }, 'jobs cut off: they are handed back');
    await atMost(leases.whenIdle(), unsettledMs);
    // A claim that stood open meanwhile may have brought jobs, which go back.
    for (const poller of pollers) poller.cut();
    await Promise.all(loops);
    await atMost(leases.whenIdle(), unsettledMs);
    await sender.flush(Math.max(graceEnd, performance.now() + lastSendMs), cancelled.signal);
    if (!outbox.isEmpty()) log.warn({ ...outbox.status() }, 'results not delivered: they stay in the outbox');
    await artifacts.flush(graceEnd, cancelled.signal);
    const { count } = artifacts.status();
    if (count > 0) log.warn({ artifacts: count }, 'artifacts not delivered: they stay on disk');
    await stop();
    return { cut };
  };

  let draining: Promise<{ cut: number }> | null = null;
  return {
    healthUrl: health.url,
    drain: () => (draining ??= drain()),
    cancel: () => cancelled.abort(),
    stop,
  };
}

/** Why the agent cannot live in its data directory. */
function uselessDataDir(dataDir: string, error: unknown): FatalError {
  const { code, message } = toError(error) as NodeJS.ErrnoException; // the file system's errors have a code
  const text = `AGENT_DATA_DIR: cannot write in ${dataDir} (${code ?? message}): name a folder that this user may write in`;
  return new FatalError('CONFIGURATION', text, { exitCode: exitCodes.configuration, cause: error });
}

/** Slots of each lane, whether this agent has a check type for it or not. */
function slotsOf(config: AgentConfig): { [L in Lane]: number } {
  return {
    uptime: config.uptimeConcurrency,
    browser: config.jobConcurrency ?? browserSlots(machine()),
    suite: config.suiteConcurrency,
  };
}

/** The lanes that have one of these check types. */
function lanesOf(all: { [L in Lane]: number }, types: readonly JobType[]): { [L in Lane]?: number } {
  const used = new Set(types.map((type) => laneOf[type]));
  return Object.fromEntries(allLanes.filter((lane) => used.has(lane)).map((lane) => [lane, all[lane]]));
}

function ownLanes(slots: { readonly [L in Lane]?: number }): Lane[] {
  return allLanes.filter((lane) => slots[lane] !== undefined);
}

/** A difference that the journey of hello may explain is none. */
function substantial(skewMs: number | null): number {
  return skewMs === null || Math.abs(skewMs) < 1000 ? 0 : skewMs;
}

async function atMost(work: Promise<void>, milliseconds: number): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, pause(milliseconds, done.signal)]);
  done.abort();
}
