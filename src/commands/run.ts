import { createLanes } from '../agent/lanes.ts';
import { createLeases } from '../agent/leases.ts';
import { createMetrics } from '../agent/metrics.ts';
import { jobScrubbers, ownSecrets } from '../agent/own-secrets.ts';
import { runJob, type RunParts } from '../agent/run-job.ts';
import { warmUp } from '../agent/warm-up.ts';
import { readAgentConfigIfAny, readLogLevel, type Environment } from '../config.ts';
import { exitCodes, ServiceError } from '../errors.ts';
import { createNetwork } from '../executors/system-network.ts';
import { executors } from '../executors/table.ts';
import { createLog } from '../log.ts';
import type { Job } from '../protocol/job.ts';
import type { Result, ResultStatus } from '../protocol/result.ts';
import { protocolLimits } from '../protocol/routes.ts';
import { createScrubber } from '../secrets/scrubber.ts';
import { version } from '../version.ts';
import { parseArguments, usageError, type Command } from './command.ts';
import { resultReport } from './report.ts';
import { readRunFile } from './run-file.ts';

const exitCodeOf: { readonly [S in ResultStatus]: number } = {
  passed: exitCodes.done,
  degraded: exitCodes.done,
  failed: exitCodes.failed,
  errored: exitCodes.couldNotRun,
  cancelled: exitCodes.couldNotRun,
  missed: exitCodes.couldNotRun,
};

/** `run FILE [--json]`: one check through the daemon's own code path, with no service. Ctrl-C cancels it. */
export const run: Command = async (args, { env, stdout, stderr }) => {
  const { values, positionals } = parseArguments(args, { json: { type: 'boolean', default: false } });
  const [path, ...others] = positionals;
  if (path === undefined) throw usageError('run needs the file of a check');
  if (others.length > 0) throw usageError('run takes one file');
  const job = await readRunFile(path, Date.now());

  const results = await runHere(job, env, stderr);
  const last = results.at(-1);
  if (last === undefined) {
    stderr('location-agent: the check ended without a result\n');
    return exitCodes.couldNotRun;
  }
  stdout(values.json ? `${JSON.stringify(last)}\n` : resultReport(job.checkName, results));
  return exitCodeOf[last.status];
};

/** All results of a job's attempts in order, scrubbed like those that leave an agent; the last is final. */
async function runHere(job: Job, env: Environment, stderr: (text: string) => void): Promise<Result[]> {
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
  const parts: RunParts = {
    version,
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
  const cancel = (): void => {
    for (const hold of leases.held()) hold.abort('cancelled');
  };
  process.once('SIGINT', cancel).once('SIGTERM', cancel);
  try {
    await runJob(job, parts);
  } finally {
    process.off('SIGINT', cancel).off('SIGTERM', cancel);
    leases.stop();
    network.close();
  }
  return results;
}
