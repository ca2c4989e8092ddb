import type { AgentConfig } from '../config.ts';
import { protocolLimits } from '../protocol/agent-calls.ts';
import { jobTypes, probeTypes, uptimeTypes, type JobType } from '../protocol/check-types.ts';
import type { Network } from '../executors/interface/network.ts';
import type { Scripts } from '../script/interface/scripts.ts';
import type { NamedSecret, Scrubber } from '../secrets/scrubber/scrubber.ts';
import type { ArtifactDelivery } from './artifacts/delivery.ts';
import type { KeepArtifacts } from './artifacts/attempt-files.ts';
import type { RunningTools } from './claiming/intake.ts';
import type { NamedEndpoint } from './own-network/examination.ts';
import type { MadeJobs } from './keeping/made-jobs.ts';
import { serviceEndpoint } from './link/service-endpoint.ts';
import type { Trouble } from './own-network/troubles.ts';
import type { Outbox } from './outbox/outbox.ts';
import { jobScrubbers } from './scrubbing/own-secrets.ts';
import type { RunParts } from './run/run-job.ts';
import type { ScriptHost } from './script-host.ts';
import type { Session } from './link/session.ts';
import type { WorkDirs } from './folders/work-dir.ts';

/** The settings that affect how jobs run. */
export type RunSettings = Pick<
  AgentConfig,
  'useOsDnsResolver' | 'detectSecrets' | 'networkEvidence' | 'referenceTargets'
>;

/**
 * What running jobs needs from its environment. The daemon passes its leases, outbox and artifact delivery. The
 * command `run` passes local leases, a list of results and a folder.
 */
export type RunPorts = Pick<
  RunParts,
  | 'version'
  | 'lanes'
  | 'leases'
  | 'metrics'
  | 'scrubberOf'
  | 'deliver'
  | 'resultBytes'
  | 'clockSkewMs'
  | 'onLog'
  | 'fault'
  | 'now'
> & {
  settings: RunSettings;
  /** The networks of addresses; null = they are not known. */
  originOf: NonNullable<Network['originOf']> | null;
  /** The service, or the proxy on the way to it: a witness for this host's network. Null = there is none. */
  service: NamedEndpoint | null;
  /** Types whose executors are loaded, and those that are warmed up before the first job. */
  types: { readonly loaded: readonly JobType[]; readonly warm: readonly JobType[] };
  /** Null if no customer code can run. */
  scripts: Scripts | null;
  workDirs: WorkDirs;
  keepArtifacts: KeepArtifacts;
};

/**
 * Reads the file of AS_DATABASE; null if there is none, and nothing is loaded then. Throws FatalError (78), so call it at the start:
 * without the file, no check could run.
 */
export async function openOriginsOf({
  asDatabase,
}: Pick<AgentConfig, 'asDatabase'>): Promise<RunPorts['originOf']> {
  if (asDatabase === null) return null;
  const { openOrigins } = await import('../executors/traceroute/origins.ts');
  return openOrigins(asDatabase, () => performance.now());
}

/**
 * Creates the parts of `runJob`: loads the executors, opens the network and warms both up. `close` closes the
 * network. Modules are imported here, not at the top, because an agent without jobs must not load them. Rejects if a
 * module cannot be loaded.
 */
