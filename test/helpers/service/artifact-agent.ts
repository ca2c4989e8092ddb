import { createArtifactDelivery, type ArtifactDelivery } from '../../../src/agent/artifacts/delivery.ts';
import type { ArtifactLimits } from '../../../src/agent/artifacts/store.ts';
import type { AttemptFile } from '../../../src/agent/artifacts/attempt-files.ts';
import { createMetrics, type AgentMetrics } from '../../../src/agent/metrics/counters.ts';
import { createServiceClient } from '../../../src/agent/link/client.ts';
import { createSession } from '../../../src/agent/link/session.ts';
import { createTransport } from '../../../src/agent/link/transport.ts';
import { createTurnWatch } from '../../../src/agent/metrics/turn-watch.ts';
import { createLog } from '../../../src/log.ts';

/** The part of an agent that brings artifacts, with its own session and connections. */
export type ArtifactAgent = {
  delivery: ArtifactDelivery;
  metrics: AgentMetrics;
  /** What went wrong in the agent itself. */
  faults: string[];
  /** Hands over files as an attempt does; notes go into `notes`. */
  keep: (
    job: { jobId: string; leaseToken: string },
    workDir: string,
    files: AttemptFile[],
    notes?: string[],
  ) => ReturnType<ArtifactDelivery['keep']>;
  stop: () => Promise<void>;
};

export async function startArtifactAgent(options: {
  serviceUrl: string;
  key: string;
  dataDir: string;
  instanceId: string;
  limits?: ArtifactLimits;
  secrets?: { name: string; value: string }[];
  now?: () => number;
}): Promise<ArtifactAgent> {
  const { instanceId, dataDir, now = Date.now } = options;
  const random = () => 0;
  const serviceUrl = new URL(options.serviceUrl);
  const log = createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } });
  const metrics = createMetrics();
  const faults: string[] = [];
  const stopped = new AbortController();
  const transport = await createTransport({
    serviceUrl,
    proxy: { httpProxy: null, httpsProxy: null, noProxy: '' },
    extraCaFile: null,
    headers: { authorization: `Bearer ${options.key}` },
  });
  const onKeyRefused = () => void faults.push('key refused');
  const client = createServiceClient({ transport, serviceUrl, now, onKeyRefused });
  const session = createSession({
    client,
    log,
    instanceId,
    now,
    random,
    version: '1',
    watch: createTurnWatch(),
    abilities: () => ({ checkTypes: [], runtimes: [], engines: [], lanes: {} }),
    stopped: stopped.signal,
    onAccepted: () => undefined,
  });
  const delivery = createArtifactDelivery({
    dataDir,
    instanceId,
    serviceUrl,
    transport,
    client,
    session,
    log,
    metrics,
    onKeyRefused,
    now,
    random,
    fault: (error, message) => faults.push(`${message}: ${error.message}`),
    limits: options.limits ?? { capBytes: 2 ** 31, reserveBytes: 0 },
  });
  await delivery.start();
  return {
    delivery,
    metrics,
    faults,
    keep: (job, workDir, files, notes = []) =>
      delivery.keep({ job, attempt: 1, workDir }, files, {
        secrets: options.secrets ?? [],
        signal: new AbortController().signal,
        note: (_level, msg) => void notes.push(msg),
      }),
    stop: async () => {
      stopped.abort(new Error('the test is over'));
      await delivery.stop();
      client.close();
    },
  };
}
