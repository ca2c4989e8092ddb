import type { Log } from '../../log.ts';
import { suiteAfterMs, type JobType } from '../../protocol/check-types.ts';
import type { JobOf } from '../../protocol/job.ts';
import type { Result } from '../../protocol/result.ts';
import type { ApiScripts, CheckScript } from '../../protocol/script.ts';
import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';
import { logBounds, type LogBounds } from './log-bounds.ts';
import { warnWithoutIcmp } from './icmp-notice.ts';
import { secretsOfApi, secretsOfUrl } from './secrets.ts';
import { countSuite, type AgentMetrics, type AttemptBounds } from '../metrics/counters.ts';
import { shorterDetails } from './shorten-suite.ts';
import { warmUpApi, warmUpDns, warmUpTcp, warmUpUrl, type WarmUp } from './warm-up-jobs.ts';

/**
 * Everything in which job types differ for this agent; lane and time limit, which the service needs too, are in
 * protocol/check-types.ts. It is loaded with the agent, so it imports nothing large.
 */
export type AgentJobType<T extends JobType> = {
  /** Time in which an executor must return after its signal fired; then the agent abandons it. */
  settleMs: number;
  /** Time in which the files of an attempt must be scrubbed and on their way; the others are lost then. */
  keepMs: number;
  /** True: a cancelled run reports its work so far, with its files. False: it just ends. */
  reportsWhenCancelled: boolean;
  /** True: the lines of the run's log also go to the service while it runs, and its stage. */
  hasLiveLog: boolean;
  logBounds: LogBounds;
  /** `in turns`: for results that are so large that scrubbing them at once would delay other jobs' measurements. */
  scrubbing: 'at once' | 'in turns';
  /** The details of a result that is too large, in shorter and shorter forms; null = texts and lists are cut. */
  shorterDetails: ((details: Result['details']) => Iterable<Result['details']>) | null;
  /** Bounds of the histogram of attempts. */
  attemptBounds: AttemptBounds;
  /** Counts the type's own metrics from the details of an attempt. */
  countDetails: ((metrics: AgentMetrics, details: Result['details']) => void) | null;
  /** Secrets in the job besides its variables and the location's proxy. */
  secretsOf: (job: JobOf<T>) => NamedSecret[];
  /** Texts of customer code, in which DETECT_SECRETS looks for credentials. */
  scriptTextsOf: (job: JobOf<T>) => string[];
  /** True: a failure by the network gets a traceroute and, where permitted, a packet capture. */
  hasNetworkEvidence: boolean;
  /** Null where nothing in this process is measured: the kernel has ICMP's times, scripts have processes. */
  warmUp: WarmUp | null;
  /** Warns at the start if this host cannot run jobs of the type. */
  warnAtStart: ((log: Log) => Promise<void>) | null;
};

const usual = {
  settleMs: 5000,
  keepMs: 120_000,
  reportsWhenCancelled: false,
  hasLiveLog: false,
  logBounds: logBounds.usual,
  scrubbing: 'at once',
  shorterDetails: null,
  attemptBounds: 'seconds',
  countDetails: null,
  secretsOf: () => [],
  scriptTextsOf: () => [],
  hasNetworkEvidence: false,
  warmUp: null,
  warnAtStart: null,
} as const;

const script = { ...usual, scriptTextsOf: textsOfScript };

export const agentJobTypes: { readonly [T in JobType]: AgentJobType<T> } = {
  URL: { ...usual, secretsOf: secretsOfUrl, hasNetworkEvidence: true, warmUp: warmUpUrl },
  API: {
    ...usual,
    secretsOf: secretsOfApi,
    scriptTextsOf: textsOfPhases,
    hasNetworkEvidence: true,
    warmUp: warmUpApi,
  },
  TCP: { ...usual, hasNetworkEvidence: true, warmUp: warmUpTcp },
  DNS: { ...usual, warmUp: warmUpDns },
  ICMP: { ...usual, warnAtStart: warnWithoutIcmp },
  BROWSER: script,
  MULTI_STEP: script,
  PLAYWRIGHT: {
    ...usual,
    settleMs: 60_000,
    keepMs: suiteAfterMs,
    reportsWhenCancelled: true,
    hasLiveLog: true,
    logBounds: logBounds.suite,
    scrubbing: 'in turns',
    shorterDetails,
    attemptBounds: 'minutes',
    countDetails: countSuite,
  },
};

/** The row of a job's type. */
export function jobTypeOf({ checkType }: { checkType: JobType }): AgentJobType<JobType> {
  // Each row takes jobs of its own type; the type of the job chooses the row.
  return agentJobTypes[checkType] as AgentJobType<JobType>;
}

function textsOfScript({ script: { content, files } }: { script: CheckScript }): string[] {
  return [content, ...files.map((file) => file.content)];
}

function textsOfPhases({ scripts }: { scripts?: ApiScripts }): string[] {
  if (scripts === undefined) return [];
  return [...scripts.setup, ...scripts.teardown, ...scripts.files].map(({ content }) => content);
}
