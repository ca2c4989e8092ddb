import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SuiteBrowser } from '../../../protocol/suite.ts';
import { installEnvironment, programEnvironment, registrySettings } from '../install/environment.ts';
import { networkTrouble, causeOf as npmCauseOf, outputTail } from '../install/output.ts';
import type { Engine, PackageManager, RunProgram, SuitePlace } from '../place/place.ts';
import { playwrightIn } from './wanted.ts';
import { shortened } from '../../../shortened.ts';

/**
 * Two methods to install Playwright's own browser builds. Builds that all runs share are installed by a Playwright that
 * the agent has fetched itself, without a line, a variable or a file of the project. Otherwise the author of a project
 * could plant a program of their own. Builds that the project's own Playwright installs are used only by its run.
 */

type Variables = { readonly [name: string]: string };

type Install = {
  browsers: readonly SuiteBrowser[];
  /** Time limit in milliseconds. */
  timeoutMs: number;
  log: (level: 'info' | 'warn', msg: string) => void;
  signal: AbortSignal;
};

export type SharedInstall = Install & {
  /** Version of the Playwright to fetch: that of the project. */
  version: string;
  /** Folders that the project's Playwright looks for. */
  names: readonly string[];
  engine: Engine;
  /** The agent's own environment for installers: proxies, authorities, registry, download host. */
  environment: Variables;
  /** Returns a function that runs commands with write access only to these folders. */
  runIn: (place: SuitePlace) => RunProgram;
};

/** How the reason begins if a shared install could not even be tried. */
export const noSharedInstall = 'Playwright ';
const fetchMs = 120_000;

/** The host from which the agent's environment fetches builds. */
export const downloadHost = (env: Variables): string =>
  env['PLAYWRIGHT_DOWNLOAD_HOST'] ?? 'the makers of Playwright';

/** Whether a check's own variables change how browsers are downloaded. */
export const hasOwnWay = (env: Variables): boolean =>
  Object.keys(env).some((name) => /^(?:PLAYWRIGHT_\w*DOWNLOAD_HOST|(?:https?|all)_proxy)$/i.test(name));

/**
 * Fetches the given Playwright release from the agent's registry, which vouches for its content, and lets it install
 * these browsers into `folder`, to which no suite program can write. Null = done; otherwise the reason for the failure.
 * Rejects with the signal's reason.
 */
export async function installShared(folder: string, options: SharedInstall): Promise<string | null> {
  const { version, names, engine, environment, signal, timeoutMs } = options;
  const place = await makePlace(join(folder, '.work'));
  for (const [name, text] of Object.entries(registrySettings(environment)))
    await writeFile(join(place.home, name), text, { mode: 0o600 });
  await writeFile(join(place.project, 'package.json'), '{ "private": true }\n');
  const env = {
    ...installEnvironment(programEnvironment({}, { place, engine, manager: { env: {} } }), environment),
    FORCE_COLOR: '0',
    npm_config_fetch_retries: '1',
    npm_config_fetch_retry_mintimeout: '1000',
  };
  const run = options.runIn(place);
  const tail = outputTail();
  const began = performance.now();
  const fetched = await run({
    command: `npm install --ignore-scripts --no-save --no-package-lock --no-audit --no-fund 'playwright-core@${version}'`,
    cwd: place.project,
    env,
    timeoutMs: Math.min(fetchMs, timeoutMs),
    signal,
    onLine: tail.add,
  });
  if (fetched.aborted) signal.throwIfAborted();
  const core = join(place.project, 'node_modules', 'playwright-core');
  const found = fetched.code === 0 ? await playwrightIn(core) : null;
  // The project's version may be a tag, which is another release each month.
  if (found?.version !== version) {
    const lines = tail.lines();
    const cause = networkTrouble('npm', lines) ?? npmCauseOf('npm', lines) ?? lines.at(-1) ?? 'npm failed';
    const why = fetched.timedOut ? 'npm did not finish in time' : shortened(cause.trim(), 500);
    return `${noSharedInstall}${version} cannot be fetched from the agent's registry: ${why}`;
  }
  const own = Object.values(found.folders);
  const strange = names.filter((name) => !own.includes(name));
  if (strange.length > 0)
    return `${noSharedInstall}${version}, from the agent's registry, has no ${strange.join(', ')}`;
  return runInstall(`node '${join(core, 'cli.js')}'`, {
    ...options,
    run,
    cwd: place.project,
    folder,
    env,
    timeoutMs: timeoutMs - (performance.now() - began),
  });
}

/**
 * Runs `playwright install` of the project's own Playwright, with the check's own settings, into a folder that only its
 * run uses.
 */
export function installOwn(
  folder: string,
  options: Install & {
    place: SuitePlace;
    manager: Pick<PackageManager, 'exec'>;
    env: Variables;
    run: RunProgram;
  },
): Promise<string | null> {
  const { place, manager } = options;
  return runInstall(`${manager.exec} playwright`, { ...options, cwd: place.working, folder });
}

async function runInstall(
  playwright: string,
  options: Install & { run: RunProgram; cwd: string; folder: string; env: Variables },
): Promise<string | null> {
  const { browsers, run, cwd, folder, env, timeoutMs, signal } = options;
  const lines: string[] = [];
  const end = await run({
    command: `${playwright} install ${browsers.join(' ')}`,
    cwd,
    env: {
      // A host that does not answer must not use up the whole stage.
      PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT: '10000',
      ...env,
      PLAYWRIGHT_BROWSERS_PATH: folder,
      PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '',
      PLAYWRIGHT_SKIP_BROWSER_GC: '1',
    },
    writable: [folder],
    timeoutMs: Math.max(1, timeoutMs),
    signal,
    onLine: (line) => {
      lines.push(line);
      if (lines.length > 100) lines.shift();
    },
  });
  if (end.aborted) signal.throwIfAborted();
  if (end.code === 0) return null;
  const how = end.timedOut ? `it did not finish within ${Math.round(timeoutMs / 1000)} s` : causeOf(lines);
  return `playwright install failed: ${shortened((how ?? `exit code ${end.code}`).trim(), 500)}`;
}

/** The line of `playwright install`'s output that gives the cause of its failure; null = there is none. */
function causeOf(lines: readonly string[]): string | null {
  const messages = lines.filter((line) => line.trim() !== '' && !/^\s*at \S/.test(line));
  const errors = messages.filter((line) => /^\s*Error\b/.test(line));
  const names = (line: string) =>
    /\bE[A-Z]{4,}\b|\bgetaddrinfo\b|\b[Tt]imed out\b|certificate|\bHTTP\b|\bstatus\b/.test(line);
  return errors.findLast(names) ?? messages.findLast(names) ?? errors.at(-1) ?? messages.at(-1) ?? null;
}

/** Folders that belong to no run. */
async function makePlace(root: string): Promise<SuitePlace> {
  const project = join(root, 'project');
  const place: SuitePlace = {
    root,
    project,
    working: project,
    home: join(root, 'home'),
    temporary: join(root, 'tmp'),
    report: join(root, 'report'),
  };
  for (const path of [place.project, place.home, place.temporary, place.report])
    await mkdir(path, { recursive: true, mode: 0o700 });
  return place;
}
