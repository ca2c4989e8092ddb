import type { AgentConfig } from '../config.ts';
import { protocolLimits } from '../protocol/agent-calls.ts';
import { jobTypes, probeTypes, uptimeTypes } from '../protocol/check-types.ts';
import type { NamedSecret, Scrubber } from '../secrets/scrubber/scrubber.ts';
import type { ArtifactDelivery } from './artifacts/delivery.ts';
import type { RunningTools } from './claiming/intake.ts';
import type { Outbox } from './outbox/outbox.ts';
import { jobScrubbers } from './scrubbing/own-secrets.ts';
import type { RunParts } from './run/run-job.ts';
import type { ScriptHost } from './script-host.ts';
import type { Session } from './link/session.ts';
import type { WorkDirs } from './folders/work-dir.ts';

/** What only an agent with work needs: the schemas, the executors, the network and the grading. */
export type ToolLoader = {
  /** Loads them, the scripts' too where the agent carries any, and warms them up. */
  load: () => Promise<RunningTools>;
  close: () => void;
};

export function createToolLoader(
  options: Pick<RunParts, 'version' | 'lanes' | 'leases' | 'metrics' | 'fault' | 'now'> & {
    config: Pick<AgentConfig, 'useOsDnsResolver' | 'detectSecrets' | 'networkEvidence'>;
    host: Pick<ScriptHost, 'carriesScripts' | 'scripts'>;
    workDirs: WorkDirs;
    artifacts: Pick<ArtifactDelivery, 'keep'>;
    outbox: Pick<Outbox, 'add'>;
    session: Pick<Session, 'current' | 'clockSkewMs'>;
    /** The agent's own secrets, and what masks them. */
    secrets: readonly NamedSecret[];
    scrubber: Scrubber;
  },
): ToolLoader {
  const { config, host, workDirs, artifacts, outbox, session, secrets, scrubber, ...shared } = options;
  const { fault, now } = shared;
  let closeNetwork = () => {};
  const scripts = host.carriesScripts ? host.scripts : null;
  return {
    load: async () => {
      const [
        { parseJob },
        { runJob, reportInvalid },
        { loadExecutors },
        { createNetwork },
        { warmUp },
        { createNetworkEvidence },
      ] = await Promise.all([
        import('./claiming/parse-job.ts'),
        import('./run/run-job.ts'),
        import('./load-executors.ts'),
        import('../executors/system-network.ts'),
        import('./warm-up.ts'),
        import('./run/network-evidence.ts'),
      ]);
      const network = createNetwork({ useOsDnsResolver: config.useOsDnsResolver });
      const evidence = config.networkEvidence ? createNetworkEvidence({ network, now }) : null;
      closeNetwork = () => {
        evidence?.close();
        network.close();
      };
      const executorOf = await loadExecutors(host.carriesScripts ? jobTypes : uptimeTypes, fault);
      await warmUp(host.carriesScripts ? probeTypes : uptimeTypes, executorOf, { network, now });
      const parts: RunParts = {
        ...shared,
        forFiles: { scripts, workDirs, keepArtifacts: artifacts.keep },
        detectSecrets: scripts !== null && config.detectSecrets,
        ...(evidence === null ? {} : { evidence }),
        executorOf,
        network,
        scrubberOf: jobScrubbers(secrets, scrubber),
        deliver: (json) => outbox.add(json),
        resultBytes: () =>
          Math.min(session.current()?.limits.resultBytes ?? Infinity, protocolLimits.resultBytes),
        clockSkewMs: () => substantial(session.clockSkewMs()),
      };
      return { parseJob, runJob, reportInvalid, parts };
    },
    close: () => closeNetwork(),
  };
}

/** A difference that the journey of hello may explain is none. */
function substantial(skewMs: number | null): number {
  return skewMs === null || Math.abs(skewMs) < 1000 ? 0 : skewMs;
}
