import { lstat, mkdir, realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentError } from '../../../errors.ts';
import type { Suite, SuiteBrowser } from '../../../protocol/suite.ts';
import { chromiumWrapper, fullPlaces, putProgram, shellPlaces } from '../../playwright/browser-wrappers.ts';
import { quoted } from '../../process/shell-word.ts';
import {
  firstFile,
  isFile,
  playwrightCaches,
  systemChromium,
  systemFfmpeg,
} from '../../playwright/browsers.ts';
import {
  downloadHost,
  hasOwnWay,
  installOwn,
  installShared,
  noSharedInstall,
  type SharedInstall,
} from './install.ts';
import { unreachable, type BrowserStore } from './store.ts';
import type { PackageManager, RunProgram, SuitePlace } from '../place/place.ts';
import { playwrightOf, wantedBrowsers } from './wanted.ts';

export type SuiteBrowsersOptions = Pick<SharedInstall, 'engine' | 'environment' | 'runIn'> & {
  place: SuitePlace;
  suite: Pick<Suite, 'browsers' | 'configPath'>;
  manager: Pick<PackageManager, 'name' | 'exec'>;
  /** The environment of the project's installers: with proxies, authorities and PLAYWRIGHT_DOWNLOAD_HOST, if set. */
  env: { readonly [name: string]: string };
  /** The check's own variables. */
  checkEnv: { readonly [name: string]: string };
  run: RunProgram;
  store: BrowserStore;
  /** Chromium's own sandbox works for the processes that start it. */
  sandbox: boolean;
  /** Time limit of an install in milliseconds. */
  timeoutMs: number;
  log: (level: 'info' | 'warn', msg: string) => void;
  signal: AbortSignal;
  /** Folders that may already contain Playwright's builds, and paths of system programs; absent = the usual paths. */
  installed?: readonly string[];
  chromium?: readonly string[];
  ffmpeg?: readonly string[];
};

export type SuiteBrowsers = {
  playwrightVersion: string | null;
  /** PLAYWRIGHT_BROWSERS_PATH. */
  env: { [name: string]: string };
  /** The paths that programs must be able to read to use the browsers. */
  readable: string[];
  /** Browsers that could not be installed, with the reason: a run that then lacks one is not the customer's failure. */
  missing: { browser: SuiteBrowser; why: string }[];
};

/** Names in `browsers.json` that each browser needs; the optional ones follow. */
const parts: { readonly [B in SuiteBrowser]: readonly string[] } = {
  chromium: ['chromium', 'chromium-headless-shell'],
  firefox: ['firefox'],
  webkit: ['webkit'],
};

/**
 * Provides the browsers that a project's Playwright needs. It uses builds that are on the machine or were installed for
 * an earlier run, then builds that `playwright install` fetches (install.ts), and for Chromium finally the system's own
 * under the wanted revision. Browsers that cannot be installed are listed in `missing`, because the suite may not need
 * them.
 */
export async function prepareBrowsers(options: SuiteBrowsersOptions): Promise<SuiteBrowsers> {
  const { place, log, store } = options;
  const folder = join(place.root, 'browsers');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found: SuiteBrowsers = {
    playwrightVersion: null,
    env: { PLAYWRIGHT_BROWSERS_PATH: folder },
    readable: [],
    missing: [],
  };
  const playwright = await playwrightOf(options);
  if (playwright === null) {
    log('warn', "no Playwright was found among the project's packages: no browser is prepared");
    return found;
  }
  found.playwrightVersion = playwright.version;
  const { browsers, channels } = await wantedBrowsers(place, options.suite);
  for (const channel of channels) {
    log('warn', `channel ${channel}: only its vendor installs this browser; the agent does not provide it`);
  }
  const nameOf = (part: string) => playwright.folders[part];
  const needed = (browser: SuiteBrowser) => parts[browser].map(nameOf).filter((name) => name !== undefined);
  const own = join(place.root, 'own-browsers');
  const here = async (name: string) =>
    (await inCaches(options.installed ?? playwrightCaches(), name)) ??
    (await store.find(name)) ??
    (await inOwn(own, name));
  const link = async (name: string, path: string) => {
    await symlink(path, join(folder, name)).catch(() => undefined);
    // The browsers that the project has installed are in the run's folders and must not link elsewhere.
    if (!path.startsWith(`${own}/`)) found.readable.push(await realpath(path));
  };
  const lacking: SuiteBrowser[] = [];
  for (const browser of browsers) {
    const paths = await Promise.all(needed(browser).map(here));
    if (paths.includes(null)) lacking.push(browser);
  }
  const { version } = playwright;
  const names = lacking.flatMap(needed);
  const why =
    lacking.length === 0 ? null : await install({ browsers: lacking, names, version, own }, options);

  for (const browser of browsers) {
    const names = needed(browser);
    const paths = await Promise.all(names.map(here));
    const isWhole = names.length > 0 && !paths.includes(null);
    if (isWhole) {
      for (const [index, path] of paths.entries()) await link(names[index] ?? '', path ?? '');
      continue;
    }
    const program = browser === 'chromium' ? await firstFile(options.chromium ?? systemChromium) : null;
    if (program === null) {
      found.missing.push({ browser, why: why ?? 'it is not among the browsers of this Playwright' });
      log('warn', `${browser} cannot be installed: ${why ?? 'this Playwright has none'}`);
      continue;
    }
    await mapChromium(folder, { names, program, sandbox: options.sandbox });
    found.readable.push(...(await foldersOf(program)));
    log('info', `using the system's Chromium, ${program}, in place of ${names[0] ?? 'the wanted revision'}`);
  }
  const ffmpeg = nameOf('ffmpeg');
  if (ffmpeg !== undefined) {
    const own = await here(ffmpeg);
    const system = own === null ? await firstFile(options.ffmpeg ?? systemFfmpeg) : null;
    if (own !== null) await link(ffmpeg, own);
    else if (system !== null) {
      await putProgram(folder, ffmpeg, 'ffmpeg-linux', `#!/bin/sh\nexec ${quoted(system)} "$@"\n`);
      found.readable.push(...(await foldersOf(system)));
    } else log('warn', 'no ffmpeg is installed here: tests that record videos fail');
  }
  return found;
}

