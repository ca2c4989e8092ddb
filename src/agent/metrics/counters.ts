import type { Histogram } from 'prom-client';
import { jobTypes, type JobType, type Lane } from '../../protocol/check-types.ts';
import type { ResultStatus } from '../../protocol/result.ts';
import type { SuiteDetails } from '../../script/interface/suite-run.ts';
import { createHistograms, type AgentHistograms } from './histograms.ts';

/** What a check type is called that no agent knows. */
export const otherType = 'other';

/**
 * Everything that the agent counts while it works: plain numbers, and histograms of the library. `metrics-page.ts` turns them into
 * Prometheus text when somebody asks.
 */
export type AgentMetrics = {
  /** Results by `type status resultType`, each of which is one word. */
  readonly results: Map<string, number>;
  /** Durations and waits, in seconds, by the name of the metric. */
  readonly histograms: AgentHistograms;
  /** Suites by where their dependencies came from: hit, miss, refreshed, off. */
  readonly suiteDependencies: Map<string, number>;
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

export function createMetrics(): AgentMetrics {
  return {
    results: new Map(),
    histograms: createHistograms(),
    suiteDependencies: new Map(),
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

/** A wait of a run: from due to claimed, from there to its first attempt, or both together. */
type Wait = 'claim_delay_seconds' | 'slot_wait_seconds' | 'start_delay_seconds';

/** Counts how long a run waited in one way or another. */
export function countWait({ histograms }: AgentMetrics, wait: Wait, lane: Lane, milliseconds: number): void {
  observe(histograms[wait], { lane }, Math.max(0, milliseconds) / 1000);
}

/** Counts a whole run: attempts, and the waits between them. */
export function countRun({ histograms }: AgentMetrics, type: JobType, seconds: number): void {
  observe(histograms.run_duration_seconds, { type }, seconds);
}

/** Bounds of a type's attempts: for attempts that take seconds, or minutes. */
export type AttemptBounds = 'seconds' | 'minutes';

/** Counts one attempt. `bounds`: those of its type's series. */
export function countAttempt(
  { histograms }: AgentMetrics,
  type: JobType,
  { seconds, bounds }: { seconds: number; bounds: AttemptBounds },
): void {
  const attempts = histograms.attempt_duration_seconds;
  observe(bounds === 'minutes' ? attempts.second : attempts.first, { type }, seconds);
}

/** Counts what the details of a suite's run tell of its stages and its dependencies. */
export function countSuite(
  metrics: AgentMetrics,
  { stages = [], dependencyCache = null }: Partial<Pick<SuiteDetails, 'stages' | 'dependencyCache'>>,
): void {
  for (const { name, durationMs } of stages) {
    observe(metrics.histograms.suite_stage_seconds, { stage: name }, durationMs / 1000);
  }
  if (dependencyCache === null) return;
  metrics.suiteDependencies.set(dependencyCache, (metrics.suiteDependencies.get(dependencyCache) ?? 0) + 1);
}

/** The library throws for a value that is not finite, and a metric must not cost a run. */
function observe<L extends string>(
  histogram: Histogram<L>,
  labels: { readonly [N in L]: string },
  seconds: number,
): void {
  if (Number.isFinite(seconds)) histogram.observe(labels, seconds);
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
