import { join } from 'node:path';
import type { AgentConfig } from '../config.ts';
import { hourMs } from '../durations.ts';
import type { FatalError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { LaneSlots } from './abilities.ts';
import type { ArtifactDelivery } from './artifacts/delivery.ts';
import { silentOwnerMs } from './folders/owner.ts';
import type { WorkDirs } from './folders/work-dir.ts';
import { createKeeping, type Keeping } from './keeping/keeping.ts';
import { readAuthorities } from './link/authorities.ts';
import { createBundleFetcher } from './link/bundles.ts';
import type { ServiceClient } from './link/client.ts';
import { machine } from './link/machine.ts';
import type { Session } from './link/session.ts';
import { createTransport, type Transport } from './link/transport.ts';
import type { MetricsSources } from './metrics-page.ts';
import { createGuards, type Guards } from './metrics/guards.ts';
import type { HealthPage } from './metrics/health.ts';
import type { OutboxLimits } from './outbox/options.ts';
import type { Outbox } from './outbox/outbox.ts';
import type { ScriptNetwork } from '../script/process/script-network.ts';
import type { RuntimeWatch } from './runtime-watch.ts';
import {
  createScriptHost,
  packageEngines,
  packageRuntimes,
  scriptSettings,
  type ScriptHost,
} from './script-host.ts';

type HostOptions = {
  config: AgentConfig;
  log: Log;
  runtimesFolder?: string;
  enginesFolder?: string;
};

type HostParts = {
  now: () => number;
  random: () => number;
  slots: LaneSlots;
  transport: Transport;
  artifactBytes: () => number;
  network: () => ScriptNetwork;
  onKeyRefused: (error: FatalError) => void;
};

/** Support for customer code: runtimes, suite engines and the code bundles of suites. */
export function createHost(
  { config, log, runtimesFolder, enginesFolder }: HostOptions,
  { slots, transport, artifactBytes, network, onKeyRefused, now, random }: HostParts,
): ScriptHost {
  const { dataDir, serviceUrl } = config;
  const folder = join(dataDir, 'bundles');
  return createScriptHost({
    runtimesFolder: runtimesFolder ?? packageRuntimes(),
    enginesFolder: enginesFolder ?? packageEngines(),
    ...scriptSettings(config),
    slots: slots.browser,
    suiteSlots: slots.suite,
    artifactBytes,
    network,
    fetchBundle: createBundleFetcher({ transport, serviceUrl, folder, onKeyRefused, now, random }),
    warn: (line) => log.warn(line),
  });
}

/** The checks of the agent's own state. */
export function createAgentGuards(parts: {
  dataDir: string;
  client: ServiceClient;
  session: Session;
  outbox: Outbox;
  limits: OutboxLimits;
  ownNetwork: () => { summary: string } | null;
  now: () => number;
}): Guards {
  const { dataDir, client, session, outbox, limits, ownNetwork, now } = parts;
  return createGuards({
    dataDir,
    memoryLimitBytes: machine().memoryBytes,
    serviceFailingSince: client.failingSince,
    ownNetwork,
    clockSkewMs: session.clockSkewMs,
    outbox: () => outbox.status(),
    outboxCapBytes: limits.capBytes,
    now,
  });
}

/** The checks that the agent holds. */
export function createAgentKeeping({
  config,
  guards,
  outbox,
  ...parts
}: Omit<
  Parameters<typeof createKeeping>[0],
  'folder' | 'apiKey' | 'continueMs' | 'deliver' | 'blocked' | 'isFull' | 'waitingSince'
> & { config: AgentConfig; guards: Guards; outbox: Outbox }): Keeping {
  // Ask the outbox itself: the guards look at it only every few seconds.
  const memoryFull = () => outbox.status().memoryFull;
  return createKeeping({
    ...parts,
    folder: join(config.dataDir, 'assignments'),
    apiKey: config.apiKey.reveal(),
    continueMs: config.continueHours * hourMs,
    deliver: (json, isCalm) => outbox.add(json, isCalm),
    blocked: () => guards.stopClaiming() || memoryFull(),
    isFull: () => memoryFull() || guards.raised().some(({ name }) => name === 'outbox'),
    waitingSince: () => outbox.status().oldestAt,
  });
}

/** Starts the parts that only agents with script code need. */
export async function startScriptParts(parts: {
  workDirs: WorkDirs;
  runtimeWatch: RuntimeWatch;
  artifacts: ArtifactDelivery;
}): Promise<void> {
  await parts.workDirs.removeDead();
  // An agent on another machine counts as dead only after a period of silence.
  setTimeout(() => void parts.workDirs.removeDead(), 2 * silentOwnerMs).unref();
  parts.runtimeWatch.start();
  await parts.artifacts.start();
}

/** The connection to the service. Throws FatalError for a proxy or a CA file that cannot be used. */
export function openTransport({ serviceUrl, proxy, extraCaFile, apiKey }: AgentConfig, version: string) {
  // Targets use the same CA file, so an unusable file must be reported even if the service uses plain http.
  if (extraCaFile !== null) readAuthorities(extraCaFile);
  return createTransport({
    serviceUrl,
    proxy,
    extraCaFile,
    headers: {
      authorization: `Bearer ${apiKey.reveal()}`,
      'user-agent': `private-location-agent/${version}`,
      accept: 'application/json',
    },
  });
}

/** The metrics page. Its library is loaded at the first request. */
export function createLazyMetricsPage(
  sources: MetricsSources,
): () => Promise<{ contentType: string; body: string }> {
  let page: ReturnType<typeof createLazyMetricsPage> | null = null;
  return async () => {
    const { createMetricsPage } = await import('./metrics-page.ts');
    page ??= createMetricsPage(sources);
    return page();
  };
}

/** `/probe`, if PROBE_CONFIG names a file; nothing of it is loaded otherwise. Throws FatalError (78). */
export async function openProbe(
  { probe, proxy, useOsDnsResolver }: Pick<AgentConfig, 'probe' | 'proxy' | 'useOsDnsResolver'>,
  now: () => number,
): Promise<HealthPage | null> {
  if (probe === null) return null;
  const { createProbeEndpoint } = await import('./probe/endpoint.ts');
  return createProbeEndpoint({ ...probe, proxy, useOsDnsResolver, now });
}
