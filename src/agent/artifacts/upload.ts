import { FatalError, ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { RequestOf } from '../../protocol/routes.ts';
import type { ArtifactCalls } from './calls.ts';
import type { ArtifactStore, StoredArtifact } from './store.ts';
import { backoffMs, pause } from '../link/backoff.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Session } from '../link/session.ts';

/** Brings artifacts to the service: a few at a time, each until it is stored, refused for good, or a day old. */
export type Uploader = {
  start: () => void;
  /** The service is told that this file will not come. */
  tellLost: (artifact: StoredArtifact, state?: 'lost' | 'refused') => void;
  /** Waits until nothing is left, until `until` (performance.now), until 5 s brought nothing, or until `hurry` fires. */
  flush: (until: number, hurry: AbortSignal) => Promise<void>;
  stop: () => Promise<void>;
};

const atOnce = 2;
const giveUpAfterMs = 24 * 3_600_000;
const fruitlessFlushMs = 5000;
/** How often a file whose bytes came out wrong is sent anew. */
const mostAnew = 3;
const mostTold = 1000;

type State = NonNullable<RequestOf<'artifactStates'>['artifacts'][number]>;
/** How far the way of a file has come. */
type Way = { failures: number; anew: number; notBefore: number; there: number };

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
  const ways = new Map<string, Way>();
  const running = new Map<string, Promise<void>>();
  let telling: Promise<void> | null = null;
  let toTell: State[] = [];
  let timer: NodeJS.Timeout | undefined;
  let started = false;
  let progressAt = 0;

  const wayOf = ({ id }: StoredArtifact): Way => {
    const way = ways.get(id) ?? { failures: 0, anew: 0, notBefore: 0, there: 0 };
    ways.set(id, way);
    return way;
  };

  /** Starts what may start now, and comes back when something else may. */
  const pump = (): void => {
    clearTimeout(timer);
    if (!started || stopped.signal.aborted) return;
    const time = performance.now();
    let nextAt = Infinity;
    for (const artifact of store.waiting()) {
      if (running.has(artifact.id)) continue;
      const { notBefore } = wayOf(artifact);
      if (notBefore > time) nextAt = Math.min(nextAt, notBefore);
      else if (running.size < atOnce) begin(artifact);
    }
    if (nextAt < Infinity) timer = setTimeout(pump, nextAt - time + 1).unref();
  };

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
    const way = wayOf(artifact);
    try {
      await session.get(stopped.signal);
      const begunAt = performance.now();
      if (!(await bring(artifact, way))) return;
      metrics.histograms.artifact_upload_seconds.observe((performance.now() - begunAt) / 1000);
      metrics.artifactsSent += 1;
      metrics.artifactBytesSent += artifact.size;
      await forget(artifact);
    } catch (error) {
      if (stopped.signal.aborted || error instanceof FatalError) {
        way.notBefore = performance.now() + 60_000;
        return;
      }
      await failed(artifact, way, error);
    }
  };

  /** True = the service has all of it. */
  const bring = async (artifact: StoredArtifact, way: Way): Promise<boolean> => {
    const found = await calls.stored(artifact, stopped.signal);
    if (found?.isStored === true) return true;
    const there = Math.min(found?.length ?? 0, artifact.size);
    if (there > way.there) {
      // It moves, however often it breaks.
      way.failures = 0;
      progressAt = performance.now();
    }
    way.there = there;
    // A file that is there but for its last act: one byte again brings it about.
    const from = Math.min(there, Math.max(0, artifact.size - 1));
    const onProgress = () => (progressAt = performance.now());
    const whole = await calls.send(artifact, from, { signal: stopped.signal, onProgress });
    onProgress();
    return whole;
  };

  const failed = async (artifact: StoredArtifact, way: Way, error: unknown): Promise<void> => {
    way.failures += 1;
    const refused = error instanceof ServiceError && error.code === 'SERVICE_REFUSED' ? error.status : null;
    const told = { artifact: artifact.name, jobId: artifact.jobId, err: toError(error) };
    if (refused === 413) return giveUp(artifact, 'refused', { ...told, why: 'too large for the service' });
    if (refused === 422) {
      way.anew += 1;
      if (way.anew >= mostAnew)
        return giveUp(artifact, 'lost', { ...told, why: 'its bytes do not come out right' });
    } else if (refused !== null && refused !== 416 && !isRetryable(error)) {
      return giveUp(artifact, 'lost', { ...told, why: 'the service does not take it' });
    }
    if (options.now() - artifact.createdAt > giveUpAfterMs) {
      return giveUp(artifact, 'lost', { ...told, why: 'it could not be sent for a day' });
    }
    const { code } = (toError(error).cause ?? {}) as NodeJS.ErrnoException; // absent on anything but system errors
    if (code === 'ENOENT') return giveUp(artifact, 'lost', { ...told, why: 'its file is gone' });
    const asked = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(asked, backoffMs(way.failures, options.random));
    way.notBefore = performance.now() + waitMs;
    log.warn({ ...told, retryInMs: Math.round(waitMs) }, 'artifact not delivered yet');
  };

  const giveUp = async (artifact: StoredArtifact, state: State['state'], why: object): Promise<void> => {
    if (state === 'lost') metrics.artifactsLost += 1;
    else metrics.artifactsRefused += 1;
    log.error(why, 'artifact will not be delivered');
    tellLost(artifact, state);
    await forget(artifact);
  };

  const forget = async (artifact: StoredArtifact): Promise<void> => {
    ways.delete(artifact.id);
    await store.remove(artifact);
  };

  const tellLost = (artifact: StoredArtifact, state: State['state'] = 'lost'): void => {
    const { jobId, attempt, leaseToken, name, type } = artifact;
    toTell.push({ jobId, attempt, leaseToken, name, type, state });
    toTell = toTell.slice(-mostTold);
    telling ??= tell().finally(() => (telling = null));
  };

  /** Best effort: without it the service comes to the same conclusion a day later. */
  const tell = async (): Promise<void> => {
    for (let failures = 0; toTell.length > 0 && !stopped.signal.aborted;) {
      const some = toTell.slice(0, protocolLimits.artifactStates);
      try {
        const { agentId } = await session.get(stopped.signal);
        const call = { timeoutMs: 30_000, signal: stopped.signal };
        await options.client.call('artifactStates', { agentId, artifacts: some }, call);
        toTell = toTell.filter((state) => !some.includes(state));
      } catch (error) {
        if (error instanceof FatalError || (error instanceof ServiceError && !error.retryable)) {
          toTell = [];
          return;
        }
        failures += 1;
        await pause(backoffMs(failures, options.random), stopped.signal);
      }
    }
  };

  store.onFilled(pump);

  return {
    start: () => {
      started = true;
      pump();
    },
    tellLost,
    flush: async (until, hurry) => {
      progressAt = performance.now();
      for (const way of ways.values()) way.notBefore = 0;
      pump();
      while (store.waiting().length > 0 || telling !== null) {
        const time = performance.now();
        if (time > until || hurry.aborted || time - progressAt > fruitlessFlushMs) break;
        await pause(20, hurry);
      }
    },
    stop: async () => {
      clearTimeout(timer);
      stopped.abort(new Error('the agent stops'));
      await Promise.all([...running.values(), telling]);
    },
  };
}

function isRetryable(error: unknown): boolean {
  return error instanceof ServiceError && error.retryable;
}
