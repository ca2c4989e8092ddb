import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Suite } from '../../../src/protocol/suite.ts';
import {
  chromiumWrapper,
  fullPlaces,
  putProgram,
  shellPlaces,
} from '../../../src/script/playwright/browser-wrappers.ts';
import { firstFile, systemChromium } from '../../../src/script/playwright/browsers.ts';
import { findEngines } from '../../../src/script/suite/install/engines.ts';
import { packBundle } from '../../../src/script/suite/bundle/pack.ts';
import { createSuiteRunner } from '../../../src/script/suite/run-suite.ts';
import type { SuiteRunnerOptions } from '../../../src/script/suite/session.ts';
import type { SuiteOptions, SuiteRun } from '../../../src/script/interface/suite-run.ts';
import { noDownloads, registryVariables } from './suite-registry.ts';

/** Runs of Playwright suites for tests, as an agent runs them: bundles, installs and browsers are real. */

export const suiteFixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'suites');

/** The engines (installed by the set-up) and a Chromium are there. Packages need a registry as well. */
export const hasSuites = (() => {
  const folder = mkdtempSync(join(tmpdir(), 'suite-engines-'));
  try {
    return findEngines(folder).length > 0 && systemChromium.some((path) => existsSync(path));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
})();
if (!hasSuites)
  process.stderr.write(
    'skipped here: Playwright suites, which need a Chromium and: node scripts/engines.mjs install\n',
  );

export type SuiteTestRun = {
  run: Promise<SuiteRun>;
  workDir: string;
  log: string[];
  stages: string[];
  secrets: string[];
  withheld: string[];
  /** Aborts it. */
  abort: AbortController;
  /** Settles with the first line of the log that has this text. */
  line: (text: string) => Promise<string>;
};

export type SuiteBench = {
  folder: string;
  /** Packs a folder and runs it. */
  start: (
    project: string,
    options?: Partial<Omit<SuiteOptions, 'suite'>> & { suite?: Partial<Suite> },
  ) => Promise<SuiteTestRun>;
  /** Command lines of processes that belong to its runs. */
  processes: () => string[];
  close: () => Promise<void>;
};

/**
 * Several runs that share an agent's data folder. Variables of a registry are handed on as an agent would. `builds`: the
 * machine's Chromium stands where Playwright's own builds do, as after a `playwright install` on the host; else the agent
 * finds out that it can't install them, which takes seconds.
 */
export function startSuites({
  builds = false,
  ...options
}: Partial<SuiteRunnerOptions> & { builds?: boolean } = {}): SuiteBench {
  const folder = mkdtempSync(join(tmpdir(), 'suites-'));
  const playwrightBrowsersPath = join(folder, 'builds');
  const prepared = builds ? layBuilds(playwrightBrowsersPath) : Promise.resolve();
  const bundles = join(folder, 'bundles');
  mkdirSync(bundles);
  const runner = createSuiteRunner({
    dataFolder: join(folder, 'data'),
    warn: (line) => process.stderr.write(`${line}\n`),
    fetchBundle: ({ key }, { path }) => Promise.resolve(copyFileSync(join(bundles, key), path)),
    installEnvironment: { ...registryVariables(), ...noDownloads },
    ...(builds ? { playwrightBrowsersPath } : {}),
    ...options,
  });
  let count = 0;
  return {
    folder,
    start: async (project, more = {}) => {
      await prepared;
      count += 1;
      const key = `bundle-${count}`;
      const packed = await packBundle({ folder: project, to: join(bundles, key), needsLockFile: false });
      const workDir = mkdtempSync(join(folder, 'work-'));
      const log: string[] = [];
      const stages: string[] = [];
      const secrets: string[] = [];
      const withheld: string[] = [];
      const abort = new AbortController();
      const waiting: { text: string; found: (line: string) => void }[] = [];
      const { suite, ...given } = more;
      const run = runner.run({
        workDir,
        env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', SERVICE_RUN: '1' },
        signal: abort.signal,
        log: (_level, line) => {
          log.push(line);
          for (const each of waiting) if (line.includes(each.text)) each.found(line);
        },
        onStage: (stage) => void stages.push(stage),
        addSecret: (_name, value) => void secrets.push(value),
        withhold: (why) => void withheld.push(why),
        ...given,
        suite: {
          bundle: { key, digest: packed.digest, size: packed.size },
          workingDir: packed.workingDir,
          installCommand: null,
          testCommand: null,
          configPath: null,
          projects: [],
          tags: [],
          engine: null,
          browsers: [],
          maxMinutes: 30,
          refreshCache: false,
          ...suite,
        },
      });
      run.catch(() => undefined);
      return {
        run,
        workDir,
        log,
        stages,
        secrets,
        withheld,
        abort,
        line: (text) =>
          new Promise((resolve, reject) => {
            const known = log.find((line) => line.includes(text));
            if (known !== undefined) return resolve(known);
            waiting.push({ text, found: resolve });
            run
              .finally(() => reject(new Error(`no line has ${text}:\n${log.join('\n')}`)))
              .catch(() => undefined);
          }),
      };
    },
    processes: () => processesOf(folder),
    close: async () => {
      await runner.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Chromium's revisions in Playwright 1.48.2, 1.58.2 and 1.65.1. Others take the longer way. */
const revisions = [1140, 1208, 1255];

/** Makes the folder one with builds of Chromium in it, as Playwright's own, that start the machine's. */
export async function layBuilds(folder: string): Promise<void> {
  const program = await firstFile(systemChromium);
  if (program === null) throw new Error('there is no Chromium');
  for (const revision of revisions) {
    for (const place of fullPlaces)
      await putProgram(folder, `chromium-${revision}`, place, chromiumWrapper(program, false, false));
    for (const place of shellPlaces) {
      const shell = `chromium_headless_shell-${revision}`;
      await putProgram(folder, shell, place, chromiumWrapper(program, false, true));
    }
  }
}

/** A project with the packages of the fixture `npm-features` and these files. */
export function makeProject(folder: string, files: { [path: string]: string }): string {
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json'])
    cpSync(join(suiteFixtures, 'npm-features', name), join(folder, name));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function processesOf(folder: string): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return line.includes(folder) || readlinkSync(`/proc/${name}/cwd`).startsWith(folder) ? [line] : [];
    } catch {
      return []; // it has just ended
    }
  });
}
