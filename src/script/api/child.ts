import { AgentError, toError } from '../../errors.ts';
import { childFile } from '../process/child-file.ts';
import { startChild } from '../process/child-process.ts';
import type { Child, ChildEnd } from '../process/program.ts';
import { foldersOf, type Runtime } from '../process/runtimes.ts';

/** A process for setup and teardown scripts: it waits for one run, serves it, and is then killed. */
export type ApiChild = {
  send: (message: unknown) => void;
  /** From now on, the listeners get its output and messages. */
  attend: (listeners: ChildListeners) => void;
  /** Resolves when the process can take scripts. Rejects with AgentError if it does not start. */
  readonly ready: Promise<void>;
  readonly ended: Promise<ChildEnd>;
  readonly hasEnded: () => boolean;
  kill: () => Promise<ChildEnd>;
};

export type ChildListeners = {
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  onMessage: (message: unknown) => void;
};

const megabyte = 1024 * 1024;
const startMs = 30_000;

/** Resident memory limit for setup and teardown scripts of one run, in megabytes. Half of it is for the JavaScript heap. */
export const memoryMegabytes = 512;

const limits = {
  memoryBytes: memoryMegabytes * megabyte,
  // Four scripts of 10 s, and the start.
  cpuSeconds: 45,
  outputBytes: megabyte,
  diskBytes: megabyte,
  processes: 64,
};

const noListeners: ChildListeners = { onLine: () => undefined, onMessage: () => undefined };

/** Starts a process on the runtime's Node. It has no folder of its own: scripts and their files arrive by message. */
export function startApiChild(runtime: Runtime, extraCaFile: string | null = null): ApiChild {
  let listeners = noListeners;
  let ended = false;
  let reportedReady = false;
  let isReady: () => void = () => undefined;
  let isBroken: (error: AgentError) => void = () => undefined;
  const ready = new Promise<void>((resolve, reject) => {
    isReady = () => {
      clearTimeout(timer);
      resolve();
    };
    isBroken = reject;
  });
  ready.catch(() => undefined); // callers handle the rejection, if anyone waits
  const timer: NodeJS.Timeout = setTimeout(
    () => isBroken(new AgentError('INTERNAL', `the script process did not start within ${startMs / 1000} s`)),
    startMs,
  );
  timer.unref();
  const started: Promise<Child> = startChild({
    node: runtime.node,
    nodeFlags: [`--max-old-space-size=${memoryMegabytes / 2}`, '--no-deprecation'],
    file: childFile('api/main'),
    cwd: runtime.folder,
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      // Node reads it once, at start.
      ...(extraCaFile === null ? {} : { NODE_EXTRA_CA_CERTS: extraCaFile }),
    },
    readable: [...foldersOf(runtime), ...(extraCaFile === null ? [] : [extraCaFile])],
    writable: [],
    mayStartPrograms: false,
    limits,
    onLine: (line, stream) => listeners.onLine(line, stream),
    onMessage: (message) => {
      const kind: unknown = typeof message === 'object' && message !== null && Reflect.get(message, 'kind');
      if (kind === 'ready' && !reportedReady) {
        reportedReady = true;
        isReady();
      } else listeners.onMessage(message);
    },
    onGarbage: () => listeners.onMessage(undefined),
  });
  const end = started.then(
    (child) => child.ended,
    (error: unknown): ChildEnd => {
      isBroken(error instanceof AgentError ? error : new AgentError('INTERNAL', toError(error).message));
      return { code: null, signal: null, exceeded: null };
    },
  );
  const finished = end.then((how) => {
    ended = true;
    clearTimeout(timer);
    isBroken(new AgentError('INTERNAL', `the script process exited during startup (${endText(how)})`));
    return how;
  });
  const unstarted = (): undefined => undefined; // `ready` rejects with the reason
  return {
    send: (message) => void started.then((child) => child.send(message), unstarted),
    attend: (next) => {
      listeners = next;
    },
    ready,
    ended: finished,
    hasEnded: () => ended,
    kill: async () => {
      await started.then((child) => child.kill(), unstarted);
      return finished;
    },
  };
}

/** How a process ended, in a few words. */
export function endText({ code, signal }: ChildEnd): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`;
}
