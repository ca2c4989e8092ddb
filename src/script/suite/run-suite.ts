import { join } from 'node:path';
import { AgentError } from '../../errors.ts';
import type { LogEntry } from '../../protocol/result.ts';
import { isFull } from '../full-disk.ts';
import { canSandbox } from '../playwright-sandbox.ts';
import { createBrowserStore, type BrowserStore } from './browser-store.ts';
import { openDependencyCache } from './dependency-cache.ts';
import { chooseEngine, findEngines } from './engines.ts';
import { installDependencies, type Installed } from './install.ts';
import { installEnvironment, programEnvironment } from './install-environment.ts';
import { choosePackageManager, type ChosenManager } from './package-manager.ts';
import { browserFault, prepareBrowsers, type SuiteBrowsers } from './suite-browsers.ts';
import { testCommandOf } from './suite-command.ts';
import { injectConfig } from './suite-config.ts';
import { agentEnds, startDeadline, type SuiteDeadline } from './suite-deadline.ts';
import { checkWorking, makePlace, removeLeftTemporary, removePlace } from './suite-folders.ts';
import { openOutput, type SuiteOutput } from './suite-output.ts';
import {
  SuiteFailed,
  type Engine,
  type ProgramEnd,
  type RunProgram,
  type SuitePlace,
} from './suite-place.ts';
import { programRunner, suiteLimits } from './suite-program.ts';
import { readSuiteReport } from './suite-report.ts';
import { cutReason, emptyFacts, runOf, type SuiteFacts } from './suite-result.ts';
import type { FetchBundle, SuiteOptions, SuiteRun } from './suite-run.ts';
import { createStages, type SuiteStages } from './suite-stages.ts';
import { checkBundle, unpackBundle } from './unpack-bundle.ts';

export type SuiteRunnerOptions = {
  /** Where browsers, dependency caches and other things that outlive a run are kept. */
  dataFolder: string;
  extraCaFile?: string | null;
  /** What suites run on (`findEngines`); absent = that of the package. */
  enginesFolder?: string;
  /** Absent = this host has no way to a bundle. */
  fetchBundle?: FetchBundle;
  /**
   * Added to the environment of installers (packages and browsers) alone, beneath the check's own variables: proxies, with
   * their passwords, authorities, registries. Never part of what tests see.
   */
  installEnvironment?: { readonly [name: string]: string };
  /** Where dependencies of passing runs are kept for later ones; absent = local. */
  dependencyCache?: 'local' | 'off';
  /** Suites that may run at a time: they share the memory. Absent = one. */
  suiteSlots?: number;
  warn: (line: string) => void;
  /** Milliseconds between two words of a stage that lasts. */
  stageWordMs?: number;
};

export type SuiteRunner = {
  /** As `Scripts.runSuite`. */
  run: (options: SuiteOptions) => Promise<SuiteRun>;
  close: () => Promise<void>;
};

const outputName = 'output.log';

/** What runs share. */
type Host = SuiteRunnerOptions & {
  store: BrowserStore;
  closing: AbortSignal;
  sandbox: () => Promise<boolean>;
};

/** What the stages of one run share. */
type Run = {
  given: SuiteOptions;
  host: Host;
  place: SuitePlace;
  deadline: SuiteDeadline;
  stages: SuiteStages;
  output: SuiteOutput;
  /** To the run's log, and to the file of its output. */
  log: (level: LogEntry['level'], msg: string) => void;
  program: RunProgram;
  /** What programs may read besides the run's folders and the system; stages add to it. */
  readable: string[];
  facts: SuiteFacts;
};

