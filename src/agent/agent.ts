import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { AgentConfig } from '../config.ts';
import { toError, type FatalError } from '../errors.ts';
import type { Log } from '../log.ts';
import { createSteadyClock } from '../steady-clock.ts';
import type { Scrubber } from '../secrets/scrubber/scrubber.ts';
import { createScrubberOffThread } from '../secrets/scrubber/table-thread.ts';
import { createAbilities, slotsOf } from './abilities.ts';
import { createAgentEnd, type AgentEnd } from './agent-end.ts';
import {
  createAgentGuards,
  createAgentKeeping,
  createHost,
  createLazyMetricsPage,
  openProbe,
  openTransport,
  startScriptParts,
} from './agent-parts.ts';
import { createArtifactDelivery } from './artifacts/delivery.ts';
import { createClaiming } from './claiming/claiming.ts';
import { createCondition } from './metrics/condition.ts';
import { unusableDataDirError } from './folders/data-dir.ts';
import { DiskDeadline } from './folders/disk-deadline.ts';
import { createFaultEvents } from './link/fault-events.ts';
import { repairModes } from './folders/repair-modes.ts';
import { startHealthServer, type AgentState } from './metrics/health.ts';
import { createIntake } from './claiming/intake.ts';
import { agentJobTypes } from './job-types/table.ts';
import { createLeases } from './run/leases.ts';
import { createLoading } from './claiming/loading.ts';
import { createMetrics } from './metrics/counters.ts';
import { outboxLimits, type OutboxLimits } from './outbox/options.ts';
import { Outbox } from './outbox/outbox.ts';
import { ownSecrets } from './scrubbing/own-secrets.ts';
import { createResultSender } from './outbox/result-sender.ts';
import { createToolLoader, openOriginsOf } from './running-tools.ts';
import { createScriptReach } from './script-reach.ts';
import { createRuntimeWatch } from './runtime-watch.ts';
import { createServiceClient } from './link/client.ts';
import { createSession } from './link/session.ts';
import { createTurnWatch } from './metrics/turn-watch.ts';
import { createWorkDirs } from './folders/work-dir.ts';

/** The daemon: claims jobs of its private location, runs them and sends the results to the service. */
export type Agent = AgentEnd & {
  /**
   * Resolves when the health port is open and the loops are running, even if the service is unreachable. Rejects with
   * FatalError otherwise.
   */
  start: () => Promise<void>;
  /** Address of the probes and metrics; known after `start`. */
  readonly healthUrl: string;
  /** False if a loop of the agent is stuck. */
  isAlive: () => boolean;
  /** Resolves with the reason if the agent cannot continue; call `stop` then. */
  readonly failed: Promise<FatalError>;
};

export type AgentOptions = {
  config: AgentConfig;
  log: Log;
  version: string;
  /** Milliseconds since the epoch. */
  now?: () => number;
  /** Returns a number from 0 to 1. */
  random?: () => number;
  /** For the agent's own secrets; absent = the agent makes it. */
  scrubber?: Scrubber;
  outboxLimits?: OutboxLimits;
  /** The folder with one subfolder per runtime; the package's own unless a test names another. */
  runtimesFolder?: string;
  /** The folder of the suite engines; the package's own unless a test names another. */
  enginesFolder?: string;
  /**
   * How often the agent searches for runtimes and engines, in milliseconds. One may be installed while the agent
   * runs.
   */
  runtimesEveryMs?: number;
  /** How often it tries to load what runs need after a failure, in milliseconds. */
  loadEveryMs?: number;
};

/** Maximum number of jobs that the agent holds at a time. One renewal cannot carry more leases. */
const maxHeldJobs = 10_000;

export function createAgent(options: AgentOptions): Agent {
  let starting: ReturnType<typeof startParts> | null = null;
  let healthUrl = '';
  let isAlive = () => true;
  let fail: (error: FatalError) => void = () => undefined;
  const failed = new Promise<FatalError>((resolve) => (fail = resolve));
  // Wait for the start to finish: a half-started agent cannot be stopped in order.
  const started = () => starting?.catch(() => null) ?? null;
  return {
    start: async () => {
      starting = startParts(options, fail);
      ({ healthUrl, isAlive } = await starting);
    },
    get healthUrl() {
      return healthUrl;
    },
    isAlive: () => isAlive(),
    failed,
    drain: async () => (await (await started())?.drain()) ?? { cut: 0 },
    cancel: () => void started()?.then((parts) => parts?.cancel()),
    stop: async () => (await started())?.stop(),
  };
}

