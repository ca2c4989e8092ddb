import { existsSync, readdirSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentError } from '../../errors.ts';
import { findBrowsers } from '../../script/playwright/browsers.ts';
import { startChild } from '../../script/process/child-process.ts';
import type { Child } from '../../script/process/program.ts';
import { canSandbox } from '../../script/playwright/sandbox.ts';
import { actionMs, launchMs, type BrowserRequest, type Page } from './page.ts';
import { hourMs } from '../../durations.ts';

/**
 * Starts the browser of an agentic check: Chromium, driven by the service's own Playwright in a separate process.
 * The process gets none of the service's environment, is confined like scripts, and has limits on memory and time.
 */
export type OpenBrowser = {
  page: Page;
  /** Kills the process and everything that it has started; resolves when all of it is gone. */
  close: () => Promise<void>;
};

/** Limits of the process, Chromium and its pages together. */
const limits = {
  memoryBytes: 1536 * 1024 ** 2,
  cpuSeconds: 600,
  outputBytes: 1024 ** 2,
  diskBytes: 512 * 1024 ** 2,
  processes: 1024,
};
/** Extra time beyond the process's own timeout of an action. */
const patienceMs = 5_000;
const folderPrefix = 'location-agent-agentic-';

/** No browser is available; the message names the remedy. */
export class NoBrowser extends Error {}

/** The browser stopped during use: it was killed or exceeded a limit. */
export class BrowserGone extends Error {}

