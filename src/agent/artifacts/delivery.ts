import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import type { FatalError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { DiskDeadline, DiskHangs } from '../folders/disk-deadline.ts';
import { createArtifactCalls } from './calls.ts';
import { artifactLimits, createArtifactStore, type ArtifactLimits } from './store.ts';
import { createArtifactKeeper } from './keep.ts';
import type { KeepArtifacts } from './attempt-files.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Session } from '../link/session.ts';
import type { Transport } from '../link/transport.ts';
import { createUploader, type Uploader } from './upload.ts';

/** Delivery of artifacts in a daemon: from an attempt's folder to the store, from there to the service. */
export type ArtifactDelivery = Pick<Uploader, 'flush'> & {
  keep: KeepArtifacts;
  /** Sends the files that earlier agents left, then new files as they are stored. */
  start: () => Promise<void>;
  /** Files that wait to be sent, and their bytes. */
  status: () => { count: number; bytes: number };
  stop: () => Promise<void>;
};

export function createArtifactDelivery(options: {
  dataDir: string;
  instanceId: string;
  serviceUrl: URL;
  transport: Pick<Transport, 'send'>;
  client: ServiceClient;
  session: Session;
  log: Log;
  metrics: AgentMetrics;
  fault: (error: Error, message: string) => void;
  onKeyRefused: (error: FatalError) => void;
  now: () => number;
  random: () => number;
  limits?: ArtifactLimits;
  /** Shared with everything else that uses the data folder; absent = one of its own. */
  disk?: DiskDeadline;
}): ArtifactDelivery {
  const { metrics, log, session } = options;
  const store = createArtifactStore({
    root: join(options.dataDir, 'artifacts'),
    instanceId: options.instanceId,
    limits: options.limits ?? artifactLimits,
    disk: options.disk ?? new DiskDeadline(),
    metrics,
    log,
    now: options.now,
    onDropped: (artifact) => {
      metrics.artifactsLost += 1;
      log.error(
        { artifact: artifact.name, jobId: artifact.jobId, bytes: artifact.size },
        'artifact dropped: too many artifacts wait for the service',
      );
      uploader.reportLost(artifact);
    },
  });
  const uploader = createUploader({ ...options, store, calls: createArtifactCalls(options) });
  const keep = createArtifactKeeper({
    metrics,
    limitBytes: () => session.current()?.limits.artifactBytes ?? Infinity,
    place: {
      place: store.place,
      keep: async (path, about) => {
        await store.keep(path, about).catch(async (error: unknown) => {
          // On a disk that hangs, the file stays until the next adoption.
          if (!(error instanceof DiskHangs)) await fs.rm(path, { force: true });
          throw error;
        });
        return { state: 'pending', url: null };
      },
    },
  });
  return {
    keep,
    start: async () => {
      await store.adopt();
      uploader.start();
    },
    status: () => {
      const waiting = store.waiting();
      return { count: waiting.length, bytes: waiting.reduce((sum, { size }) => sum + size, 0) };
    },
    flush: uploader.flush,
    stop: async () => {
      await uploader.stop();
      await store.close();
    },
  };
}