/** All parts of the agent, in the order in which they start. */
async function startParts(options: AgentOptions, fail: (error: FatalError) => void) {
  // eslint-disable-next-line no-restricted-properties -- the only source of random numbers
  const { config, log, version, now = createSteadyClock().now, random = Math.random } = options;
  const { dataDir, serviceUrl } = config;
  // First, because a file that cannot be used must stop the start before anything is open.
  const probe = await openProbe(config, now);
  const originOf = await openOriginsOf(config);
  const instanceId = randomUUID();
  const repaired = repairModes(dataDir);
  if (repaired > 0)
    log.warn({ repaired }, 'files of the data folder were closed to this user; their modes are restored');
  const metrics = createMetrics();
  const disk = new DiskDeadline();
  const stopped = new AbortController();
  let state: AgentState = 'starting';

  // Identity, and secrets to scrub.
  const secrets = ownSecrets(config);
  const scrubber = options.scrubber ?? (await createScrubberOffThread(secrets));
  for (const warning of scrubber.warnings) log.warn(warning);
  const transport = await openTransport(config, version);
  const client = createServiceClient({ transport, serviceUrl, now, onKeyRefused: fail });

  // Check types and lanes.
  const slots = slotsOf(config);
  const reach = createScriptReach(config);
  const host = createHost(options, {
    now,
    random,
    slots,
    transport,
    network: reach.network,
    artifactBytes: () => session.current()?.limits.artifactBytes ?? Infinity,
    onKeyRefused: fail,
  });
  const abilities = createAbilities(slots, host);
  const { lanes } = abilities;
  const workDirs = createWorkDirs(join(dataDir, 'runs'), instanceId, disk);

  const condition = createCondition({
    guards: () => guards.raised(),
    outbox: () => outbox.status(),
    scrub: scrubber.text,
    now,
  });
  const leases = createLeases({ client, log, metrics, random, condition });
  const helloWatch = createTurnWatch();
  const session = createSession({
    client,
    log,
    version,
    now,
    random,
    instanceId,
    watch: helloWatch,
    abilities: () => ({
      checkTypes: abilities.announced(),
      runtimes: host.runtimes(),
      engines: host.engines(),
      lanes: lanes.slots,
    }),
    keeping: () => keeping.offer(),
    stopped: stopped.signal,
    onAccepted: (hello) => {
      if (state === 'starting') state = 'running';
      const malformed = reach.setLocation(hello.location.allowedNetworks);
      if (malformed !== null) {
        fault(
          malformed,
          'the networks of this location are malformed: scripts reach none until they are correct',
        );
      }
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
  const common = { client, session, log, metrics, fault, now, random, instanceId, disk };

  // Delivery of results and artifacts.
  const limits = options.outboxLimits ?? outboxLimits;
  const dropped = (payload: Buffer) => keeping.lost(payload);
  const box = { ...common, folder: join(dataDir, 'outbox'), limits, dropped };
  const outbox = await Outbox.open(box).catch((error: unknown) => {
    throw unusableDataDirError(dataDir, error);
  });
  const settled = (payload: Buffer) => keeping.settled(payload);
  const sender = createResultSender({ ...common, outbox, settled, ending: stopped.signal });
  const artifacts = createArtifactDelivery({ ...common, dataDir, serviceUrl, transport, onKeyRefused: fail });

  // Runtimes and engines may be installed later too. Engines use folders in the data directory, which has been
  // checked by now.
  await host.refresh();
  const lanesAtStart = abilities.openLanes();

  const ownNetwork = () => tools.ownNetworkTrouble();
  const guards = createAgentGuards({ dataDir, client, session, outbox, limits, ownNetwork, now });

  // Claiming. The tools that run jobs are loaded with the first job.
  const jobParts = { version, lanes, leases, host, workDirs, artifacts, outbox, secrets, scrubber };
  const tools = createToolLoader({ ...jobParts, config, originOf, session, metrics, fault, now });
  const loading = createLoading({
    load: tools.load,
    fault: (error) =>
      fault(toError(error), 'what runs need cannot be loaded; jobs and checks are given back'),
    fail,
    retryMs: options.loadEveryMs,
  });
  const intake = createIntake({ loading, available: abilities.types, leases, log, metrics, fault });
  // Ask the outbox itself: the guards look at it only every few seconds.
  const isFull = () => outbox.status().memoryFull || leases.size() >= maxHeldJobs;
  const blocked = () => guards.stopClaiming() || loading.isBroken() || isFull();
  const claiming = createClaiming({ ...common, lanes, blocked, condition, accept: intake.accept });
  const held = { version, lanes, loading, available: abilities.types, condition };
  const keeping = createAgentKeeping({ ...common, ...held, config, guards, outbox });
  await keeping.restore();
  const runtimeWatch = createRuntimeWatch({
    host,
    abilities,
    session,
    claiming,
    log,
    everyMs: options.runtimesEveryMs,
  });

  const isAlive = () => !helloWatch.isStuck() && !claiming.isStuck();
  const health = await startHealthServer({
    port: config.healthPort,
    host: config.healthHost,
    view: () => ({
      state,
      version,
      guards: guards.raised(),
      clockSkewMs: session.clockSkewMs(),
      lostResults: { dropped: metrics.resultsDropped, damaged: metrics.resultsDamaged },
      takesNoJobs: guards.takesNoJobs(),
      alive: isAlive(),
    }),
    probe,
    metricsPage: createLazyMetricsPage({ ...jobParts, metrics, guards, session, outboxLimits: limits, now }),
  }).catch(async (error: unknown) => {
    await outbox.close();
    transport.close();
    throw error;
  });

  reach.setHealthPort(Number(new URL(health.url).port));
  guards.start();
  sender.start();
  claiming.start(lanesAtStart);
  if (lanesAtStart.includes('uptime')) keeping.start();
  if (host.carriesScripts) await startScriptParts({ workDirs, runtimeWatch, artifacts });
  const started = { healthUrl: health.url, lanes: lanes.slots, checkTypes: abilities.types(), version };
  log.info({ ...started, runtimes: host.runtimes(), engines: host.engines() }, 'agent started');
  for (const type of abilities.types()) void agentJobTypes[type].warnAtStart?.(log);

  const end = createAgentEnd({
    graceSeconds: config.shutdownGraceSeconds,
    onEnding: () => {
      state = 'draining';
    },
    log,
    stopped,
    intake,
    claiming,
    keeping,
    runtimeWatch,
    leases,
    host,
    workDirs,
    sender,
    artifacts,
    outbox,
    events,
    guards,
    tools,
    loading,
    client,
    health,
  });
  return { healthUrl: health.url, isAlive, ...end };
}
