import type { JobType } from '../protocol/check-types.ts';
import type { ResultStatus } from '../protocol/result.ts';
import type { SuiteDetails } from '../script/suite/suite-run.ts';

/**
 * What the agent counts while it works: plain numbers, so that counting costs nothing. `metrics-page.ts` turns them into
 * Prometheus text when somebody asks.
 */
export type AgentMetrics = {
  /** Results by `type status resultType`, each of which is one word. */
  readonly results: Map<string, number>;
  /** From the moment a job was due to the start of its first attempt here, in seconds. */
  readonly startDelay: Histogram;
  /** Duration of attempts by check type, in seconds. */
  readonly attemptDuration: Map<JobType, Histogram>;
  /** Duration of the stages of suites, in seconds, by stage. */
  readonly suiteStages: Map<string, Histogram>;
  /** Suites by where their dependencies came from: hit, miss, refreshed, off. */
  readonly suiteDependencies: Map<string, number>;
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

export function createMetrics(): AgentMetrics {
  return {
    results: new Map(),
    startDelay: createHistogram([0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 360]),
    attemptDuration: new Map(),
    suiteStages: new Map(),
    suiteDependencies: new Map(),
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

const attemptBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Of suites, and of their stages: from a cached install to the longest run. */
const suiteBounds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

export function countAttempt(metrics: AgentMetrics, type: JobType, seconds: number): void {
  const bounds = type === 'PLAYWRIGHT' ? suiteBounds : attemptBounds;
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

export function countResult(
  metrics: AgentMetrics,
  result: { checkType: string; status: ResultStatus; resultType: 'FINAL' | 'ATTEMPT' },
): void {
  const key = `${result.checkType} ${result.status} ${result.resultType}`;
  metrics.results.set(key, (metrics.results.get(key) ?? 0) + 1);
}
