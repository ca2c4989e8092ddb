import { join } from 'node:path';
import type { JobType, ScriptType, UptimeType } from '../../protocol/check-types.ts';
import type { JobOf } from '../../protocol/job.ts';
import { hostFolders } from './script-files.ts';

type ScriptedType = Exclude<JobType, UptimeType>;
/** Jobs that carry customer code. */
export type ScriptedJob = { [T in ScriptedType]: JobOf<T> }[ScriptedType];

type Variables = { readonly [name: string]: string | undefined };
const variablesOfScript = (job: JobOf<ScriptType>): Variables => ({ RUNTIME_VERSION: job.script.runtimeId });

/** Built-in variables of one job type. */
const variablesOf: { readonly [T in ScriptedType]: (job: JobOf<T>) => Variables } = {
  API: ({ scripts, request, groupBaseUrl }) => ({
    RUNTIME_VERSION: scripts?.runtimeId,
    REQUEST_URL: request.url,
    GROUP_BASE_URL: groupBaseUrl,
  }),
  BROWSER: variablesOfScript,
  MULTI_STEP: variablesOfScript,
  PLAYWRIGHT: () => ({}),
};

export type EnvironmentOptions = {
  /** The attempt's folder; home and temporary files are below it (`hostFolders`). Absent = the script may write nowhere. */
  workDir?: string;
  /** The agent's public addresses, as far as it knows them. */
  publicIp?: { v4?: string; v6?: string };
};

/**
 * Variables that control the loader or Node itself before any script: a check may not set them. (They could do no more
 * than its scripts can, but they would also affect the programs that confine those scripts.)
 */
const steering =
  /^(?:LD_|DYLD_|GLIBC_|MALLOC_|NODE_OPTIONS$|NODE_CHANNEL_|NODE_REPL_|GCONV_PATH$|BASH_ENV$|ENV$|IFS$)/;

/**
 * The complete environment of a script (facts, 5.2): the run's built-in variables, then the job's own, which win. Empty
 * variables are omitted, and so are names and values that no environment can hold. It contains nothing of the agent's
 * own environment and not the location's proxyUrl. A value may be as long as a job allows, which exceeds the limit of
 * `execve` (128 KiB with its name).
 */
export function scriptEnvironment(
  job: ScriptedJob,
  options: EnvironmentOptions = {},
): { [name: string]: string } {
  const { workDir, publicIp } = options;
  // Each row takes jobs of its own type; the job's type selects the row.
  const ownVariables = variablesOf[job.checkType] as (job: ScriptedJob) => Variables;
  const builtIn: { [name: string]: string | undefined } = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: workDir === undefined ? undefined : join(workDir, hostFolders.home),
    TMPDIR: workDir === undefined ? undefined : join(workDir, hostFolders.temporary),
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    SERVICE_RUN: '1',
    CI: job.testSession === true ? '1' : undefined,
    SERVICE_RUN_SOURCE: job.runSource,
    SERVICE_CHECK_ID: job.checkId,
    SERVICE_REGION: job.runLocation,
    CHECK_ID: job.checkId,
    CHECK_NAME: job.checkName,
    CHECK_TYPE: job.checkType,
    CHECK_RUN_ID: job.runId,
    // A job has one final result; until then this id is all that the service knows.
    CHECK_RESULT_ID: job.jobId,
    REGION: job.runLocation,
    PUBLIC_IP_V4: publicIp?.v4,
    PUBLIC_IP_V6: publicIp?.v6,
    ...ownVariables(job),
  };
  const own = job.environmentVariables.filter(({ key }) => !steering.test(key));
  const all = [...Object.entries(builtIn), ...own.map(({ key, value }) => [key, value] as const)];
  // No prototype, because a variable may be named __proto__.
  const environment = Object.create(null) as { [name: string]: string };
  for (const [name, value] of all) {
    if (value === undefined || /[=\0]/.test(name) || value.includes('\0')) continue;
    if (value === '') delete environment[name];
    else environment[name] = value;
  }
  return environment;
}

/** The names of a job's variables that `scriptEnvironment` does not pass to scripts, for a line of the run's log. */
export function refusedVariables(job: ScriptedJob): string[] {
  return job.environmentVariables
    .filter(({ key, value }) => steering.test(key) || /[=\0]/.test(key) || value.includes('\0'))
    .map(({ key }) => key);
}
