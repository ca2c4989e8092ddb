import { startApiChild, type ApiChild } from './child.ts';
import type { Runtime } from '../process/runtimes.ts';

/** Processes that wait for a run, so that no run waits for a start. Each process is used once. */
export type ApiChildPool = {
  take: (runtime: Runtime) => ApiChild;
  close: () => Promise<void>;
};

/** One process waits per runtime that was ever used, and a second one while runs arrive quickly. */
const busyTarget = 2;
const quietMs = 10_000;

/** `extraCaFile`: see ScriptsOptions. */
export function createApiChildPool(extraCaFile: string | null = null): ApiChildPool {
  const waiting = new Map<string, ApiChild[]>();
  const alive = new Set<ApiChild>();
  const timers = new Set<NodeJS.Timeout>();
  const lastTaken = new Map<string, number>();
  let closed = false;

  const start = (runtime: Runtime): ApiChild => {
    const child = startApiChild(runtime, extraCaFile);
    alive.add(child);
    void child.ended.then(() => alive.delete(child));
    return child;
  };

  const idleOf = (runtime: Runtime): ApiChild[] => {
    const idle = (waiting.get(runtime.name) ?? []).filter((child) => !child.hasEnded());
    waiting.set(runtime.name, idle);
    return idle;
  };

  const refill = (runtime: Runtime) => {
    if (closed) return;
    const idle = idleOf(runtime);
    const now = performance.now();
    const quick = now - (lastTaken.get(runtime.name) ?? -Infinity) < quietMs;
    lastTaken.set(runtime.name, now);
    while (idle.length < (quick ? busyTarget : 1)) idle.push(start(runtime));
    if (idle.length < 2) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      const since = performance.now() - (lastTaken.get(runtime.name) ?? 0);
      if (since >= quietMs) for (const child of idleOf(runtime).splice(1)) void child.kill();
    }, quietMs + 100);
    timer.unref();
    timers.add(timer);
  };

  return {
    take: (runtime) => {
      const child = idleOf(runtime).shift() ?? start(runtime);
      // Start the next process only when this one is ready, because both would compete for the same cores.
      child.ready.then(
        () => refill(runtime),
        () => undefined,
      );
      return child;
    },
    close: async () => {
      closed = true;
      for (const timer of timers) clearTimeout(timer);
      await Promise.all([...alive].map((child) => child.kill()));
    },
  };
}
