import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLanes } from '../../agent/run/lanes.ts';
import { openDataDir } from '../../agent/folders/data-dir.ts';
import { createLeases } from '../../agent/run/leases.ts';
import { createMetrics } from '../../agent/metrics/counters.ts';
import { createNetworkEvidence } from '../../agent/run/network-evidence.ts';
import { jobScrubbers, ownSecrets } from '../../agent/scrubbing/own-secrets.ts';
import { runJob, type RunParts } from '../../agent/run/run-job.ts';
import {
  createScriptHost,
  packageEngines,
  packageRuntimes,
  revealed,
  type ScriptHost,
} from '../../agent/script-host.ts';
import { warmUp } from '../../agent/warm-up.ts';
import { createWorkDirs, type WorkDirs } from '../../agent/folders/work-dir.ts';
import { readAgentConfigIfAny, readLogLevel, type AgentConfig } from '../../config.ts';
import type { Environment } from '../../config/read.ts';
import { exitCodes, ServiceError } from '../../errors.ts';
import { createNetwork } from '../../executors/system-network.ts';
import { executors } from '../../executors/table.ts';
import { createLog, type Log } from '../../log.ts';
import type { Job } from '../../protocol/job.ts';
import type { Result, ResultStatus } from '../../protocol/result.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { FetchBundle } from '../../script/interface/suite-run.ts';
import { createScrubber } from '../../secrets/scrubber/scrubber.ts';
import { version } from '../../version.ts';
import { parseArguments, usageError, type Command } from '../command.ts';
import { resultReport } from './report.ts';
import { keepInFolder } from './artifacts.ts';
import { readRunFile } from './file.ts';
import { isFolder, readFolder, type FolderOptions } from './folder.ts';
import { isScriptFile, readScriptFile, variableOf } from './script-file.ts';
import { inTemporaryFolder } from '../temporary-folder.ts';
import { printable } from '../terminal-text.ts';

const exitCodeOf: { readonly [S in ResultStatus]: number } = {
  passed: exitCodes.done,
  degraded: exitCodes.done,
  failed: exitCodes.failed,
  errored: exitCodes.couldNotRun,
  cancelled: exitCodes.couldNotRun,
  missed: exitCodes.couldNotRun,
};

const options = {
  json: { type: 'boolean', default: false },
  type: { type: 'string' },
  runtime: { type: 'string' },
  env: { type: 'string', multiple: true },
  output: { type: 'string' },
  project: { type: 'string', multiple: true },
  tag: { type: 'string', multiple: true },
  config: { type: 'string' },
  include: { type: 'string', multiple: true },
  'install-command': { type: 'string' },
  'test-command': { type: 'string' },
  engine: { type: 'string' },
  'refresh-cache': { type: 'boolean' },
} as const;
type Values = ReturnType<typeof parseArguments<typeof options>>['values'];

/** Which options are for which kind of check; `json` and `output` are for all. */
const only = {
  script: ['type', 'runtime', 'env'],
  folder: [
    'env',
    'project',
    'tag',
    'config',
    'include',
    'install-command',
    'test-command',
    'engine',
    'refresh-cache',
  ],
  file: [],
} as const;

/**
 * `run FILE|DIR [--json] [--output DIR]`, and what scripts and suites take besides (see main): one check through the daemon's
 * own code path, with no service. Ctrl-C cancels it.
 */
