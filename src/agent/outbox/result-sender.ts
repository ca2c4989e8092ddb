import { FatalError, ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import { backoffMs, pause } from '../link/backoff.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import type { Outbox } from './outbox.ts';
import { createPatience } from './patience.ts';
import { createResultDelivery } from './result-delivery.ts';
import type { Batch } from './segments.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Hello, Session } from '../link/session.ts';

/** Sends the outbox's results to the service: one batch in flight, oldest first, until each is acknowledged. */
export type ResultSender = {
  start: () => void;
  /**
   * Sends without delay until the outbox is empty, until `until` (performance.now), or until 5 s passed without
   * progress. After `hurry` fires, 3 s remain. Several flushes may go on at the same time.
   */
  flush: (until: number, urgent: AbortSignal) => Promise<void>;
  stop: () => Promise<void>;
};

/** Results that finish within this time share one call. */
const gatherMs = 50;
const maxIdleFlushMs = 5000;
const flushRetryMs = 500;
/** Time that remains after a second signal. Results that were not sent are safe on disk. */
const urgentFlushMs = 3000;
/** Maximum size of a request without its results. */
const envelopeBytes = 4096;

export function createResultSender(options: {
  outbox: Outbox;
  client: ServiceClient;
  session: Session;
  log: Log;
  metrics: AgentMetrics;
  fault: (error: Error, message: string) => void;
  random: () => number;
  /** Called with each result that the service has processed; optional. */
  settled?: (payload: Buffer) => void;
  /** Aborted when the agent stops; later failures are not reported as faults. */
  ending: AbortSignal;
}): ResultSender {
  const { outbox, session, log } = options;
  const stopped = new AbortController();
  const deliver = createResultDelivery({ ...options, signal: stopped.signal });
  const patience = createPatience();
  let running: Promise<void> = Promise.resolve();
  let wake: (() => void) | null = null;
  /** Results were added since the outbox was last read. */
  let hasNewResults = false;
  let flushes = 0;
  /** Fires when a wait must be cut short: the agent drains, or stops. */
  let skipWaits = new AbortController();
  let progressAt = performance.now();

  const filled = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
      if (hasNewResults || stopped.signal.aborted) resolve();
    });
  outbox.onFilled((isCalm) => {
    hasNewResults = true;
    if (!isCalm) patience.hurry();
    wake?.();
  });
  stopped.signal.addEventListener('abort', () => {
    skipWaits.abort();
    wake?.();
  });

  const handle = async (batch: Batch, hello: Hello): Promise<unknown> => {
    const { count, error } = await deliver(hello, batch);
    await batch.acknowledge(count);
    if (count > 0) progressAt = performance.now();
    return error;
  };

  const turn = async (failures: number): Promise<number> => {
    const hello = await session.get(stopped.signal);
    await patience.wait(skipWaits.signal);
    hasNewResults = false;
    const batch = await outbox.nextBatch(
      Math.min(hello.limits.batchItems, protocolLimits.batchItems),
      Math.min(hello.limits.batchBytes, protocolLimits.batchBytes) - envelopeBytes,
    );
    if (batch === null) {
      await filled();
      return 0;
    }
    if (outbox.status().diskResults > batch.payloads.length) patience.hurry();
    const sentAt = performance.now();
    const error = await handle(batch, hello);
    if (error === null) {
      const remainingMs = gatherMs - (performance.now() - sentAt);
      if (remainingMs > 0 && flushes === 0) await pause(remainingMs, stopped.signal);
      return 0;
    }
    patience.hurry();
    if (error instanceof FatalError) throw error;
    if (error instanceof ServiceError && !error.retryable) session.forget(hello.agentId);
    const retryAfterMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(retryAfterMs, backoffMs(failures + 1, options.random));
    if (!stopped.signal.aborted) {
      log.warn(
        { err: toError(error), retryInMs: Math.round(waitMs) },
        'results not delivered; they stay in the outbox',
      );
    }
    await (flushes > 0 ? pause(flushRetryMs, stopped.signal) : pause(waitMs, skipWaits.signal));
    return failures + 1;
  };

  const loop = async () => {
    let failures = 0;
    while (!stopped.signal.aborted) {
      try {
        failures = await turn(failures);
      } catch (error) {
        if (stopped.signal.aborted || options.ending.aborted || error instanceof FatalError) return;
        options.fault(toError(error), 'sending results failed');
        failures += 1;
        await pause(backoffMs(failures, options.random), stopped.signal);
      }
    }
  };

  return {
    start: () => {
      running = loop();
    },
    flush: async (until, urgent) => {
      flushes += 1;
      skipWaits.abort();
      progressAt = performance.now();
      let urgentSince = Infinity;
      while (!outbox.isEmpty() && performance.now() < Math.min(until, urgentSince + urgentFlushMs)) {
        if (urgent.aborted) urgentSince = Math.min(urgentSince, performance.now());
        if (performance.now() - progressAt > maxIdleFlushMs) break;
        await pause(20, stopped.signal);
        if (stopped.signal.aborted) break;
      }
      flushes -= 1;
      if (flushes === 0 && !stopped.signal.aborted) skipWaits = new AbortController();
    },
    stop: async () => {
      stopped.abort(new Error('the agent is stopping'));
      await running;
    },
  };
}
