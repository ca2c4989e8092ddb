import type { WarmProcess } from './process.ts';
import type { Runtime } from '../process/runtimes.ts';

/** Test runners that wait for a run: at most one per runtime. */
export type WarmProcesses = {
  /** Starts a process that waits, unless one does already or the runner is closing. */
  warm: (runtime: Runtime) => void;
  /** The waiting process, or a new one if none waits or it has exited. */
  take: (runtime: Runtime) => Promise<WarmProcess>;
  /** Removes the waiting processes; resolves when all removed ones are gone. */
  close: () => Promise<void>;
};

/** `idleMs`: milliseconds after which a waiting process is removed; no process is warmed after `signal` has fired. */
export function createWarmProcesses({
  start,
  idleMs,
  signal,
}: {
  start: (runtime: Runtime) => Promise<WarmProcess>;
  idleMs: number;
  signal: AbortSignal;
}): WarmProcesses {
  const waiting = new Map<string, { process: Promise<WarmProcess>; timer: NodeJS.Timeout }>();
  const discarding = new Set<Promise<void>>();

  const discard = (process: Promise<WarmProcess>) => {
    const done = (async () => {
      const made = await process.catch(() => null);
      await made?.discard();
    })();
    discarding.add(done);
    void done.finally(() => discarding.delete(done));
  };
  const warm = (runtime: Runtime) => {
    if (signal.aborted || waiting.has(runtime.folder)) return;
    const process = start(runtime);
    const drop = () => {
      if (waiting.get(runtime.folder)?.process !== process) return;
      waiting.delete(runtime.folder);
      discard(process);
    };
    const timer = setTimeout(drop, idleMs);
    timer.unref();
    waiting.set(runtime.folder, { process, timer });
    process.then((made) => made.child.ended).then(drop, drop);
  };
  const take = async (runtime: Runtime): Promise<WarmProcess> => {
    const waited = waiting.get(runtime.folder);
    waiting.delete(runtime.folder);
    clearTimeout(waited?.timer);
    const ready = await waited?.process.catch(() => undefined);
    if (ready === undefined) return start(runtime);
    if (ready.end === null) return ready;
    await ready.discard();
    return start(runtime);
  };
  const close = async (): Promise<void> => {
    for (const { process, timer } of waiting.values()) {
      clearTimeout(timer);
      discard(process);
    }
    waiting.clear();
    await Promise.all(discarding);
  };

  return { warm, take, close };
}
