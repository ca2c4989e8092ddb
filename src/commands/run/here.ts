import { printable } from '../terminal-text.ts';
import { createLanes } from '../../agent/run/lanes.ts';
import { createLocalLeases } from '../../agent/run/local-leases.ts';
import { createMetrics } from '../../agent/metrics/counters.ts';
import { jobScrubbers, ownSecrets } from '../../agent/scrubbing/own-secrets.ts';
import { runJob } from '../../agent/run/run-job.ts';
import { createRunParts, openOriginsOf } from '../../agent/running-tools.ts';
import { readAgentConfigIfAny, readLogLevel } from '../../config.ts';
import type { Environment } from '../../config/read.ts';
import { createLog } from '../../log.ts';
import type { Job } from '../../protocol/job.ts';
import type { Result } from '../../protocol/result.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { FetchBundle } from '../../script/interface/suite-run.ts';
import { createScrubberOffThread } from '../../secrets/scrubber/table-thread.ts';
import { version } from '../../version.ts';
import { keepInFolder } from './artifacts.ts';
import { openScriptHost, runtimeOf } from './script-host.ts';
import { openWorkDirs, temporaryWorkDirs } from './work-dirs.ts';

export type RunHereOptions = {
  env: Environment;
  stderr: (text: string) => void;
  /** The folder for artifacts. */
  output: string;
  /** The source of a suite's bundle; absent = the job is not a suite. */
  fetchBundle?: FetchBundle;
};

/**
 * Runs a job in this process, without a service. Resolves with the results of all attempts in order, scrubbed like
 * results that an agent sends; the last is final. SIGINT and SIGTERM cancel the job.
 */
export async function runHere(job: Job, options: RunHereOptions): Promise<Result[]> {
  const { env, stderr, output, fetchBundle } = options;
  const settings = readAgentConfigIfAny(env, { usesService: false });
  const own = ownSecrets(settings);
  const scrubber = jobScrubbers(own, await createScrubberOffThread(own))(job);
  await scrubber.ready();
  const note = (line: string) => stderr(`location-agent: ${line}\n`);
  for (const warning of scrubber.warnings) note(warning);
  const log = createLog({
    level: readLogLevel(env),
    scrub: (line) => scrubber.text(line),
    destination: { write: (line) => stderr(line) },
  });

  const runtimeId = runtimeOf(job);
  const hasScripts = runtimeId !== null || fetchBundle !== undefined;
  const host = hasScripts
    ? await openScriptHost(settings, { runtimeId, fetchBundle, warn: (line) => log.warn(line), note })
    : null;
  const workDirs = host === null ? temporaryWorkDirs() : await openWorkDirs(settings.dataDir);
  const leases = createLocalLeases();
  const results: Result[] = [];
  const { parts, close } = await createRunParts({
    version,
    settings,
    originOf: await openOriginsOf(settings),
    service: null,
    // The loading time of this process must not be reported as the target's time.
    types: { loaded: [job.checkType], warm: [job.checkType] },
    scripts: host?.scripts ?? null,
    workDirs,
    keepArtifacts: keepInFolder(output),
    lanes: createLanes({ [job.lane]: 1 }),
    leases,
    metrics: createMetrics(),
    scrubberOf: () => scrubber,
    deliver: (json) => {
      results.push(JSON.parse(json) as Result); // run-job has just serialized a Result
      return Promise.resolve();
    },
    resultBytes: () => protocolLimits.resultBytes,
    clockSkewMs: () => 0,
    onLog: ({ level, msg }) => {
      if (hasScripts) stderr(`${level.padEnd(6)}${printable(scrubber.text(msg)).slice(0, 2000)}\n`);
    },
    fault: (error, message) => log.error({ err: error }, message),
    now: Date.now,
  });
  let interrupted = false;
  const cancel = (): void => {
    interrupted = true;
    leases.abortAll('cancelled');
  };
  process.once('SIGINT', cancel).once('SIGTERM', cancel);
  try {
    await runJob(job, parts);
  } finally {
    process.off('SIGINT', cancel).off('SIGTERM', cancel);
    close();
    await host?.scripts.close();
    await workDirs.close();
  }
  return interrupted ? results.map(interruptedHere) : results;
}

/** Adds the interruption to the reason: without a service, only a signal can have cancelled the job. */
function interruptedHere(result: Result): Result {
  if (result.reason?.code !== 'CANCELLED') return result;
  return { ...result, reason: { ...result.reason, message: 'the run was interrupted here' } };
}
