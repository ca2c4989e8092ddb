import type { Log } from '../../log.ts';
import { suiteAfterMs, type JobType } from '../../protocol/check-types.ts';
import type { JobOf } from '../../protocol/job.ts';
import type { Result } from '../../protocol/result.ts';
import type { ApiScripts, CheckScript } from '../../protocol/script.ts';
import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';
import { logBounds, type LogBounds } from './log-bounds.ts';
import { warnWithoutIcmp } from './icmp-notice.ts';
import { secretsOfApi, secretsOfCertificates, secretsOfGrpc, secretsOfUrl } from './secrets.ts';
import { countSuite, type AgentMetrics, type AttemptBounds } from '../metrics/counters.ts';
import { shorterDetails } from './shorten-suite.ts';
import { warmUpApi, warmUpDns, warmUpTcp, warmUpUrl, type WarmUp } from './warm-up-jobs.ts';

/**
 * All differences between job types in the agent. The lane and the time limit, which the service needs too, are in
 * protocol/check-types.ts. This file is loaded at start-up, so it imports nothing large.
 */
export type AgentJobType<T extends JobType> = {
  /** Time in which an executor must return after its signal fired. The agent abandons it after that. */
  settleMs: number;
  /** Time limit for scrubbing and storing the files of an attempt. Files that are not done by then are lost. */
  keepMs: number;
  /** True: a cancelled run reports its results and files so far. False: it reports nothing. */
  reportsWhenCancelled: boolean;
  /** True: the run's log and stage are also sent to the service while it runs. */
  hasLiveLog: boolean;
  logBounds: LogBounds;
  /** `in turns`: for large results. Scrubbing them at once would delay the measurements of other jobs. */
  scrubbing: 'at once' | 'in turns';
  /** Shorter and shorter forms of the details of a result that is too large; null = long texts and lists are cut. */
  shorterDetails: ((details: Result['details']) => Iterable<Result['details']>) | null;
  /** Bounds of the histogram of attempts. */
  attemptBounds: AttemptBounds;
  /** Counts the type's own metrics from the details of an attempt. */
  countDetails: ((metrics: AgentMetrics, details: Result['details']) => void) | null;
  /** Secrets of the job besides its variables and the location's proxy. */
  secretsOf: (job: JobOf<T>) => NamedSecret[];
  /** Texts of customer code in which DETECT_SECRETS searches for credentials. */
  scriptTextsOf: (job: JobOf<T>) => string[];
  /** Whether customer code runs in processes of its own during an attempt of the job. */
  startsProcesses: (job: JobOf<T>) => boolean;
  /** Whether an attempt that the agent's own delay spoiled may be repeated: it changes nothing, and no code ran. */
  mayRepeat: (job: JobOf<T>) => boolean;
  /** True: a network failure gets a traceroute and, where permitted, a packet capture. */
  hasNetworkEvidence: boolean;
  /**
   * Null if nothing is measured in this process: the kernel measures ICMP times, and scripts have their own
   * processes.
   */
  warmUp: WarmUp | null;
  /** Logs a warning at start-up if this host cannot run jobs of the type. */
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
  startsProcesses: () => false,
  mayRepeat: () => true,
  hasNetworkEvidence: false,
  warmUp: null,
  warnAtStart: null,
} as const;

// Customer code may not expect to run twice, and its files would be stored under the same names.
const code = { ...usual, startsProcesses: () => true, mayRepeat: () => false };
const script = { ...code, scriptTextsOf: textsOfScript };
/** They only read (RFC 9110, section 9.2.1). */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export const agentJobTypes: { readonly [T in JobType]: AgentJobType<T> } = {
  URL: { ...usual, secretsOf: secretsOfUrl, hasNetworkEvidence: true, warmUp: warmUpUrl },
  API: {
    ...usual,
    secretsOf: secretsOfApi,
    scriptTextsOf: textsOfPhases,
    startsProcesses: hasScripts,
    mayRepeat: (job) => !hasScripts(job) && safeMethods.has(job.request.method),
    hasNetworkEvidence: true,
    warmUp: warmUpApi,
  },
  TCP: { ...usual, hasNetworkEvidence: true, warmUp: warmUpTcp },
  DNS: { ...usual, warmUp: warmUpDns },
  ICMP: { ...usual, warnAtStart: warnWithoutIcmp },
  SSL: { ...usual, secretsOf: secretsOfCertificates, hasNetworkEvidence: true },
  GRPC: { ...usual, secretsOf: secretsOfGrpc, hasNetworkEvidence: true },
  // It is its own evidence.
  TRACEROUTE: usual,
  BROWSER: script,
  MULTI_STEP: script,
  PLAYWRIGHT: {
    ...code,
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
  // The row was chosen by the job's own type.
  return agentJobTypes[checkType] as AgentJobType<JobType>;
}

function hasScripts({ scripts }: { scripts?: ApiScripts }): boolean {
  return (scripts?.setup.length ?? 0) + (scripts?.teardown.length ?? 0) > 0;
}

function textsOfScript({ script: { content, files } }: { script: CheckScript }): string[] {
  return [content, ...files.map((file) => file.content)];
}

function textsOfPhases({ scripts }: { scripts?: ApiScripts }): string[] {
  if (scripts === undefined) return [];
  return [...scripts.setup, ...scripts.teardown, ...scripts.files].map(({ content }) => content);
}
