import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AgentError } from '../../errors.ts';
import { playwrightCaches } from '../playwright/browsers.ts';
import { quoted } from '../process/shell-word.ts';
import { openDependencyCache } from './install/dependency-cache.ts';
import { chooseEngine, findEngines } from './install/engines.ts';
import { installDependencies, type Installed } from './install/install.ts';
import { installEnvironment, programEnvironment } from './install/environment.ts';
import { choosePackageManager, type ChosenManager } from './install/package-manager.ts';
import { prepareBrowsers, type SuiteBrowsers } from './browsers/browsers.ts';
import { testCommandOf } from './command.ts';
import { injectConfig } from './config.ts';
import { checkWorking } from './place/folders.ts';
import type { Engine, ProgramEnd, SuitePlace } from './place/place.ts';
import type { Run } from './session.ts';
import { checkBundle, unpackBundle } from './bundle/unpack.ts';

/** The work of each stage up to the end of the tests. All reject with SuiteFailed, AgentError or the signal's reason. */

export async function bringBundle({ given, host, place, deadline, log }: Run): Promise<void> {
  const { bundle } = given.suite;
  const { signal } = deadline;
  if (host.fetchBundle === undefined) {
    throw new AgentError('BUNDLE_UNAVAILABLE', 'this agent cannot fetch code bundles');
  }
  const archive = join(place.root, 'bundle.tar.gz');
  await host.fetchBundle(bundle, { path: archive, signal });
  await checkBundle({ archive, digest: bundle.digest, size: bundle.size, signal });
  const { files, bytes } = await unpackBundle({ archive, folder: place.project, signal });
  await checkWorking(place);
  log('info', `the code bundle has ${files} files, ${(bytes / 1024 ** 2).toFixed(1)} MiB`);
}

export type Tools = {
  engine: Engine;
  manager: ChosenManager;
  installed: Installed;
  env: { [name: string]: string };
};

export async function install(run: Run): Promise<Tools> {
  const { given, host, place, deadline, log, facts } = run;
  const { suite } = given;
  const engine = chooseEngine(findEngines(host.dataFolder, host.enginesFolder), suite.engine, log);
  facts.engine = engine;
  run.readable.push(...engine.readable);
  const manager = choosePackageManager({ place, suite, engine, log });
  facts.packageManager = manager;
  const env = programEnvironment(hostVariables(run), { place, engine, manager });
  const installed = await installDependencies({
    place,
    suite,
    engine,
    manager,
    env,
    beneath: host.installEnvironment ?? {},
    run: run.program,
    cache:
      host.dependencyCache === 'off'
        ? null
        : openDependencyCache({
            folder: join(host.dataFolder, 'dependencies'),
            log: (line) => log('info', line),
          }),
    log,
    signal: deadline.signal,
  });
  facts.dependencyCache = installed.dependencyCache;
  return { engine, manager, installed, env };
}

/** The check's variables, which override the host's. */
function hostVariables({ given, host, place }: Run): { [name: string]: string } {
  const { extraCaFile } = host;
  return {
    FORCE_COLOR: '0',
    // The folders above a run's folder belong to the agent.
    GIT_CEILING_DIRECTORIES: place.root,
    ...(extraCaFile === null || extraCaFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: extraCaFile }),
    ...given.env,
  };
}

export async function bringBrowsers(run: Run, { engine, manager, env }: Tools): Promise<SuiteBrowsers> {
  const { given, host, place, deadline, log, facts } = run;
  const browsers = await prepareBrowsers({
    place,
    suite: given.suite,
    manager,
    env: installEnvironment(env, host.installEnvironment ?? {}),
    checkEnv: given.env,
    run: run.program,
    engine,
    environment: host.installEnvironment ?? {},
    runIn: (apart) => run.programIn(apart, () => engine.readable),
    store: host.store,
    installed: [
      ...(typeof host.playwrightBrowsersPath === 'string' ? [host.playwrightBrowsersPath] : []),
      ...playwrightCaches(),
    ],
    sandbox: await host.sandbox(),
    timeoutMs: deadline.remaining(),
    log,
    signal: deadline.signal,
  });
  facts.playwrightVersion = browsers.playwrightVersion;
  run.readable.push(...browsers.readable);
  return browsers;
}

export async function runTests(
  run: Run,
  { manager, env, browsers }: Tools & { browsers: SuiteBrowsers },
): Promise<ProgramEnd> {
  const { given, place, deadline, log, facts } = run;
  const injected = await injectConfig({ place, suite: given.suite });
  const { command, warnings } = testCommandOf({ suite: given.suite, manager });
  for (const warning of warnings) log('warn', warning);
  log('info', `running: ${command}`);
  const quick = given.suite.testCommand === null ? quickExec(place, manager) : null;
  const began = performance.now();
  const end = await run.program({
    browserSandbox: true,
    command: quick === null ? command : testCommandOf({ suite: given.suite, manager: quick }).command,
    cwd: place.working,
    env: { ...env, ...browsers.env, ...injected.env },
    // The run's own deadline stops it; this only sets the limit for processor time.
    timeoutMs: deadline.remaining() + 60_000,
    signal: deadline.signal,
    onLine: run.output.take,
  });
  facts.testMs = performance.now() - began;
  facts.exitCode = end.code;
  return end;
}

/** As with npx, the project's programs come first in PATH. npx itself would take half a second to find Playwright there. */
function quickExec(place: SuitePlace, { exec }: ChosenManager): { exec: string } | null {
  const here = join(place.working, 'node_modules', '.bin');
  if (exec !== 'npx' || !existsSync(join(here, 'playwright'))) return null;
  const folders: string[] = [];
  for (let folder = place.working; ; folder = dirname(folder)) {
    folders.push(join(folder, 'node_modules', '.bin'));
    if (folder === place.project) return { exec: `PATH=${quoted(folders.join(':'))}:"$PATH"` };
  }
}