/** Runs Playwright suites. How many at a time is the caller's to decide (`suiteSlots`): none waits here. */
export function createSuiteRunner(options: SuiteRunnerOptions): SuiteRunner {
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  let sandbox: Promise<boolean> | undefined;
  const host: Host = {
    ...options,
    store: createBrowserStore(join(options.dataFolder, 'suite-browsers')),
    closing: closing.signal,
    sandbox: () =>
      (sandbox ??= canSandbox({ node: process.execPath }, options.dataFolder).then(({ works }) => works)),
  };
  let cleaned: Promise<void> | undefined;
  return {
    run: (given) => {
      cleaned ??= removeLeftTemporary();
      const run = runSuite(given, host);
      const settled = run.then(
        () => undefined,
        () => undefined,
      );
      running.add(settled);
      void settled.then(() => running.delete(settled));
      return run;
    },
    close: async () => {
      closing.abort(agentEnds());
      await Promise.all([...running, cleaned]);
    },
  };
}

/** One run, from the bundle to the report. */
async function runSuite(given: SuiteOptions, host: Host): Promise<SuiteRun> {
  const { suite } = given;
  given.signal.throwIfAborted();
  host.closing.throwIfAborted();
  const facts = emptyFacts(suite.maxMinutes * 60_000);
  const deadline = startDeadline({
    limitMs: facts.limitMs,
    signal: given.signal,
    closing: host.closing,
  });
  let run: Run | null = null;
  let installed: Installed | null = null;
  try {
    run = await openRun({ given, host, deadline, facts });
    const { stages } = run;
    const told = run;
    await stages.run('bundle', () => bringBundle(told));
    const tools = await stages.run('install', () => install(told));
    installed = tools.installed;
    const browsers = await stages.run('browsers', () => bringBrowsers(told, tools));
    const end = await stages.run('test', () => runTests(told, { ...tools, browsers }));
    const result = await stages.run('report', () => report(told, { end, browsers }));
    deadline.throwIfLost();
    if (result.failure === null) await installed.keep();
    return { ...result, files: await withOutput(run, result.files) };
  } catch (error: unknown) {
    deadline.throwIfLost();
    const cut = deadline.cut();
    // What else goes wrong while a run is ended comes of that.
    if (cut === null && !(error instanceof SuiteFailed)) throw error;
    const reason = cut === null && error instanceof SuiteFailed ? error.reason : cutReason(facts, cut);
    const result = runOf(facts, { stages: run?.stages.times ?? [], reason });
    return { ...result, files: run === null ? [] : await withOutput(run, []) };
  } finally {
    deadline.stop();
    await installed?.discard();
    await run?.output.close();
    if (run !== null) await removePlace(run.place);
  }
}

async function openRun({
  given,
  host,
  deadline,
  facts,
}: Pick<Run, 'given' | 'host' | 'deadline' | 'facts'>): Promise<Run> {
  const place = await makePlace(given.workDir, given.suite.workingDir);
  const output = openOutput(join(place.root, outputName), (line) => given.log('info', line));
  const log: Run['log'] = (level, msg) => {
    output.note(msg);
    given.log(level, msg);
  };
  const readable = host.extraCaFile === null || host.extraCaFile === undefined ? [] : [host.extraCaFile];
  const stages = createStages({
    log,
    onStage: given.onStage,
    ...(host.stageWordMs === undefined ? {} : { everyMs: host.stageWordMs }),
  });
  const program = programRunner({
    place,
    limits: suiteLimits(host.suiteSlots ?? 1),
    readable: () => readable,
    bun: () => [facts.engine?.name, facts.packageManager?.name].includes('bun'),
  });
  deadline.signal.addEventListener('abort', () => {
    const cut = deadline.cut();
    if (cut === null) return;
    const where = stages.current() ?? 'no stage was going on';
    const seconds = Math.round((facts.limitMs - deadline.remaining()) / 1000);
    const why = cut === 'cancelled' ? ' because it was cancelled' : '';
    facts.endedIn = `the suite was ended${why} after ${seconds} s, while ${where}`;
    log(cut === 'cancelled' ? 'warn' : 'error', facts.endedIn);
  });
  return { given, host, place, deadline, stages, output, log, program, readable, facts };
}

