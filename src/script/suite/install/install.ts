import { lstat, mkdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError, toError } from '../../../errors.ts';
import { reasonOf } from '../../../protocol/reasons.ts';
import type { LogEntry } from '../../../protocol/result.ts';
import { installTimeoutMs, type Suite } from '../../../protocol/suite.ts';
import { isFull } from '../../process/full-disk.ts';
import type { CachedFolders, DependencyCache, DependencyDraft } from './dependency-cache.ts';
import { dependencyKey } from './dependency-key.ts';
import { ownPrograms } from './engines.ts';
import { installEnvironment, registrySettings } from './environment.ts';
import { causeOf, networkTrouble, outputTail, stillTrying } from './output.ts';
import { fetchCommand, type ChosenManager } from './package-manager.ts';
import {
  credentialsAdvice,
  linesWithVariables,
  missingVariables,
  networkAdvice,
  readRegistrySettings,
} from './registry-settings.ts';
import { SuiteFailed, type Engine, type RunProgram, type SuitePlace } from '../place/place.ts';
import type { SuiteDetails } from '../../interface/suite-run.ts';
import { shortened } from '../../../shortened.ts';

export type InstallOptions = {
  place: SuitePlace;
  suite: Pick<Suite, 'installCommand' | 'refreshCache'>;
  engine: Engine;
  manager: ChosenManager;
  /** The environment of the run's programs (`programEnvironment`). */
  env: { readonly [name: string]: string };
  /** Added as defaults for installers only: proxies, authorities, `npm_config_…`. */
  beneath?: { readonly [name: string]: string };
  run: RunProgram;
  /** Null = disabled. */
  cache: DependencyCache | null;
  log: (level: LogEntry['level'], msg: string) => void;
  signal: AbortSignal;
  timeoutMs?: number;
};

export type Installed = {
  dependencyCache: NonNullable<SuiteDetails['dependencyCache']>;
  /** Stores the installed dependencies for later runs; call it for a run that has passed. Never rejects. */
  keep: () => Promise<void>;
  /** Call it for every other run. Never rejects; does nothing after `keep`. */
  discard: () => Promise<void>;
};

/**
 * Provides a suite's dependencies in its folders: from the cache, or with its install command. Rejects with SuiteFailed
 * INSTALL_FAILED if that fails or takes too long, AgentError NETWORK_UNAVAILABLE if no registry can be reached, or the
 * signal's reason.
 */
export async function installDependencies(options: InstallOptions): Promise<Installed> {
  const { place, suite, manager, log, signal } = options;
  if (/\bplaywright\s+install\b/.test(suite.installCommand ?? ''))
    log('warn', '"playwright install" is not needed in installCommand: the agent installs browsers itself');
  await prepareHome(place, manager);

  const key = options.cache === null ? null : await keyOf(options);
  const cache = key === null ? null : options.cache;
  const folders: CachedFolders = { project: place.project, programs: join(place.home, ownPrograms) };
  const started = performance.now();
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  if (cache !== null && key !== null && !suite.refreshCache && (await cache.take(key, folders, signal))) {
    log('info', `Dependencies: from the cache (${seconds()})`);
    return { dependencyCache: 'hit', keep: () => Promise.resolve(), discard: () => Promise.resolve() };
  }

  const before = cache === null ? null : await cache.before(folders);
  await install(options);
  log('info', `Dependencies: installed (${seconds()})`);
  // At once, because files that tests leave in the tree do not belong to it.
  let draft: DependencyDraft | null = null;
  if (cache !== null && key !== null && before !== null)
    draft = await cache.draft(key, { before, replace: suite.refreshCache, signal });
  let settled = false;
  const once = (end: (of: DependencyDraft) => Promise<void>) => async () => {
    if (settled || draft === null) return;
    settled = true;
    await end(draft);
  };
  return {
    dependencyCache: cache === null ? 'off' : suite.refreshCache ? 'refreshed' : 'miss',
    keep: once((of) => of.publish()),
    discard: once((of) => of.discard()),
  };
}

async function keyOf(options: InstallOptions): Promise<string | null> {
  try {
    return await dependencyKey(options);
  } catch (error: unknown) {
    options.log('warn', `Dependencies will not be cached: ${toError(error).message}`);
    return null;
  }
}

/** Names under which a project's Yarn is called: one program name, two managers. */
async function prepareHome(place: SuitePlace, manager: ChosenManager): Promise<void> {
  const bin = join(place.home, ownPrograms, 'bin');
  await mkdir(bin, { recursive: true });
  if (manager.modernYarn === null) return;
  for (const name of ['yarn', 'yarnpkg'])
    await writeFile(join(bin, name), `#!/bin/sh\nexec ${manager.modernYarn} "$@"\n`, { mode: 0o755 });
}