export const run: Command = async (args, { env, stdout, stderr }) => {
  const { values, positionals } = parseArguments(args, options);
  const [path, ...others] = positionals;
  if (path === undefined) throw usageError('run needs the file of a check, or the folder of a suite');
  if (others.length > 0) throw usageError('run takes one file or folder');
  const kind = isFolder(path) ? 'folder' : isScriptFile(path) ? 'script' : 'file';
  const foreign = Object.keys(values).find((name) => !['json', 'output', ...only[kind]].includes(name));
  if (foreign !== undefined) throw usageError(`--${foreign} ${notFor[kind]}`);

  const performed = async (job: Job, fetchBundle?: FetchBundle) => {
    const results = await runHere(job, {
      env,
      stderr,
      output: values.output ?? 'artifacts',
      ...(fetchBundle === undefined ? {} : { fetchBundle }),
    });
    const last = results.at(-1);
    if (last === undefined) {
      stderr('location-agent: the check ended without a result\n');
      return exitCodes.couldNotRun;
    }
    stdout(values.json ? `${JSON.stringify(last)}\n` : resultReport(job.checkName, results));
    return exitCodeOf[last.status];
  };
  if (kind !== 'folder') return performed(await jobIn(path, kind, values));
  return inTemporaryFolder(async (temporary, signal) => {
    const now = Date.now();
    const { job, fetchBundle } = await readFolder(path, folderOptions(values), { temporary, now, stderr });
    signal.throwIfAborted();
    return performed(job, fetchBundle);
  });
};

const notFor = {
  script: 'is not for scripts',
  folder: 'is not for the folder of a suite',
  file: 'is not for a JSON file, which says so itself',
} as const;

async function jobIn(path: string, kind: 'script' | 'file', values: Values): Promise<Job> {
  const { type, runtime, env = [] } = values;
  return kind === 'script'
    ? readScriptFile(path, { type, runtime, variables: env, now: Date.now() })
    : readRunFile(path, Date.now());
}

function folderOptions(values: Values): FolderOptions {
  return {
    variables: (values.env ?? []).map(variableOf),
    projects: values.project ?? [],
    tags: values.tag ?? [],
    configPath: values.config ?? null,
    installCommand: values['install-command'] ?? null,
    testCommand: values['test-command'] ?? null,
    engine: values.engine ?? null,
    include: values.include ?? [],
    refreshCache: values['refresh-cache'] ?? false,
  };
}

/** All results of a job's attempts in order, scrubbed like those that leave an agent; the last is final. */
async function runHere(
  job: Job,
  {
    env,
    stderr,
    output,
    fetchBundle,
  }: { env: Environment; stderr: (text: string) => void; output: string; fetchBundle?: FetchBundle },
): Promise<Result[]> {
  const settings = readAgentConfigIfAny(env);
  const own = ownSecrets(settings);
  const scrubber = jobScrubbers(own, createScrubber(own))(job);
  for (const warning of scrubber.warnings) stderr(`location-agent: ${warning}\n`);
  const log = createLog({
    level: readLogLevel(env),
    scrub: (line) => scrubber.text(line),
    destination: { write: (line) => stderr(line) },
  });
  const results: Result[] = [];
  const metrics = createMetrics();
  const noService = new ServiceError('SERVICE_UNREACHABLE', 'run has no service', { retryable: false });
  const leases = createLeases({
    client: { call: () => Promise.reject(noService), failingSince: () => null, close: () => undefined },
    log,
    metrics,
    random: () => 0,
  });
  const execute = (await executors[job.checkType]()) as ReturnType<RunParts['executorOf']>; // of this job's own type
  const network = createNetwork({ useOsDnsResolver: settings.useOsDnsResolver });
  // A process that lives for one check must not report its own loading as the target's time. A daemon is warm.
  await warmUp([job.checkType], () => execute, { network, now: Date.now });
  const runtimeId = runtimeOf(job);
  const tell = (line: string) => stderr(`location-agent: ${line}\n`);
  const hasScripts = runtimeId !== null || fetchBundle !== undefined;
  const host = hasScripts ? await scriptHost(settings, { log, runtimeId, fetchBundle, tell }) : null;
  const workDirs = host === null ? temporaryWorkDirs() : await openWorkDirs(settings);
  const evidence = settings.networkEvidence ? createNetworkEvidence({ network, now: Date.now }) : null;
  const parts: RunParts = {
    version,
    forFiles: { scripts: host?.scripts ?? null, workDirs, keepArtifacts: keepInFolder(output) },
    detectSecrets: hasScripts && settings.detectSecrets,
    ...(evidence === null ? {} : { evidence }),
    onLog: ({ level, msg }) => {
      if (hasScripts) stderr(`${level.padEnd(6)}${printable(scrubber.text(msg)).slice(0, 2000)}\n`);
    },
    lanes: createLanes({ [job.lane]: 1 }),
    leases,
    metrics,
    executorOf: () => execute,
    network,
    scrubberOf: () => scrubber,
    deliver: (json) => {
      results.push(JSON.parse(json) as Result); // run-job has just made it from a Result
      return Promise.resolve();
    },
    resultBytes: () => protocolLimits.resultBytes,
    clockSkewMs: () => 0,
    fault: (error, message) => log.error({ err: error }, message),
    now: Date.now,
  };
  let interrupted = false;
  const cancel = (): void => {
    interrupted = true;
    for (const hold of leases.held()) hold.abort('cancelled');
  };
  process.once('SIGINT', cancel).once('SIGTERM', cancel);
  try {
    await runJob(job, parts);
  } finally {
    process.off('SIGINT', cancel).off('SIGTERM', cancel);
    leases.stop();
    evidence?.close();
    network.close();
    await host?.scripts.close();
    await workDirs.close();
  }
  return interrupted ? results.map(interruptedHere) : results;
}

