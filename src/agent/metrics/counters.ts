import { jobTypes, type JobType, type Lane } from '../../protocol/check-types.ts';
import type { ResultStatus } from '../../protocol/result.ts';
import type { SuiteDetails } from '../../script/interface/suite-run.ts';

/** What a check type is called that no agent knows. */
export const otherType = 'other';

/**
 * What the agent counts while it works: plain numbers, so that counting costs nothing. `metrics-page.ts` turns them into
 * Prometheus text when somebody asks.
 */
export type AgentMetrics = {
  /** Results by `type status resultType`, each of which is one word. */
  readonly results: Map<string, number>;
  /** From the moment a run was due until it was claimed, from there to its first attempt, and both together; in seconds. */
  readonly claimDelay: Map<Lane, Histogram>;
  readonly slotWait: Map<Lane, Histogram>;
  readonly startDelay: Map<Lane, Histogram>;
  /** From the start of the first attempt here to the final result, by check type, in seconds. */
  readonly runDuration: Map<JobType, Histogram>;
  /** Duration of attempts by check type, in seconds. */
  readonly attemptDuration: Map<JobType, Histogram>;
  /** Duration of the stages of suites, in seconds, by stage. */
  readonly suiteStages: Map<string, Histogram>;
  /** Suites by where their dependencies came from: hit, miss, refreshed, off. */
  readonly suiteDependencies: Map<string, number>;
  /** Calls that brought results to the service, in seconds. */
  readonly resultUpload: Histogram;
  /** Uploads that ended with a stored file, in seconds. */
  readonly artifactUpload: Histogram;
  /** When the service last answered a claim of a lane whose loop turns (performance.now). */
  readonly polledAt: Map<Lane, number>;
  jobsClaimed: number;
  jobsReleased: number;
  jobsUnreadable: number;
  claims: number;
  claimsFailed: number;
  leasesLost: number;
  renewalsFailed: number;
  resultsSent: number;
  resultsRejected: number;
  resultsQuarantined: number;
  resultsDropped: number;
  resultsTrimmed: number;
  artifactsSent: number;
  /** Above a limit, or of a kind that can't be scrubbed. */
  artifactsRefused: number;
  /** To bounds, to the disk, or because the service did not take them within a day. */
  artifactsLost: number;
  artifactBytesSent: number;
  /** Looked through for secrets. */
  scrubbedResultBytes: number;
  scrubbedArtifactBytes: number;
  outboxDamaged: number;
  outboxDiskErrors: number;
  faults: number;
};

export type Histogram = {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum: number;
  count: number;
};

const waitBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 360];
const uploadBounds = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function createMetrics(): AgentMetrics {
  return {
    results: new Map(),
    claimDelay: new Map(),
    slotWait: new Map(),
    startDelay: new Map(),
    runDuration: new Map(),
    attemptDuration: new Map(),
    suiteStages: new Map(),
    suiteDependencies: new Map(),
    resultUpload: createHistogram(uploadBounds),
    artifactUpload: createHistogram(uploadBounds),
    polledAt: new Map(),
    jobsClaimed: 0,
    jobsReleased: 0,
    jobsUnreadable: 0,
    claims: 0,
    claimsFailed: 0,
    leasesLost: 0,
    renewalsFailed: 0,
    resultsSent: 0,
    resultsRejected: 0,
    resultsQuarantined: 0,
    resultsDropped: 0,
    resultsTrimmed: 0,
    artifactsSent: 0,
    artifactsRefused: 0,
    artifactsLost: 0,
    artifactBytesSent: 0,
    scrubbedResultBytes: 0,
    scrubbedArtifactBytes: 0,
    outboxDamaged: 0,
    outboxDiskErrors: 0,
    faults: 0,
  };
}

export function createHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0, count: 0 };
}

/** Counts one value; a value equal to a bound belongs below it. */
export function observe(histogram: Histogram, value: number): void {
  let index = 0;
  while (index < histogram.bounds.length && value > (histogram.bounds[index] ?? 0)) index += 1;
  histogram.counts[index] = (histogram.counts[index] ?? 0) + 1;
  histogram.sum += value;
  histogram.count += 1;
}

/** Bounds of attempts that take seconds, in seconds. */
export const attemptBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const runBounds = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
/** Of suites, and of their stages, in seconds: from a cached install to the longest run. */
export const suiteBounds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/** Counts how long a run waited in one way or another. */
export function countWait(waits: Map<Lane, Histogram>, lane: Lane, milliseconds: number): void {
  observe(histogramOf(waits, lane, waitBounds), Math.max(0, milliseconds) / 1000);
}

/** Counts a whole run: attempts, and the waits between them. */
export function countRun(metrics: AgentMetrics, type: JobType, seconds: number): void {
  observe(histogramOf(metrics.runDuration, type, runBounds), seconds);
}

/** Counts one attempt. `bounds`: of the type's histogram, in seconds. */
export function countAttempt(
  metrics: AgentMetrics,
  type: JobType,
  { seconds, bounds }: { seconds: number; bounds: readonly number[] },
): void {
  observe(histogramOf(metrics.attemptDuration, type, bounds), seconds);
}

/** Counts what the details of a suite's run tell of its stages and its dependencies. */
export function countSuite(
  metrics: AgentMetrics,
  { stages = [], dependencyCache = null }: Partial<Pick<SuiteDetails, 'stages' | 'dependencyCache'>>,
): void {
  for (const { name, durationMs } of stages) {
    observe(histogramOf(metrics.suiteStages, name, suiteBounds), durationMs / 1000);
  }
  if (dependencyCache === null) return;
  metrics.suiteDependencies.set(dependencyCache, (metrics.suiteDependencies.get(dependencyCache) ?? 0) + 1);
}

function histogramOf<K>(all: Map<K, Histogram>, key: K, bounds: readonly number[]): Histogram {
  const found = all.get(key) ?? createHistogram(bounds);
  all.set(key, found);
  return found;
}

const knownTypes: ReadonlySet<string> = new Set(jobTypes);

/** A type that no agent knows counts as `other`: whatever a service sends must not grow the page. */
export function countResult(
  metrics: AgentMetrics,
  result: { checkType: string; status: ResultStatus; resultType: 'FINAL' | 'ATTEMPT' },
): void {
  const type = knownTypes.has(result.checkType) ? result.checkType : otherType;
  const key = `${type} ${result.status} ${result.resultType}`;
  metrics.results.set(key, (metrics.results.get(key) ?? 0) + 1);
}
