import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createWaiting } from '../scheduling/waiting-agents.ts';
import { hasGoingRun } from './statements.ts';
import { sessionsChannel } from '../scheduling/session-runs.ts';
import type { Db } from '../db/database.ts';
import { isOver } from './rules.ts';
import type { StartedSession } from './sessions.ts';

/** Interval between checks of a session without a notification, in case one was lost. */
const safetyMs = 2_000;

export type SessionWaiting = {
  /** Returns the result of `read` when all runs have finished; null after a timeout, a disconnect or a shutdown. */
  untilOver(
    request: FastifyRequest,
    wait: { id: string; maxWaitMs: number; read: () => Promise<StartedSession> },
  ): Promise<StartedSession | null>;
};

/** Long polls for the end of sessions. Listening starts with the first poll. */
export function createSessionWaiting(app: FastifyInstance, db: Db): SessionWaiting {
  const waiting = createWaiting(db, sessionsChannel);
  const stopping = new AbortController();
  let listening: Promise<void> | null = null;
  let waiters = 0;
  // Runs before the server waits for active requests, because long polls would delay it.
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
      // Compared with the clock: a signal of AbortSignal.timeout that only a combined signal refers to may be collected
      // early.
      const end = performance.now() + maxWaitMs;
      // Each waiter has its own kind, so that all of them are woken.
      const kind = String(++waiters);
      let isFirst = true;
      try {
        for (;;) {
          const woken = new AbortController();
          // Begins before the read, so that no notification is lost in between.
          const wake = waiting.wait({
            locationId: id,
            kind,
            timeoutMs: Math.min(safetyMs, Math.max(0, end - performance.now())),
            signal: AbortSignal.any([signal, woken.signal]),
          });
          try {
            // A session may have thousands of runs, and each finished run wakes this loop. The complete session is read
            // only the first time and at the end.
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
