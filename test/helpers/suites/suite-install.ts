import { cpSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  openDependencyCache,
  type DependencyCache,
} from '../../../src/script/suite/install/dependency-cache.ts';
import { chooseEngine, findEngines } from '../../../src/script/suite/install/engines.ts';
import { installDependencies, type Installed } from '../../../src/script/suite/install/install.ts';
import { programEnvironment } from '../../../src/script/suite/install/environment.ts';
import {
  choosePackageManager,
  type ChosenManager,
} from '../../../src/script/suite/install/package-manager.ts';
import { programRunner, suiteLimits } from '../../../src/script/suite/program.ts';
import type { Engine, SuitePlace } from '../../../src/script/suite/place/place.ts';
import type { Suite } from '../../../src/protocol/suite.ts';
import { registryVariables } from './suite-registry.ts';

/** Installs of small projects as a run makes them, for tests. */

export const managersFolder = join(import.meta.dirname, '..', '..', 'fixtures', 'managers');

/** Below it: what belongs to the machine, as the agent's data folder. */
export const dataFolder = mkdtempSync(join(tmpdir(), 'suite-data-'));

/** What `npm test` brings; empty where it could not. */
export const enginesHere: readonly Engine[] = findEngines(dataFolder);
if (enginesHere.length === 0)
  process.stderr.write('skipped here: tests of suites: node scripts/engines.mjs install\n');

/** Folders of one run, its project a copy of `from`. */
export function placeOf(from: string | null, workingDir = ''): SuitePlace {
  const root = mkdtempSync(join(dataFolder, 'run-'));
  const place = {
    root,
    project: join(root, 'project'),
    working: join(root, 'project', workingDir),
    home: join(root, 'home'),
    temporary: join(root, 'tmp'),
    report: join(root, 'report'),
  };
  for (const folder of [place.project, place.home, place.temporary, place.report])
    mkdirSync(folder, { recursive: true });
  if (from !== null) cpSync(from, place.project, { recursive: true });
  return place;
}

export type Log = { level: string; msg: string }[];

export type RunOf = {
  place: SuitePlace;
  suite?: Partial<Suite>;
  engine?: Engine;
  cache?: DependencyCache | null;
  env?: { [name: string]: string };
  beneath?: { [name: string]: string };
  timeoutMs?: number;
  signal?: AbortSignal;
};

/** The way to run commands of that run, and its log. */
export function runOf(options: RunOf) {
  const { place } = options;
  const engine = options.engine ?? chooseEngine(enginesHere, null);
  const suite = { installCommand: null, refreshCache: false, ...options.suite };
  const log: Log = [];
  const say = (level: string, msg: string): void => void log.push({ level, msg });
  const run = programRunner({ place, limits: suiteLimits(1), readable: () => engine.readable });
  const manager = choosePackageManager({ place, suite, engine, log: say });
  const env = programEnvironment(
    { LANG: 'C.UTF-8', PATH: '/usr/local/bin:/usr/bin:/bin', ...options.env },
    { place, engine, manager },
  );
  const signal = options.signal ?? AbortSignal.timeout(110_000);
  return {
    log,
    manager,
    suite,
    install: (): Promise<Installed> =>
      installDependencies({
        place,
        suite,
        engine,
        manager,
        env,
        beneath: options.beneath ?? registryVariables(),
        run,
        cache: options.cache ?? null,
        log: say,
        signal,
        ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
      }),
    /** Output of a shell command in the working folder. */
    say: async (command: string): Promise<string> => {
      const lines: string[] = [];
      const end = await run({
        command,
        cwd: place.working,
        env,
        timeoutMs: 30_000,
        signal,
        // Yarn 1 warns where the cache of the user who runs the tests can't be written.
        onLine: (line) => line.startsWith('warning ') || lines.push(line),
      });
      return end.code === 0 ? lines.join('\n') : `${lines.join('\n')}\nexit code ${end.code}`;
    },
  };
}

/** A cache in a folder, and what it says. */
export function cacheIn(
  folder: string,
  more: { maxBytes?: number; now?: () => number } = {},
): { cache: DependencyCache; said: string[] } {
  const said: string[] = [];
  return { cache: openDependencyCache({ folder, log: (line) => said.push(line), ...more }), said };
}

export type { ChosenManager };