/**
 * Installs missing browsers. If only the agent's own environment decides how, they go to the store for all runs,
 * otherwise to a folder of this run. Returns the reason if it could not install them, else null.
 */
async function install(
  lacking: { browsers: readonly SuiteBrowser[]; names: readonly string[]; version: string; own: string },
  options: SuiteBrowsersOptions,
): Promise<string | null> {
  const { environment, checkEnv, store, log, signal } = options;
  const { browsers, names, version, own } = lacking;
  if (names.length === 0) return 'this Playwright has none';
  const words = browsers.join(', ');
  let why: string | null = 'the check sets its own download host or proxy';
  if (!hasOwnWay(checkEnv)) {
    const from = downloadHost(environment);
    why = await store.add(names, {
      from,
      version,
      signal,
      install: (folder) => {
        log('info', `installing ${words} of Playwright ${version} from ${from}`);
        return installShared(folder, { ...options, browsers, names, version });
      },
    });
    if (why === null || !why.startsWith(noSharedInstall)) return why;
    // If no registry is reachable and nobody has configured another host, each run would wait in vain.
    if (unreachable.test(why) && environment['PLAYWRIGHT_DOWNLOAD_HOST'] === undefined) return why;
  }
  const from = downloadHost(options.env);
  log('info', `installing ${words} only for this run, with its own Playwright, from ${from}: ${why}`);
  await mkdir(own, { mode: 0o700 });
  return installOwn(own, { ...options, browsers });
}

async function mapChromium(
  folder: string,
  { names, program, sandbox }: { names: readonly string[]; program: string; sandbox: boolean },
): Promise<void> {
  for (const name of names) {
    const shell = name.startsWith('chromium_headless_shell-');
    for (const place of shell ? shellPlaces : fullPlaces)
      await putProgram(folder, name, place, chromiumWrapper(program, sandbox, shell));
  }
}

/**
 * The agent error to report instead of a failed check if tests failed because a browser that could not be installed was
 * missing. Null if the tests failed for another reason.
 */
export function browserFault(
  errors: readonly string[],
  { missing }: Pick<SuiteBrowsers, 'missing'>,
): AgentError | null {
  const lack = errors.some((text) =>
    /Executable doesn't exist at|Host system is missing dependencies|Failed to launch .*ENOENT|distribution '[\w-]+' is not (?:found|supported)/.test(
      text,
    ),
  );
  if (!lack) return null;
  const details = missing.map(({ browser, why }) => `${browser}: ${why}`).join('; ');
  const message = details === '' ? 'a browser of the project could not be started on this host' : details;
  return new AgentError('BROWSER_UNAVAILABLE', `${message}; run "location-agent doctor" on this host`);
}

async function inCaches(caches: readonly string[], name: string): Promise<string | null> {
  for (const cache of caches) {
    if (await isFile(join(cache, name, 'INSTALLATION_COMPLETE'))) return join(cache, name);
  }
  return null;
}

/** Whether the folder that the project's own Playwright filled contains no link, which could lead out of it. */
async function inOwn(folder: string, name: string): Promise<string | null> {
  const path = join(folder, name);
  const isFolder = (await lstat(path).catch(() => null))?.isDirectory() ?? false;
  return isFolder && (await isFile(join(path, 'INSTALLATION_COMPLETE'))) ? path : null;
}

async function foldersOf(program: string): Promise<string[]> {
  return [...new Set([dirname(program), dirname(await realpath(program))])];
}