async function bringBundle({ given, host, place, deadline, log }: Run): Promise<void> {
  const { bundle } = given.suite;
  const { signal } = deadline;
  if (host.fetchBundle === undefined) {
    throw new AgentError('BUNDLE_UNAVAILABLE', 'this agent has no way to code bundles');
  }
  const archive = join(place.root, 'bundle.tar.gz');
  await host.fetchBundle(bundle, { path: archive, signal });
  await checkBundle({ archive, digest: bundle.digest, size: bundle.size, signal });
  const { files, bytes } = await unpackBundle({ archive, folder: place.project, signal });
  await checkWorking(place);
  log('info', `the code bundle has ${files} files, ${(bytes / 1024 ** 2).toFixed(1)} MiB`);
}

type Tools = {
  engine: Engine;
  manager: ChosenManager;
  installed: Installed;
  env: { [name: string]: string };
};

async function install(run: Run): Promise<Tools> {
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

/** The check's variables, and beneath them what is the host's to say. */
function hostVariables({ given, host, place }: Run): { [name: string]: string } {
  const { extraCaFile } = host;
  return {
    FORCE_COLOR: '0',
    // What stands above a run's folder is the agent's.
    GIT_CEILING_DIRECTORIES: place.root,
    ...(extraCaFile === null || extraCaFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: extraCaFile }),
    ...given.env,
  };
}

async function bringBrowsers(run: Run, { engine, manager, env }: Tools): Promise<SuiteBrowsers> {
  const { given, host, place, deadline, log, facts } = run;
  const browsers = await prepareBrowsers({
    place,
    suite: given.suite,
    engine,
    manager,
    env: installEnvironment(env, host.installEnvironment ?? {}),
    run: run.program,
    store: host.store,
    sandbox: await host.sandbox(),
    timeoutMs: deadline.remaining(),
    log,
    signal: deadline.signal,
  });
  facts.playwrightVersion = browsers.playwrightVersion;
  run.readable.push(...browsers.readable);
  return browsers;
}

async function runTests(
  run: Run,
  { manager, env, browsers }: Tools & { browsers: SuiteBrowsers },
): Promise<ProgramEnd> {
  const { given, place, deadline, log, facts } = run;
  const injected = await injectConfig({ place, suite: given.suite });
  const { command, warnings } = testCommandOf({ suite: given.suite, manager });
  for (const warning of warnings) log('warn', warning);
  log('info', `running: ${command}`);
  const began = performance.now();
  const end = await run.program({
    command,
    cwd: place.working,
    env: { ...env, ...browsers.env, ...injected.env },
    // The run's own clock ends it; this is for what the processors may be used.
    timeoutMs: deadline.remaining() + 60_000,
    signal: deadline.signal,
    onLine: run.output.take,
  });
  facts.testMs = performance.now() - began;
  facts.exitCode = end.code;
  return end;
}

/** What the tests left, and what came of the run. Rejects with AgentError when it is our fault that it failed. */
async function report(
  run: Run,
  { end, browsers }: { end: ProgramEnd; browsers: SuiteBrowsers },
): Promise<SuiteRun> {
  const { given, place, deadline, log, facts, output, stages } = run;
  const cut = deadline.cut();
  const found = await readSuiteReport({ place, end, lastLines: output.lastLines });
  for (const note of found.notes) log('info', note);
  for (const value of found.secrets) given.addSecret('SERVICE_SECRET', value);
  if (cut === null && found.failure !== null) {
    const texts = [...found.errors, ...found.tests.flatMap(({ errors }) => errors)];
    const fault = browserFault(texts, browsers);
    if (fault !== null) throw fault;
    if (await isFull(place.root)) throw new AgentError('DISK_FULL', 'the disk was full while the suite ran');
  }
  return runOf(facts, {
    stages: stages.times,
    report: found,
    reason: cut === null ? null : cutReason(facts, cut),
  });
}

/** With the file of all that was printed. */
async function withOutput({ output, place }: Run, files: SuiteRun['files']): Promise<SuiteRun['files']> {
  if (!(await output.close())) return files;
  const path = join(place.root, outputName);
  return [{ path, name: outputName, type: 'log', contentType: 'text/plain; charset=utf-8' }, ...files];
}
