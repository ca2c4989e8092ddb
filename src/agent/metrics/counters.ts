import type { Histogram } from 'prom-client';
import { jobTypes, type JobType, type Lane } from '../../protocol/check-types.ts';
import type { ResultStatus } from '../../protocol/result.ts';
import type { SuiteDetails } from '../../script/interface/suite-run.ts';
import { createHistograms, type AgentHistograms } from './histograms.ts';

/** The label of check types that no agent knows. */
export const otherType = 'other';

/**
 * Everything that the agent counts while it works: plain numbers, and histograms of the library. `metrics-page.ts`
 * converts them to Prometheus text on request.
 */
export type AgentMetrics = {
  /** Results by `type status resultType`, each of them one word. */
  readonly results: Map<string, number>;
  /** Durations and waiting times in seconds, by metric name. */
  readonly histograms: AgentHistograms;
  /** Suites by the source of their dependencies: hit, miss, refreshed, off. */
  readonly suiteDependencies: Map<string, number>;
  /** When the service last answered a claim of an active lane (performance.now). */
  readonly polledAt: Map<Lane, number>;
  jobsClaimed: number;
  jobsReleased: number;
  jobsUnreadable: number;
  /** Attempts that were made again, because the agent's own delay explained the result of the first. */
  attemptsRepeated: number;
  /** Attempts that were reported as AGENT_OVERLOADED. */
  attemptsDisbelieved: number;
  claims: number;
  claimsFailed: number;
  leasesLost: number;
  renewalsFailed: number;
  resultsSent: number;
  resultsRejected: number;
  resultsQuarantined: number;
  resultsDropped: number;
  /** Lost to damage of the outbox's files. */
  resultsDamaged: number;
  /** Sent without their details, because something on the way refuses the complete result. */
  resultsReduced: number;
  resultsTrimmed: number;
  artifactsSent: number;
  /** Too large, or of a kind that cannot be scrubbed. */
  artifactsRefused: number;
  /** Lost to size limits, to the disk, or because the service did not accept them within a day. */
  artifactsLost: number;
  artifactBytesSent: number;
  /** Bytes that were searched for secrets. */
  scrubbedResultBytes: number;
  scrubbedArtifactBytes: number;
  outboxDamaged: number;
  outboxDiskErrors: number;
  faults: number;
  /** Examinations of this host's own network, and results that it spoiled. */
  ownNetworkExaminations: number;
  ownNetworkResults: number;
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
    attemptsRepeated: 0,
    attemptsDisbelieved: 0,
    claims: 0,
    claimsFailed: 0,
    leasesLost: 0,
    renewalsFailed: 0,
    resultsSent: 0,
    resultsRejected: 0,
    resultsQuarantined: 0,
    resultsDropped: 0,
    resultsDamaged: 0,
    resultsReduced: 0,
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
    ownNetworkExaminations: 0,
    ownNetworkResults: 0,
  };
}

/** A waiting time of a run: from due to claimed, from claimed to its first attempt, or both together. */
type Wait = 'claim_delay_seconds' | 'slot_wait_seconds' | 'start_delay_seconds';

/** Counts a waiting time of a run. */
export function countWait({ histograms }: AgentMetrics, wait: Wait, lane: Lane, milliseconds: number): void {
  observe(histograms[wait], { lane }, Math.max(0, milliseconds) / 1000);
}

/** Counts a complete run: its attempts and the waits between them. */
export function countRun({ histograms }: AgentMetrics, type: JobType, seconds: number): void {
  observe(histograms.run_duration_seconds, { type }, seconds);
}

/** Histogram buckets of a type's attempts: for attempts that take seconds, or minutes. */
export type AttemptBounds = 'seconds' | 'minutes';

/** Counts one attempt. `bounds`: the buckets of its type. */
export function countAttempt(
  { histograms }: AgentMetrics,
  type: JobType,
  { seconds, bounds }: { seconds: number; bounds: AttemptBounds },
): void {
  const attempts = histograms.attempt_duration_seconds;
  observe(bounds === 'minutes' ? attempts.second : attempts.first, { type }, seconds);
}

/** Counts the stages and the dependency source in the details of a suite's run. */
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

/** The library throws for values that are not finite, and a metric must not break a run. */
function observe<L extends string>(
  histogram: Histogram<L>,
  labels: { readonly [N in L]: string },
  seconds: number,
): void {
  if (Number.isFinite(seconds)) histogram.observe(labels, seconds);
}

const knownTypes: ReadonlySet<string> = new Set(jobTypes);

/** A type that no agent knows counts as `other`, so that a service cannot make the page grow. */
export function countResult(
  metrics: AgentMetrics,
  result: {
    checkType: string;
    status: ResultStatus;
    resultType: 'FINAL' | 'ATTEMPT';
    reason?: { code: string } | null;
  },
): void {
  const type = knownTypes.has(result.checkType) ? result.checkType : otherType;
  const key = `${type} ${result.status} ${result.resultType}`;
  metrics.results.set(key, (metrics.results.get(key) ?? 0) + 1);
  if (result.reason?.code === 'OWN_NETWORK') metrics.ownNetworkResults += 1;
}
