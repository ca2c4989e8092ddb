import { availableParallelism, totalmem } from 'node:os';
import { JobAborted } from '../../errors.ts';
import { startProgram } from '../process/child-process.ts';
import type { ChildLimits, Program } from '../process/program.ts';
import type { Confinement } from '../process/confinement.ts';
import type { ProgramEnd, RunProgram, SuitePlace } from './place/place.ts';

/** Milliseconds between asking a program to exit and killing it: a cancelled run ends within 6 s. */
export const defaultGraceMs = 5000;
/**
 * Maximum number of files below a run's folders: a workspace with several copies of its packages has hundreds of
 * thousands.
 */
const maxFiles = 1_000_000;

/** A worker with its browser has about ten processes, whichever browser it is. */
const processesAtOnce = 512;

const gigabyte = 1024 ** 3;
/** Maximum number of processes of one suite with its workers, browsers and servers. */
const maxMemory = 6.8 * gigabyte;
const leastMemory = gigabyte;

/**
 * Limits of one suite's programs if `slots` may run at once: they share most of the memory that this process may use.
 * The processor time follows from a program's time limit.
 */
export function suiteLimits(slots: number): Omit<ChildLimits, 'cpuSeconds'> {
  const constrained = process.constrainedMemory();
  const memory = Math.min(
    totalmem(),
    constrained !== undefined && constrained > 0 ? constrained : Number.POSITIVE_INFINITY,
  );
  const share = (memory * 0.85) / Math.max(1, slots);
  return {
    memoryBytes: Math.floor(Math.max(leastMemory, Math.min(maxMemory, share))),
    outputBytes: 64 * 1024 ** 2,
    diskBytes: 8 * gigabyte,
    processes: 4096,
  };
}

/** The name of each limit in messages. */
export const boundNames: { readonly [L in keyof ChildLimits]: string } = {
  memoryBytes: 'memory',
  cpuSeconds: 'processor time',
  outputBytes: 'output',
  diskBytes: 'disk space',
  processes: 'processes',
};

export type ProgramRunnerOptions = {
  place: Pick<SuitePlace, 'root' | 'project' | 'home' | 'temporary' | 'report'>;
  limits: Omit<ChildLimits, 'cpuSeconds'>;
  /** Paths that every program of the run may read in addition to its own folders and the system; evaluated at each start. */
  readable: () => readonly string[];
  /** Its programs may be Bun, which starts only if it can list every folder above its working folder. */
  bun?: () => boolean;
  /** Layers to use instead of all that work here. */
  layers?: Promise<Confinement>;
};

/**
 * Returns a function that runs the shell commands of one suite, each in its own process group under a supervisor, with
 * write access to the run's folders. A signal that fires with JobAborted `cancelled` or `deadline` asks the program to
 * exit; any other kills it. Rejects with AgentError SANDBOX_UNAVAILABLE if the program cannot be started.
 */
export function programRunner(options: ProgramRunnerOptions): RunProgram {
  const { place } = options;
  // Not the root: the suite must not change the agent's files there.
  const own = [place.project, place.home, place.temporary, place.report];
  return async ({ command, cwd, env, signal, timeoutMs, ...asked }) => {
    if (signal.aborted) return { code: null, signal: null, exceeded: null, timedOut: false, aborted: true };
    const program = await startProgram(
      {
        command: ['/bin/sh', '-c', command],
        cwd,
        env,
        readable: [place.root, ...options.readable(), ...(asked.readable ?? [])],
        writable: [...own, ...(asked.writable ?? [])],
        shared: asked.shared ?? [],
        ...(options.bun?.() === true || /\bbunx?\b/.test(command) ? { listable: ['/'] } : {}),
        mayStartPrograms: true,
        limits: {
          ...options.limits,
          cpuSeconds: Math.ceil((timeoutMs / 1000) * availableParallelism()),
        },
        maxFiles,
        processesAtOnce,
        temporary: place.temporary,
        own: place.root,
        browserSandbox: asked.browserSandbox === true,
        onLine: asked.onLine,
      },
      options.layers,
    );
    return follow(program, { signal, timeoutMs, graceMs: asked.graceMs ?? defaultGraceMs });
  };
}

async function follow(
  program: Program,
  { signal, timeoutMs, graceMs }: { signal: AbortSignal; timeoutMs: number; graceMs: number },
): Promise<ProgramEnd> {
  let timedOut = false;
  let aborted = false;
  const onAbort = () => {
    aborted = true;
    const { reason } = signal;
    const gently =
      reason instanceof JobAborted && (reason.code === 'cancelled' || reason.code === 'deadline');
    void (gently ? program.end(graceMs) : program.kill());
  };
  const timer = setTimeout(() => {
    timedOut = true;
    void program.end(graceMs);
  }, timeoutMs);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  const end = await program.ended;
  clearTimeout(timer);
  signal.removeEventListener('abort', onAbort);
  // The kernel sends this signal to a process that writes beyond the file size limit; the shell reports it as 128 + 25.
  const largeFile = end.signal === 'SIGXFSZ' || end.code === 153 ? 'diskBytes' : null;
  return { ...end, exceeded: end.exceeded ?? largeFile, timedOut, aborted };
}
