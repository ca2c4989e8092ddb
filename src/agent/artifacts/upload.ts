import { FatalError, ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { ArtifactCalls } from './calls.ts';
import { createStateReports } from './states.ts';
import type { ArtifactStore } from './store.ts';
import type { StoredArtifact } from './stored-artifact.ts';
import { backoffMs, pause } from '../link/backoff.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Session } from '../link/session.ts';
import { dayMs } from '../../durations.ts';

/**
 * Uploads artifacts to the service, a few at a time. Retries each until it is stored, refused permanently, or a day
 * old.
 */
export type Uploader = {
  start: () => void;
  /** Reports to the service that this file will not be sent. */
  reportLost: (artifact: StoredArtifact, state?: 'lost' | 'refused') => void;
  /** Waits until nothing is left, until `until` (performance.now), until 5 s brought nothing, or until `hurry` fires. */
  flush: (until: number, urgent: AbortSignal) => Promise<void>;
  stop: () => Promise<void>;
};

const maxUploads = 2;
const giveUpAfterMs = dayMs;
const maxIdleFlushMs = 5000;
/** How often a file is sent again from its start because the service received different bytes. */
const maxRestarts = 3;

/** The upload state of one file; `notBefore`: performance.now of the next attempt. */
type Delivery = { failures: number; restarts: number; notBefore: number; storedBytes: number };

export function createUploader(options: {
  store: ArtifactStore;
  calls: ArtifactCalls;
  client: ServiceClient;
  session: Session;
  log: Log;
  metrics: AgentMetrics;
  fault: (error: Error, message: string) => void;
  /** Milliseconds since the epoch. */
  now: () => number;
  random: () => number;
}): Uploader {
  const { store, calls, session, log, metrics } = options;
  const stopped = new AbortController();
  const deliveries = new Map<string, Delivery>();
  const running = new Map<string, Promise<void>>();
  const reports = createStateReports({ ...options, stopped: stopped.signal });
  let timer: NodeJS.Timeout | undefined;
  let started = false;
  let progressAt = 0;

  const stateOf = ({ id }: StoredArtifact): Delivery => {
    const delivery = deliveries.get(id) ?? { failures: 0, restarts: 0, notBefore: 0, storedBytes: 0 };
    deliveries.set(id, delivery);
    return delivery;
  };

  /** Starts all uploads that may start now; resolves when others may start. */
  const pump = (): void => {
    clearTimeout(timer);
    if (!started || stopped.signal.aborted) return;
    const time = performance.now();
    let nextAt = Infinity;
    for (const artifact of store.waiting()) {
      if (running.has(artifact.id)) continue;
      const { notBefore } = stateOf(artifact);
      if (notBefore > time) nextAt = Math.min(nextAt, notBefore);
      else if (running.size < maxUploads) begin(artifact);
    }
    if (nextAt < Infinity) timer = setTimeout(pump, nextAt - time + 1).unref();
  };

  const onProgress = () => (progressAt = performance.now());

  const begin = (artifact: StoredArtifact): void => {
    const work = upload(artifact)
      .catch((error: unknown) => options.fault(toError(error), 'an upload failed'))
      .finally(() => {
        running.delete(artifact.id);
        pump();
      });
    running.set(artifact.id, work);
  };

  const upload = async (artifact: StoredArtifact): Promise<void> => {
    const delivery = stateOf(artifact);
    try {
      await session.get(stopped.signal);
      const startedAt = performance.now();
      if (!(await sendRest(artifact, delivery, { calls, signal: stopped.signal, onProgress }))) return;
      metrics.histograms.artifact_upload_seconds.observe((performance.now() - startedAt) / 1000);
      metrics.artifactsSent += 1;
      metrics.artifactBytesSent += artifact.size;
      await forget(artifact);
    } catch (error) {
      if (stopped.signal.aborted || error instanceof FatalError) {
        delivery.notBefore = performance.now() + 60_000;
        return;
      }
      await failed(artifact, delivery, error);
    }
  };

  const failed = async (artifact: StoredArtifact, delivery: Delivery, error: unknown): Promise<void> => {
    delivery.failures += 1;
    const fields = { artifact: artifact.name, jobId: artifact.jobId, err: toError(error) };
    const end = permanentFailure(delivery, error, options.now() - artifact.createdAt);
    if (end !== null) return giveUp(artifact, end.state, { ...fields, why: end.why });
    const retryAfterMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(retryAfterMs, backoffMs(delivery.failures, options.random));
    delivery.notBefore = performance.now() + waitMs;
    log.warn({ ...fields, retryInMs: Math.round(waitMs) }, 'artifact not delivered yet');
  };

  const giveUp = async (artifact: StoredArtifact, state: 'lost' | 'refused', why: object): Promise<void> => {
    if (state === 'lost') metrics.artifactsLost += 1;
    else metrics.artifactsRefused += 1;
    log.error(why, 'artifact will not be delivered');
    reports.add(artifact, state);
    await forget(artifact);
  };

  const forget = async (artifact: StoredArtifact): Promise<void> => {
    deliveries.delete(artifact.id);
    await store.remove(artifact);
  };

  store.onFilled(pump);

  return {
    start: () => {
      started = true;
      pump();
    },
    reportLost: (artifact, state = 'lost') => reports.add(artifact, state),
    flush: async (until, urgent) => {
      progressAt = performance.now();
      for (const delivery of deliveries.values()) delivery.notBefore = 0;
      pump();
      while (store.waiting().length > 0 || !reports.isIdle()) {
        const time = performance.now();
        if (time > until || urgent.aborted || time - progressAt > maxIdleFlushMs) break;
        await pause(20, urgent);
      }
    },
    stop: async () => {
      clearTimeout(timer);
      stopped.abort(new Error('the agent is stopping'));
      await Promise.all([...running.values(), reports.whenIdle()]);
    },
  };
}

/** Sends the bytes that the service does not have yet; true = the service has the complete file. */
async function sendRest(
  artifact: StoredArtifact,
  delivery: Delivery,
  { calls, signal, onProgress }: { calls: ArtifactCalls; signal: AbortSignal; onProgress: () => void },
): Promise<boolean> {
  const found = await calls.stored(artifact, signal);
  if (found?.isStored === true) return true;
  const storedBytes = Math.min(found?.length ?? 0, artifact.size);
  if (storedBytes > delivery.storedBytes) {
    // It makes progress, even if the connection breaks often.
    delivery.failures = 0;
    onProgress();
  }
  delivery.storedBytes = storedBytes;
  // The service has all bytes but has not finished the file; sending the last byte again makes it finish.
  const from = Math.min(storedBytes, Math.max(0, artifact.size - 1));
  const isComplete = await calls.send(artifact, from, { signal, onProgress });
  onProgress();
  return isComplete;
}

/** Counts restarts, and returns why the file will never be delivered; null = try again. */
function permanentFailure(
  delivery: Delivery,
  error: unknown,
  ageMs: number,
): { state: 'lost' | 'refused'; why: string } | null {
  const refused = error instanceof ServiceError && error.code === 'SERVICE_REFUSED' ? error.status : null;
  if (refused === 413) return { state: 'refused', why: 'larger than the service accepts' };
  if (refused === 422) {
    delivery.restarts += 1;
    if (delivery.restarts >= maxRestarts)
      return { state: 'lost', why: 'the service repeatedly received different bytes' };
  } else if (refused !== null && refused !== 416 && !isRetryable(error)) {
    return { state: 'lost', why: 'the service refused it' };
  }
  if (ageMs > giveUpAfterMs) return { state: 'lost', why: 'it could not be sent within a day' };
  const { code } = (toError(error).cause ?? {}) as NodeJS.ErrnoException; // only system errors have a code
  return code === 'ENOENT' ? { state: 'lost', why: 'its file no longer exists' } : null;
}

function isRetryable(error: unknown): boolean {
  return error instanceof ServiceError && error.retryable;
}
