import { join } from 'node:path';
import { createMetrics } from '../../src/agent/metrics/counters.ts';
import { createLanes } from '../../src/agent/run/lanes.ts';
import { runJob, type RunParts } from '../../src/agent/run/run-job.ts';
import { createWorkDirs } from '../../src/agent/folders/work-dir.ts';
import { jobScrubbers } from '../../src/agent/scrubbing/own-secrets.ts';
import { keepInFolder } from '../../src/commands/run/artifacts.ts';
import type { Executor } from '../../src/executors/interface/executor.ts';
import { createNetwork } from '../../src/executors/system-network.ts';
import type { JobType } from '../../src/protocol/check-types.ts';
import type { Job } from '../../src/protocol/job.ts';
import { createScrubber } from '../../src/secrets/scrubber/scrubber.ts';
import { testLeases } from '../agent/run/test-leases.ts';
import type { ScriptBench } from '../helpers/scripts/script-jobs.ts';

type Files = Parameters<NonNullable<RunParts['forFiles']>['keepArtifacts']>[1];

/**
 * Runs a job as the agent does, and returns the results that it would send. Its files are kept in `out`; `onFiles` sees
 * them before they are scrubbed. `ownSecrets` are the agent's.
 */
export async function runAsAgent(
  job: Job,
  options: {
    execute: Executor<JobType>;
    scripts: ScriptBench['scripts'];
    /** For working folders. */
    folder: string;
    out: string;
    ownSecrets?: Parameters<typeof createScrubber>[0];
    onFiles: (files: Files) => void;
  },
): Promise<string[]> {
  const { execute, scripts, folder, out, ownSecrets = [], onFiles } = options;
  const results: string[] = [];
  const network = createNetwork({ useOsDnsResolver: true });
  const keep = keepInFolder(out);
  await runJob(job, {
    version: '1.2.3',
    lanes: createLanes({ uptime: 1, browser: 1 }),
    leases: testLeases([]),
    metrics: createMetrics(),
    executorOf: () => execute,
    network,
    forFiles: {
      scripts,
      workDirs: createWorkDirs(join(folder, 'work'), 'test'),
      keepArtifacts: (attempt, files, of) => {
        onFiles(files);
        return keep(attempt, files, of);
      },
    },
    scrubberOf: jobScrubbers(ownSecrets, createScrubber(ownSecrets)),
    deliver: (json) => {
      results.push(json);
      return Promise.resolve();
    },
    resultBytes: () => 1_000_000,
    clockSkewMs: () => 0,
    fault: () => undefined,
    now: Date.now,
  });
  network.close();
  return results;
}