export async function createRunParts(
  ports: RunPorts,
): Promise<{ parts: RunParts; ownNetworkTrouble: () => Trouble | null; close: () => void }> {
  const { settings, originOf, service, types, scripts, workDirs, keepArtifacts, ...shared } = ports;
  const { fault, now, metrics } = shared;
  const [
    { loadExecutors },
    { createNetwork },
    { warmUp },
    { createNetworkEvidence },
    { createOwnDelay },
    { createOwnNetwork },
  ] = await Promise.all([
    import('./load-executors.ts'),
    import('../executors/system-network.ts'),
    import('./warm-up.ts'),
    import('./run/network-evidence.ts'),
    import('./load/own-delay.ts'),
    import('./own-network/own-network.ts'),
  ]);
  const network = createNetwork({ useOsDnsResolver: settings.useOsDnsResolver });
  if (originOf !== null) network.originOf = originOf;
  const evidence = settings.networkEvidence ? createNetworkEvidence({ network, now }) : null;
  const ownDelay = createOwnDelay();
  const ownNetwork = createOwnNetwork({
    network,
    references: settings.referenceTargets,
    service,
    ownDelay,
    now,
    onExamination: () => (metrics.ownNetworkExaminations += 1),
  });
  const close = (): void => {
    ownDelay.close();
    evidence?.close();
    network.close();
  };
  let executorOf: RunParts['executorOf'];
  try {
    executorOf = await loadExecutors(types.loaded, fault);
    await warmUp(types.warm, executorOf, { network, now });
  } catch (error) {
    close();
    throw error;
  }
  const parts: RunParts = {
    ...shared,
    forFiles: { scripts, workDirs, keepArtifacts },
    detectSecrets: scripts !== null && settings.detectSecrets,
    ...(evidence === null ? {} : { evidence }),
    ownNetwork,
    executorOf,
    network,
    ownDelay,
  };
  return { parts, ownNetworkTrouble: ownNetwork.trouble, close };
}

/** Loads the modules that an agent needs only once it has work: schemas, executors, network and grading. */
export type ToolLoader = {
  /** Loads and warms up; includes the executors of scripts if the agent has script code. */
  load: () => Promise<RunningTools & MadeJobs>;
  /** What is wrong with this host's own network; null = nothing is known to be. */
  ownNetworkTrouble: () => Trouble | null;
  close: () => void;
};

export function createToolLoader(
  options: Pick<RunPorts, 'version' | 'originOf' | 'lanes' | 'leases' | 'metrics' | 'fault' | 'now'> & {
    config: RunSettings & Pick<AgentConfig, 'serviceUrl' | 'proxy'>;
    host: Pick<ScriptHost, 'carriesScripts' | 'scripts'>;
    workDirs: WorkDirs;
    artifacts: Pick<ArtifactDelivery, 'keep'>;
    outbox: Pick<Outbox, 'add'>;
    session: Pick<Session, 'current' | 'clockSkewMs'>;
    /** The agent's own secrets. */
    secrets: readonly NamedSecret[];
    /** Masks them. */
    scrubber: Scrubber;
  },
): ToolLoader {
  const { config, host, artifacts, outbox, session, secrets, scrubber, ...shared } = options;
  const { carriesScripts } = host;
  let closed = false;
  let closeParts = () => {};
  let ownNetworkTrouble: () => Trouble | null = () => null;
  return {
    load: async () => {
      const [{ parseJob }, { runJob, reportInvalid }, { jobOf, lostReport }] = await Promise.all([
        import('./claiming/parse-job.ts'),
        import('./run/run-job.ts'),
        import('./keeping/made-jobs.ts'),
      ]);
      const { parts, close, ...own } = await createRunParts({
        ...shared,
        settings: config,
        service: serviceEndpoint(config),
        types: {
          loaded: carriesScripts ? jobTypes : uptimeTypes,
          warm: carriesScripts ? probeTypes : uptimeTypes,
        },
        scripts: carriesScripts ? host.scripts : null,
        keepArtifacts: artifacts.keep,
        scrubberOf: jobScrubbers(secrets, scrubber),
        deliver: (json) => outbox.add(json),
        resultBytes: () =>
          Math.min(session.current()?.limits.resultBytes ?? Infinity, protocolLimits.resultBytes),
        clockSkewMs: () => significantSkew(session.clockSkewMs()),
      });
      closeParts = close;
      ({ ownNetworkTrouble } = own);
      if (closed) close();
      return { parseJob, runJob, reportInvalid, parts, jobOf, lostReport };
    },
    ownNetworkTrouble: () => ownNetworkTrouble(),
    close: () => {
      closed = true;
      closeParts();
    },
  };
}

/** Smaller clock differences may be caused by the duration of hello, so they count as none. Milliseconds. */
function significantSkew(skewMs: number | null): number {
  return skewMs === null || Math.abs(skewMs) < 1000 ? 0 : skewMs;
}
