import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createWaiting } from '../scheduling/waiting-agents.ts';
import { hasGoingRun } from './statements.ts';
import { sessionsChannel } from '../scheduling/session-runs.ts';
import type { Db } from '../db/database.ts';
import { isOver } from './rules.ts';
import type { StartedSession } from './sessions.ts';

/** A session is looked at so often without any notification, should one have been lost. */
const safetyMs = 2_000;

export type SessionWaiting = {
  /** `read` once all runs have ended; null = they had not within the time, the client left, or the service stops. */
  untilOver(
    request: FastifyRequest,
    wait: { id: string; maxWaitMs: number; read: () => Promise<StartedSession> },
  ): Promise<StartedSession | null>;
};

/** Long polls for the end of sessions. It listens from the first one on. */
export function createSessionWaiting(app: FastifyInstance, db: Db): SessionWaiting {
  const waiting = createWaiting(db, sessionsChannel);
  const stopping = new AbortController();
  let listening: Promise<void> | null = null;
  let waiters = 0;
  // Before the server waits for its requests to end: long polls would keep it waiting.
  app.addHook('preClose', async () => stopping.abort());
  app.addHook('onClose', async () => {
    if (listening !== null) await waiting.stop();
  });

  return {
    untilOver: async (request, { id, maxWaitMs, read }) => {
      listening ??= waiting.start().catch((error: unknown) => {
        listening = null;
        throw error;
      });
      await listening;
      const gone = new AbortController();
      const onClose = () => gone.abort();
      request.raw.socket.once('close', onClose);
      const signal = AbortSignal.any([gone.signal, stopping.signal]);
      // By the clock: a timeout's signal that only a combined one refers to may be collected before it fires.
      const end = performance.now() + maxWaitMs;
      // Each waiter is a kind of its own: all are to be woken.
      const kind = String(++waiters);
      let isFirst = true;
      try {
        for (;;) {
          const woken = new AbortController();
          // Before it is read, so that no notification falls between the two.
          const wake = waiting.wait({
            locationId: id,
            kind,
            timeoutMs: Math.min(safetyMs, Math.max(0, end - performance.now())),
            signal: AbortSignal.any([signal, woken.signal]),
          });
          try {
            // A session may have thousands of runs, and each that ends wakes: it is read whole only at the first look, and at the end.
            if (isFirst || !(await hasGoingRun(db, id))) {
              const found = await read();
              if (isOver(found.runs)) return found;
            }
            isFirst = false;
            await wake;
          } finally {
            woken.abort();
          }
          if (gone.signal.aborted || stopping.signal.aborted || performance.now() >= end) return null;
        }
      } finally {
        request.raw.socket.off('close', onClose);
      }
    },
  };
}
