import { createHash } from 'node:crypto';
import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { AgentError, toError } from '../../errors.ts';
import { isRefusedByDisk } from '../process/full-disk.ts';
import { chromiumWrapper, fullPlaces, putProgram, shellPlaces } from './browser-wrappers.ts';
import { quoted } from '../process/shell-word.ts';
import { codeOf } from '../../system-errors.ts';

/**
 * Playwright looks for its browsers in a directory whose names contain its own revisions. This file creates such a
 * directory for a runtime, with wrappers that start the Chromium that the machine has, so that scripts run unchanged.
 */

export type BrowsersOptions = {
  /** The runtime's folder, with node_modules. */
  runtimeFolder: string;
  /** Browsers directories are created below it. */
  dataFolder: string;
  /** Directories that `playwright install` may have filled; the first match is used. */
  installed?: readonly string[];
  /** Paths of a system Chromium. */
  chromium?: readonly string[];
  ffmpeg?: readonly string[];
  /** Chromium's own sandbox works for the processes that start it. */
  sandbox: boolean;
};

export type Browsers = {
  /** For PLAYWRIGHT_BROWSERS_PATH. */
  folder: string;
  /** The program behind the wrappers. */
  chromium: string;
  /** Playwright's own build, in the revision that the runtime needs. */
  ownBuild: boolean;
  /** Null = no video can be recorded. */
  ffmpeg: string | null;
  /** Folders of the programs, which processes must be able to read. */
  programFolders: string[];
};

/** Default paths; the first that exists is used. */
export const systemChromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser'] as const;
export const systemFfmpeg = ['/usr/bin/ffmpeg'] as const;
/**
 * Where `playwright install` puts its builds, and where Playwright's own images have them. If given, the folder `first`
 * precedes them.
 */
export const playwrightCaches = (first: string | null = null): string[] => [
  ...(first === null ? [] : [first]),
  join(homedir(), '.cache', 'ms-playwright'),
  '/ms-playwright',
];

/** Increase this number when the wrappers change, so that directories of older versions are not used. */
const layout = 3;

/** Finds the programs that a runtime's Playwright will start. Rejects with AgentError BROWSER_UNAVAILABLE or DISK_FULL. */
export async function findBrowsers(
  options: Omit<BrowsersOptions, 'dataFolder' | 'sandbox'>,
): Promise<Omit<Browsers, 'folder' | 'programFolders'> & { shell: string | null; revisions: Revisions }> {
  const revisions = await revisionsOf(options.runtimeFolder);
  const caches = options.installed ?? playwrightCaches();
  const full = await firstFile(within(caches, `chromium-${revisions.chromium}`, fullPlaces));
  const shell = await firstFile(within(caches, `chromium_headless_shell-${revisions.shell}`, shellPlaces));
  const ffmpeg =
    (await firstFile(within(caches, `ffmpeg-${revisions.ffmpeg}`, ['ffmpeg-linux']))) ??
    (await firstFile(options.ffmpeg ?? systemFfmpeg));
  const own = full ?? shell;
  if (own !== null) return { chromium: own, ownBuild: true, ffmpeg, shell, revisions };
  const system = await firstFile(options.chromium ?? systemChromium);
  if (system !== null) return { chromium: system, ownBuild: false, ffmpeg, shell: null, revisions };
  throw new AgentError(
    'BROWSER_UNAVAILABLE',
    'no Chromium is installed here: install the package chromium, or run "npx playwright install chromium" in the ' +
      "runtime's folder",
  );
}

/**
 * The browsers directory of a runtime. It is renamed into place when it is complete and never changes afterwards, so
 * several processes may create it at the same time. Rejects with AgentError BROWSER_UNAVAILABLE (with the remedy) or
 * DISK_FULL.
 */