async function install(options: InstallOptions): Promise<void> {
  const { place, suite, manager, log } = options;
  const deadlineMs = performance.now() + (options.timeoutMs ?? installTimeoutMs);
  const own = suite.installCommand?.trim() ?? '';
  const home = await realpath(place.home);
  const settings = registrySettings(options.beneath ?? {});
  const missing = missingVariables(readRegistrySettings(place, manager), options.env);
  if (missing !== null) log('warn', missing);
  const handed = manager.name === 'pnpm' ? linesWithVariables(manager.folder, options.env) : [];
  if (handed.length > 0) {
    settings['.npmrc'] += `${handed.join('\n')}\n`;
    log(
      'info',
      "pnpm expands variables only in its user's .npmrc: those lines of the project's .npmrc are copied there",
    );
  }
  const written = Object.keys(settings).map((name) => join(place.home, name));
  try {
    for (const [name, text] of Object.entries(settings)) await writeFile(join(place.home, name), text);
    const fetching = fetchCommand(manager);
    if (fetching !== null) {
      log('info', `Fetching ${manager.fetch}: the project uses this version`);
      await runInstaller(options, { command: fetching, cwd: manager.folder, name: 'npm', deadlineMs });
    }
    log('info', `Installing dependencies: ${manager.install}`);
    await runInstaller(options, {
      command: manager.install,
      cwd: own === '' ? manager.folder : place.working,
      name: manager.name,
      deadlineMs,
    });
  } finally {
    // The files may contain secrets for installers only. The install may also have replaced its home with a link.
    if ((await realpath(place.home).catch(() => null)) === home)
      for (const file of written) await rm(file, { force: true });
  }
}

async function runInstaller(
  options: InstallOptions,
  program: { command: string; cwd: string; name: ChosenManager['name']; deadlineMs: number },
): Promise<void> {
  const { log, signal } = options;
  const { command, cwd, name } = program;
  signal.throwIfAborted();
  const tail = outputTail();
  const env = {
    // As root, Yarn 1 would use a folder of the machine that other runs could read, and write to other places.
    ...(name === 'yarn' ? { npm_config_cache_folder: join(options.place.home, '.cache', 'yarn') } : {}),
    ...installEnvironment(options.env, options.beneath ?? {}),
  };
  const end = await options.run({
    command,
    cwd,
    env,
    timeoutMs: Math.max(1, program.deadlineMs - performance.now()),
    signal,
    shared: await pnpmLocks(options.manager),
    onLine: (line) => {
      tail.add(line);
      log('info', line);
    },
  });
  if (end.aborted) throw signal.reason;
  if (end.code === 0 && !end.timedOut && end.exceeded === null) return;

  log('error', end.timedOut ? 'Command timed out' : 'Failed to run install command');
  const lines = tail.lines();
  const settings = readRegistrySettings(options.place, options.manager);
  const trouble = end.timedOut ? stillTrying(lines) : networkTrouble(name, lines);
  if (trouble !== null && end.exceeded === null) {
    const details = [trouble.trim(), ...networkAdvice(trouble, { settings, env })].join('; ');
    throw new AgentError('NETWORK_UNAVAILABLE', `the package registry cannot be reached: ${details}`);
  }
  if (await isFull(options.place.root))
    throw new AgentError('DISK_FULL', 'the disk was full while dependencies were installed');
  const seconds = Math.round((options.timeoutMs ?? installTimeoutMs) / 1000);
  if (end.timedOut) {
    const advice = networkAdvice('', { settings, env });
    throw failed(`the install command did not finish within ${seconds} s, in stage install`, {
      command,
      lines,
      cause: advice.length === 0 ? null : advice.join('; '),
    });
  }
  if (end.exceeded !== null)
    throw failed(`the install command exceeded a limit of this agent (${end.exceeded})`, {
      command,
      lines,
      cause: null,
    });
  const how = end.code === null ? `was killed by ${end.signal}` : `failed with exit code ${end.code}`;
  const advice = credentialsAdvice(lines, { settings, env });
  const cause = [advice, causeOf(name, lines)].filter((each) => each !== null).join('\n');
  throw failed(`the install command ${how}`, { command, lines, cause: cause === '' ? null : cause });
}

/**
 * pnpm 12 and newer locks its store with a file in its own folder below /tmp, whatever TMPDIR is: the only path outside
 * a run to which its install may write. None if another user owns that folder.
 */
async function pnpmLocks(manager: ChosenManager): Promise<string[]> {
  const uid = process.getuid?.();
  if (manager.name !== 'pnpm' || uid === undefined || !(Number.parseInt(manager.version ?? '', 10) >= 12))
    return [];
  const folder = `/tmp/pnpm-store-operation-locks-${uid}`;
  try {
    await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
    const stats = await lstat(folder);
    return stats.isDirectory() && stats.uid === uid ? [folder] : [];
  } catch {
    return [];
  }
}

/** Number of output lines in a reason; the log has the complete output. */
const shownLines = 12;

function failed(
  what: string,
  { command, lines, cause }: { command: string; lines: readonly string[]; cause: string | null },
): SuiteFailed {
  const last = lines.filter((line) => line.trim() !== '').slice(-shownLines);
  const text = [
    `${what}: ${shortened(command, 300)}`,
    ...(cause === null ? [] : [shortened(cause, 1000)]),
    ...(last.length === 0
      ? []
      : ['The last lines of its output:', ...last.map((line) => shortened(line, 200))]),
  ];
  return new SuiteFailed(reasonOf('INSTALL_FAILED', text.join('\n')));
}
