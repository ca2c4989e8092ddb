import { AgentError, InvalidJobError } from '../../errors.ts';
import { browsersFor, findBrowsers, type Browsers, type BrowsersOptions } from './browsers.ts';
import { scriptTypeRows } from '../child/script-types.ts';
import { beforeItsTurn, childSlots } from '../process/child-slots.ts';
import type { ChildLimits } from '../process/program.ts';
import { createWarmProcesses } from './warm-processes.ts';
import { canSandbox } from './sandbox.ts';
import { removeLeftFolders, startProcess, type WarmProcess } from './process.ts';
import { runOnce } from './once.ts';
import type { PlaywrightRun } from '../interface/playwright-run.ts';
import type { Runtime } from '../process/runtimes.ts';
import type { PlaywrightOptions } from '../interface/scripts.ts';

export type RunnerOptions = {
  dataFolder: string;
  slots: number;
  extraCaFile?: string | null;
  warn: (line: string) => void;
  /** Limits of one run with its browser; missing ones have their defaults. */
  limits?: Partial<ChildLimits>;
  /** Milliseconds after which a waiting process is removed. */
  idleMs?: number;
  /** Milliseconds that Chromium may take to start. */
  browserStartMs?: number;
  /** Where to look for browsers; absent = the usual paths. */
  browsers?: Pick<BrowsersOptions, 'installed' | 'chromium' | 'ffmpeg'>;
};

export type PlaywrightRunner = {
  run: (runtime: Runtime, options: PlaywrightOptions) => Promise<PlaywrightRun>;
  close: () => Promise<void>;
};

const gigabyte = 1024 ** 3;
/** Limits of one run: two processes of Node and a Chromium with its pages. */
export const defaultLimits: ChildLimits = {
  memoryBytes: 2.5 * gigabyte,
  cpuSeconds: 600,
  outputBytes: 16 * 1024 ** 2,
  diskBytes: 2 * gigabyte,
  processes: 1024,
};
const defaultIdleMs = 5 * 60_000;
/** A busy machine takes several seconds; a test's own timeout is 30 s. */
const defaultBrowserStartMs = 25_000;

/**
 * Runs scripts on Playwright Test, in processes that are kept warm: one waits per runtime, and each serves one run. No
 * process waits if runs are further apart than its idle time.
 */
export function createPlaywrightRunner(options: RunnerOptions): PlaywrightRunner {
  const limits = { ...defaultLimits, ...options.limits };
  const idleMs = options.idleMs ?? defaultIdleMs;
  const browsersOf = new Map<string, Promise<Browsers>>();
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  /** When the last run of each runtime ended, by performance.now(). */
  const lastEnd = new Map<string, number>();

  const browsers = (runtime: Runtime): Promise<Browsers> => {
    const known = browsersOf.get(runtime.folder);
    if (known !== undefined) return known;
    const found = prepareBrowsers(runtime, options);
    browsersOf.set(runtime.folder, found);
    // The next run finds a Chromium that is installed later.
    found.catch(() => browsersOf.delete(runtime.folder));
    return found;
  };
  const start = async (runtime: Runtime): Promise<WarmProcess> => {
    await removeLeftFolders(options.dataFolder);
    return startProcess({
      runtime,
      browsers: await browsers(runtime),
      dataFolder: options.dataFolder,
      extraCaFile: options.extraCaFile ?? null,
      limits,
    });
  };
  const warmProcesses = createWarmProcesses({ start, idleMs, signal: closing.signal });

  const run = async (runtime: Runtime, given: PlaywrightOptions): Promise<PlaywrightRun> => {
    const signal = AbortSignal.any([given.signal, closing.signal]);
    signal.throwIfAborted();
    // If the previous process was removed unused, the next one would be too: a start takes a third of a run's processor
    // time.
    const isSeldom = performance.now() - (lastEnd.get(runtime.folder) ?? performance.now()) > idleMs;
    if (scriptTypeRows[given.checkType].needsMultiStepSupport && !runtime.multiStepSupport) {
      throw new InvalidJobError(
        'RUNTIME_UNAVAILABLE',
        `runtime ${runtime.name} does not support multi-step checks`,
      );
    }
    const release = await childSlots.take('playwright', signal).catch((error: unknown) => {
      throw beforeItsTurn(error);
    });
    try {
      const found = await browsers(runtime);
      return await runOnce(await warmProcesses.take(runtime), {
        ...given,
        signal,
        runtime,
        browsers: found,
        extraCaFile: options.extraCaFile ?? null,
        outputBytes: limits.outputBytes,
        browserStartMs: options.browserStartMs ?? defaultBrowserStartMs,
      });
    } finally {
      release();
      lastEnd.set(runtime.folder, performance.now());
      // Not during another run's measurements: the end of that run starts the next process.
      if (running.size <= 1 && !isSeldom) warmProcesses.warm(runtime);
    }
  };

  return {
    run: (runtime, given) => {
      const started = run(runtime, given);
      const settled = started.then(
        () => undefined,
        () => undefined,
      );
      running.add(settled);
      void settled.then(() => running.delete(settled));
      return started;
    },
    close: async () => {
      closing.abort(new AgentError('INTERNAL', 'the agent is stopping'));
      await Promise.all([...running, warmProcesses.close()]);
    },
  };
}

async function prepareBrowsers(runtime: Runtime, options: RunnerOptions): Promise<Browsers> {
  // First check whether there is any browser, because that error has the more useful remedy.
  await findBrowsers({ runtimeFolder: runtime.folder, ...options.browsers });
  const sandbox = await canSandbox(runtime, options.dataFolder);
  if (!sandbox.works) options.warn(`Chromium runs without its own sandbox: ${sandbox.why}`);
  const found = await browsersFor({
    runtimeFolder: runtime.folder,
    dataFolder: options.dataFolder,
    ...options.browsers,
    sandbox: sandbox.works,
  });
  if (found.ffmpeg === null) options.warn('no ffmpeg is installed here: browser checks record no video');
  return found;
}