/** There is no service that could have cancelled it. */
function interruptedHere(result: Result): Result {
  if (result.reason?.code !== 'CANCELLED') return result;
  return { ...result, reason: { ...result.reason, message: 'the run was interrupted here' } };
}

/** The runtime that a job needs; null = it has no scripts. */
function runtimeOf(job: Job): string | null {
  if ('script' in job) return job.script.runtimeId;
  return 'scripts' in job ? (job.scripts?.runtimeId ?? null) : null;
}

/** Where attempts without scripts have their folders, should they need any: no data directory is asked for. */
function temporaryWorkDirs(): WorkDirs {
  const remove = (folder: string) => rm(folder, { recursive: true, force: true });
  return {
    removeDead: () => Promise.resolve(),
    make: () => mkdtemp(join(tmpdir(), 'location-agent-run-')),
    remove,
    close: () => Promise.resolve(),
  };
}

/** Where attempts have their folders, as those of a daemon. */
async function openWorkDirs({ dataDir }: Pick<AgentConfig, 'dataDir'>): Promise<WorkDirs> {
  const workDirs = createWorkDirs(join(dataDir, 'runs'), randomUUID());
  await workDirs.removeDead();
  return workDirs;
}

/** Runtimes and engines, as a daemon has them. */
async function scriptHost(
  settings: Omit<AgentConfig, 'apiKey'>,
  {
    log,
    runtimeId,
    fetchBundle,
    tell,
  }: {
    log: Log;
    /** Null = none is needed. */
    runtimeId: string | null;
    fetchBundle: FetchBundle | undefined;
    tell: (line: string) => void;
  },
): Promise<ScriptHost> {
  openDataDir(settings.dataDir);
  const host = createScriptHost({
    runtimesFolder: packageRuntimes(),
    enginesFolder: packageEngines(),
    dataFolder: settings.dataDir,
    slots: 1,
    suiteSlots: 1,
    dependencyCache: settings.dependencyCache,
    installEnvironment: revealed(settings.installEnvironment),
    extraCaFile: settings.extraCaFile,
    playwrightBrowsersPath: settings.playwrightBrowsersPath,
    ...(fetchBundle === undefined ? {} : { fetchBundle }),
    warn: (line) => log.warn(line),
  });
  await host.look();
  // The agent's own words name what it has; here somebody can do something about it.
  const how = 'is not installed; this does it: node scripts';
  if (runtimeId !== null && !host.runtimes().includes(runtimeId)) {
    if (existsSync(join(packageRuntimes(), runtimeId, 'package.json')))
      tell(`runtime ${runtimeId} ${how}/runtime.mjs install ${runtimeId}`);
  }
  if (fetchBundle !== undefined && host.engines().length === 0)
    tell(`what suites run on ${how}/engines.mjs install`);
  return host;
}
