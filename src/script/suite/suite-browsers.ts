import { mkdir, realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentError } from '../../errors.ts';
import type { Suite, SuiteBrowser } from '../../protocol/suite.ts';
import { chromiumWrapper, fullPlaces, putProgram, shellPlaces } from '../browser-wrappers.ts';
import { quoted } from '../shell-word.ts';
import { firstFile, isFile, playwrightCaches, systemChromium, systemFfmpeg } from '../browsers.ts';
import type { BrowserStore } from './browser-store.ts';
import type { PackageManager, RunProgram, SuitePlace } from './suite-place.ts';
import { playwrightOf, wantedBrowsers } from './wanted-browsers.ts';

export type SuiteBrowsersOptions = {
  place: SuitePlace;
  suite: Pick<Suite, 'browsers' | 'configPath'>;
  manager: Pick<PackageManager, 'name' | 'exec'>;
  /** Of installers: with proxies, authorities and PLAYWRIGHT_DOWNLOAD_HOST, where there are any. */
  env: { readonly [name: string]: string };
  run: RunProgram;
  store: BrowserStore;
  /** Chromium's own sandbox works for the processes that start it. */
  sandbox: boolean;
  /** Milliseconds that an install may take. */
  timeoutMs: number;
  log: (level: 'info' | 'warn', msg: string) => void;
  signal: AbortSignal;
  /** Where builds of Playwright's may stand already, and the programs of the system; the usual places where absent. */
  installed?: readonly string[];
  chromium?: readonly string[];
  ffmpeg?: readonly string[];
};

export type SuiteBrowsers = {
  playwrightVersion: string | null;
  /** PLAYWRIGHT_BROWSERS_PATH. */
  env: { [name: string]: string };
  /** What programs must be able to read for that. */
  readable: string[];
  /** Browsers that could not be had, with the reason: a run that then lacks one is no failure of the customer's. */
  missing: { browser: SuiteBrowser; why: string }[];
};

/** Names in `browsers.json` of what each browser needs; the optional ones come after. */
const parts: { readonly [B in SuiteBrowser]: readonly string[] } = {
  chromium: ['chromium', 'chromium-headless-shell'],
  firefox: ['firefox'],
  webkit: ['webkit'],
};

/**
 * Gives a project the browsers that its Playwright asks for: builds that stand on the machine or were installed by an
 * earlier run, else those that `playwright install` brings, else, for Chromium, the system's own under the wanted revision.
 * A browser that can't be had is told in `missing`: the suite may not need it after all.
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
    log('warn', 'no Playwright was found among the packages of the project: no browser is made ready');
    return found;
  }
  found.playwrightVersion = playwright.version;
  const { browsers, channels } = await wantedBrowsers(place, options.suite);
  for (const channel of channels) {
    log(
      'warn',
      `channel ${channel}: this browser is installed by its maker alone, the agent does not bring it`,
    );
  }
  const nameOf = (part: string) => playwright.folders[part];
  const needed = (browser: SuiteBrowser) => parts[browser].map(nameOf).filter((name) => name !== undefined);
  const here = async (name: string) =>
    (await inCaches(options.installed ?? playwrightCaches(), name)) ?? (await store.find(name));
  const link = async (name: string, path: string) => {
    await symlink(path, join(folder, name)).catch(() => undefined);
    found.readable.push(await realpath(path));
  };
  const lacking: SuiteBrowser[] = [];
  for (const browser of browsers) {
    const paths = await Promise.all(needed(browser).map(here));
    if (paths.includes(null)) lacking.push(browser);
  }
  const why = lacking.length === 0 ? null : await install(lacking, lacking.flatMap(needed), options);

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
      log('warn', `${browser} can't be had: ${why ?? 'this Playwright names none'}`);
      continue;
    }
    await mapChromium(folder, { names, program, sandbox: options.sandbox });
    found.readable.push(...(await foldersOf(program)));
    log(
      'info',
      `Chromium is the system's own, ${program}, in the place of ${names[0] ?? 'the wanted revision'}`,
    );
  }
  const ffmpeg = nameOf('ffmpeg');
  if (ffmpeg !== undefined) {
    const own = await here(ffmpeg);
    const system = own === null ? await firstFile(options.ffmpeg ?? systemFfmpeg) : null;
    if (own !== null) await link(ffmpeg, own);
    else if (system !== null) {
      await putProgram(folder, ffmpeg, 'ffmpeg-linux', `#!/bin/sh\nexec ${quoted(system)} "$@"\n`);
      found.readable.push(...(await foldersOf(system)));
    } else log('warn', 'no ffmpeg is here: tests that record videos fail');
  }
  return found;
}

/** `playwright install` of the project's own Playwright into the store. Why not, where it could not; else null. */
async function install(
  browsers: readonly SuiteBrowser[],
  names: readonly string[],
  { place, manager, env, run, store, timeoutMs, log, signal }: SuiteBrowsersOptions,
): Promise<string | null> {
  if (names.length === 0) return 'this Playwright names none';
  const from = env['PLAYWRIGHT_DOWNLOAD_HOST'] ?? 'the makers of Playwright';
  return store.add(names, {
    from,
    signal,
    install: async (folder) => {
      log('info', `installing ${browsers.join(', ')} from ${from}`);
      const lines: string[] = [];
      const end = await run({
        command: `${manager.exec} playwright install ${browsers.join(' ')}`,
        cwd: place.working,
        env: {
          // A host that does not answer must not take the whole stage.
          PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT: '10000',
          ...env,
          PLAYWRIGHT_BROWSERS_PATH: folder,
          PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '',
          PLAYWRIGHT_SKIP_BROWSER_GC: '1',
        },
        writable: [folder],
        timeoutMs,
        signal,
        onLine: (line) => {
          lines.push(line);
          if (lines.length > 100) lines.shift();
        },
      });
      if (end.aborted) signal.throwIfAborted();
      if (end.code === 0) return null;
      const how = end.timedOut ? `it did not end within ${Math.round(timeoutMs / 1000)} s` : causeOf(lines);
      return `playwright install failed: ${(how ?? `exit code ${end.code}`).trim().slice(0, 500)}`;
    },
  });
}

/** The line of what `playwright install` printed that tells why it failed; null = there is none. */
function causeOf(lines: readonly string[]): string | null {
  const told = lines.filter((line) => line.trim() !== '' && !/^\s*at \S/.test(line));
  const errors = told.filter((line) => /^\s*Error\b/.test(line));
  const names = (line: string) =>
    /\bE[A-Z]{4,}\b|\bgetaddrinfo\b|\b[Tt]imed out\b|certificate|\bHTTP\b|\bstatus\b/.test(line);
  return errors.findLast(names) ?? told.findLast(names) ?? errors.at(-1) ?? told.at(-1) ?? null;
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
 * Our fault, when tests failed because a browser was not there that could not be had: said instead of a failed check. Null
 * where that is not what they failed of.
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
  const told = missing.map(({ browser, why }) => `${browser}: ${why}`).join('; ');
  const what = told === '' ? 'a browser of the project could not be started on this host' : told;
  return new AgentError('BROWSER_UNAVAILABLE', `${what}; run "location-agent doctor" on this host`);
}

async function inCaches(caches: readonly string[], name: string): Promise<string | null> {
  for (const cache of caches) {
    if (await isFile(join(cache, name, 'INSTALLATION_COMPLETE'))) return join(cache, name);
  }
  return null;
}

async function foldersOf(program: string): Promise<string[]> {
  return [...new Set([dirname(program), dirname(await realpath(program))])];
}