export async function browsersFor(options: BrowsersOptions): Promise<Browsers> {
  const { chromium, shell, ownBuild, ffmpeg, revisions } = await findBrowsers(options);
  const facts = { layout, chromium, shell, ffmpeg, revisions, sandbox: options.sandbox };
  const name = createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16);
  const parent = join(options.dataFolder, 'browsers');
  const folder = join(parent, name);
  const programs = [chromium, shell, ffmpeg].filter((path) => path !== null);
  const found: Browsers = {
    folder,
    chromium,
    ownBuild,
    ffmpeg,
    // A program may be a link to the folder with its files.
    programFolders: [...new Set(await realFolders(programs))],
  };
  if (await isFile(join(folder, 'complete'))) return found;

  const draft = join(parent, `.${name}-${process.pid}-${process.hrtime.bigint()}`);
  const full = chromiumWrapper(chromium, options.sandbox, false);
  // A headless shell has no other mode, and Playwright does not pass it the flag.
  const headless =
    shell === null
      ? chromiumWrapper(chromium, options.sandbox, true)
      : chromiumWrapper(shell, options.sandbox, false);
  try {
    for (const place of fullPlaces) await putProgram(draft, `chromium-${revisions.chromium}`, place, full);
    for (const place of shellPlaces) {
      await putProgram(draft, `chromium_headless_shell-${revisions.shell}`, place, headless);
    }
    if (ffmpeg !== null) {
      await putProgram(
        draft,
        `ffmpeg-${revisions.ffmpeg}`,
        'ffmpeg-linux',
        `#!/bin/sh\nexec ${quoted(ffmpeg)} "$@"\n`,
      );
    }
    await writeFile(join(draft, 'complete'), '');
    await rename(draft, folder).catch((error: unknown) => {
      // Another process was faster: its directory is identical.
      const code = codeOf(error);
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    });
  } catch (error: unknown) {
    const { message } = toError(error);
    const full = isRefusedByDisk(error);
    throw new AgentError(
      full ? 'DISK_FULL' : 'BROWSER_UNAVAILABLE',
      `the browsers directory ${folder} cannot be created: ${message}`,
      { cause: error },
    );
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return found;
}

async function realFolders(programs: readonly string[]): Promise<string[]> {
  const real = await Promise.all(programs.map((path) => realpath(path).catch(() => path)));
  return [...programs, ...real].map((path) => dirname(path));
}

type Revisions = { chromium: string; shell: string; ffmpeg: string };

async function revisionsOf(runtimeFolder: string): Promise<Revisions> {
  const file = join(runtimeFolder, 'node_modules', 'playwright-core', 'browsers.json');
  let list: unknown;
  try {
    list = (JSON.parse(await readFile(file, 'utf8')) as { browsers?: unknown }).browsers; // checked below
  } catch (error: unknown) {
    throw new AgentError('BROWSER_UNAVAILABLE', `${file}: ${toError(error).message}`, { cause: error });
  }
  const entries = Array.isArray(list) ? (list as { name?: unknown; revision?: unknown }[]) : [];
  const revision = (name: string) => {
    const found = entries.find((entry) => entry.name === name)?.revision;
    return typeof found === 'string' && /^[\w.]{1,32}$/.test(found) ? found : null;
  };
  const chromium = revision('chromium');
  if (chromium === null) {
    throw new AgentError('BROWSER_UNAVAILABLE', `${file} names no Chromium; install the runtime again`);
  }
  // Releases before 1.49 have no separate headless shell.
  return {
    chromium,
    shell: revision('chromium-headless-shell') ?? chromium,
    ffmpeg: revision('ffmpeg') ?? '0',
  };
}

const within = (folders: readonly string[], browser: string, places: readonly string[]): string[] =>
  folders.flatMap((folder) => places.map((place) => join(folder, browser, place)));

/** The first of these paths that is a file. */
export async function firstFile(candidates: readonly string[]): Promise<string | null> {
  for (const candidate of candidates) if (await isFile(candidate)) return candidate;
  return null;
}

/** Whether the path is a file; false if nothing exists there. */
export const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