/** Opens a page in a new browser. `program`: null = the Chromium found on this machine. Throws NoBrowser. */
export async function openBrowser(program: string | null): Promise<OpenBrowser> {
  const { program: chromium, readable } = await locate(program);
  swept ??= removeLeftFolders(tmpdir(), Date.now());
  await swept;
  const folder = await mkdtemp(join(tmpdir(), folderPrefix));
  try {
    const sandbox = await sandboxWorks(folder);
    const browser = await startBrowserProcess(folder, readable);
    const close = async () => {
      await browser.child.kill();
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    };
    try {
      await browser.ask({ call: 'open', program: chromium, sandbox }, launchMs);
    } catch (error) {
      await close();
      throw error;
    }
    return { page: pageOf(browser), close };
  } catch (error) {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

/** Longer than any run. Older folders were left behind by a service that was killed. */
const leftAfterMs = hourMs;
let swept: Promise<void> | undefined;

/**
 * Removes the folders in `parent` that no browser uses any more at `now` (milliseconds since the epoch). Never
 * rejects.
 */
export async function removeLeftFolders(parent: string, now: number): Promise<void> {
  const names = await readdir(parent).catch((): string[] => []);
  for (const name of names.filter((one) => one.startsWith(folderPrefix))) {
    const folder = join(parent, name);
    const found = await lstat(folder).catch(() => null);
    if (found === null || !found.isDirectory() || now - found.mtimeMs < leftAfterMs) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

type Asked<T = BrowserRequest> = T extends BrowserRequest ? Omit<T, 'id'> : never;
type BrowserProcess = { child: Child; ask: (request: Asked, timeoutMs: number) => Promise<string> };

async function startBrowserProcess(folder: string, readable: readonly string[]): Promise<BrowserProcess> {
  const waiting = new Map<number, { resolve: (value: string) => void; reject: (error: Error) => void }>();
  let last = 0;
  let gone: BrowserGone | null = null;
  const child = await startChild({
    node: process.execPath,
    file: childFile(),
    cwd: folder,
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      HOME: folder,
      TMPDIR: folder,
    },
    readable,
    writable: [folder],
    mayStartPrograms: true,
    browserSandbox: true,
    limits,
    onLine: () => undefined,
    onMessage: (message) => {
      // Pages run inside that process, so its answers are validated.
      const { id, value, error } = (message ?? {}) as { [field in 'id' | 'value' | 'error']?: unknown };
      const asked = typeof id === 'number' ? waiting.get(id) : undefined;
      if (asked === undefined) return;
      if (typeof value === 'string') asked.resolve(value);
      else asked.reject(new Error(typeof error === 'string' ? error : 'the browser sent an invalid answer'));
    },
  });
  void child.ended.then(({ exceeded }) => {
    gone = new BrowserGone(
      exceeded === null ? 'the browser exited' : `the browser exceeded a limit: ${limitTexts[exceeded]}`,
    );
    for (const { reject } of waiting.values()) reject(gone);
  });
  return {
    child,
    ask: async (request, timeoutMs) => {
      if (gone !== null) throw gone;
      const id = ++last;
      let timer: NodeJS.Timeout | undefined;
      try {
        return await new Promise<string>((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          timer = setTimeout(
            () => reject(new BrowserGone('the browser did not answer')),
            timeoutMs + patienceMs,
          );
          child.send({ ...request, id });
        });
      } finally {
        clearTimeout(timer);
        waiting.delete(id);
      }
    },
  };
}

const limitTexts: { readonly [limit in keyof typeof limits]: string } = {
  memoryBytes: `${limits.memoryBytes / 1024 ** 2} MB of memory`,
  cpuSeconds: `${limits.cpuSeconds} s of CPU time`,
  outputBytes: 'its output',
  diskBytes: `${limits.diskBytes / 1024 ** 2} MB on disk`,
  processes: `${limits.processes} processes and threads`,
};

function pageOf({ ask }: BrowserProcess): Page {
  const call = (name: Exclude<BrowserRequest['call'], 'open'>, ...args: (string | number)[]) =>
    ask({ call: name, args }, actionMs);
  const done = async (answer: Promise<string>) => void (await answer);
  return {
    goto: (url) => done(call('goto', url)),
    click: (selector) => done(call('click', selector)),
    fill: (selector, text) => done(call('fill', selector, text)),
    url: () => call('url'),
    title: () => call('title'),
    visibleText: async (max) => (await call('visibleText', max)).slice(0, max),
    screenshot: (secrets) => call('screenshot', ...secrets),
  };
}

let sandboxed: Promise<boolean> | undefined;
/** Whether Chromium's own sandbox works here; tested once. */
function sandboxWorks(folder: string): Promise<boolean> {
  sandboxed ??= canSandbox({ node: process.execPath }, folder).then(({ works }) => works);
  return sandboxed;
}

/** The compiled child process; when running from the sources (in tests), the one in dist. */
function childFile(): string {
  const places = ['./child/browser-main.js', '../../../dist/service/agentic/child/browser-main.js'];
  const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return files.find((file) => existsSync(file)) ?? files.at(-1) ?? '';
}

/** Finds the browser program and the folders that the process must be able to read. Throws NoBrowser. */
async function locate(program: string | null): Promise<{ program: string; readable: string[] }> {
  // The folders with this package's dependencies: Playwright and everything else that the process imports.
  const packages = dirname(dirname(createRequire(import.meta.url).resolve('playwright/package.json')));
  const { chromium, ownBuild } = await findChromium(dirname(packages), program);
  const service = dirname(dirname(dirname(childFile())));
  return {
    program: chromium,
    readable: [
      service,
      // The process refuses addresses by the table of the service.
      join(dirname(service), 'addresses'),
      packages,
      dirname(chromium),
      // Playwright's own builds are one folder deeper than their other files.
      ...(ownBuild ? [dirname(dirname(chromium))] : []),
    ],
  };
}

/**
 * Finds Chromium: the build of the Playwright below `root`, then a runtime's, then the system's; or only `program`.
 * An image may contain only the builds of the runtimes; Playwright can also drive builds of earlier releases.
 */
async function findChromium(
  root: string,
  program: string | null,
): Promise<{ chromium: string; ownBuild: boolean }> {
  const system = program === null ? {} : { installed: [], chromium: [program] };
  const builds = program === null ? [root, ...installedRuntimes()] : [];
  for (const runtimeFolder of builds) {
    const own = await findBrowsers({ runtimeFolder, chromium: [] }).catch(orNull);
    if (own !== null) return own;
  }
  const found = await findBrowsers({ runtimeFolder: root, ...system }).catch(orNull);
  if (found !== null) return found;
  throw new NoBrowser(
    program === null
      ? 'no Chromium is installed on the service host: install the package chromium, or set AGENTIC_BROWSER'
      : `there is no program ${program}: AGENTIC_BROWSER must be the path of a Chromium`,
  );
}

/** For use in catch: returns null for NoBrowser and rethrows any other error. */
function orNull(error: unknown): null {
  if (error instanceof AgentError && error.code === 'BROWSER_UNAVAILABLE') return null;
  throw error;
}

/** Folders of the runtimes whose packages are installed, newest first. */
function installedRuntimes(): string[] {
  for (let folder = new URL('./', import.meta.url), up = 0; up < 6; up++, folder = new URL('../', folder)) {
    const runtimes = fileURLToPath(new URL('runtimes/', folder));
    if (!existsSync(runtimes)) continue;
    const installed = readdirSync(runtimes)
      .sort()
      .reverse()
      .map((name) => join(runtimes, name))
      .filter((path) => existsSync(join(path, 'node_modules', 'playwright-core', 'package.json')));
    if (installed.length > 0) return installed;
  }
  return [];
}
