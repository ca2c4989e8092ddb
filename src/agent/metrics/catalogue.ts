import { jobTypes, lanes } from '../../protocol/check-types.ts';
import { resultStatuses } from '../../protocol/result.ts';
import { runtimeIds } from '../../protocol/script.ts';
import type { SuiteStage } from '../../script/interface/suite-run.ts';
import { guardNames } from './guards.ts';
import { otherType } from './counters.ts';

/**
 * Every metric that an agent tells. `metrics-page.ts` has a reader for each; docs/metrics.md, the alert rules and the dashboard
 * (scripts/observability.mjs) are made from it.
 */
export type MetricDefinition = {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The part of docs/metrics.md that it belongs to. */
  readonly about: (typeof metricSubjects)[number];
  readonly help: string;
  readonly unit: 'seconds' | 'bytes' | 'count' | 'boolean' | 'info';
  /** Each label with all values that it can have; null: any text, of which one agent has one at a time. */
  readonly labels: { readonly [label: string]: readonly string[] | null };
};

export const metricSubjects = [
  'Runs',
  'Waiting',
  'Slots',
  'Service',
  'Results and outbox',
  'Artifacts',
  'The agent itself',
] as const;

/** All names of an agent's own metrics begin with it. */
export const metricPrefix = 'location_agent_';

const types = [...jobTypes, otherType] as const;
const places = ['disk', 'memory'] as const;
// Agents never report a run as missed.
const statuses = resultStatuses.filter((status) => status !== 'missed');
// Not suiteStages itself: the uptime image carries nothing of scripts.
const stages = ['bundle', 'install', 'browsers', 'test', 'report'] as const satisfies readonly SuiteStage[];
const none = {} as const;

export const agentMetrics = {
  results_total: {
    type: 'counter',
    about: 'Runs',
    help: 'Results by check type, status and kind: FINAL ends a run, ATTEMPT is followed by another attempt.',
    unit: 'count',
    labels: { type: types, status: statuses, kind: ['FINAL', 'ATTEMPT'] },
  },
  run_duration_seconds: {
    type: 'histogram',
    about: 'Runs',
    help: 'From the start of the first attempt of a run here to its final result, with retries and the waits between them.',
    unit: 'seconds',
    labels: { type: jobTypes },
  },
  attempt_duration_seconds: {
    type: 'histogram',
    about: 'Runs',
    help: 'Duration of attempts.',
    unit: 'seconds',
    labels: { type: jobTypes },
  },
  suite_stage_seconds: {
    type: 'histogram',
    about: 'Runs',
    help: 'Duration of the stages of suites.',
    unit: 'seconds',
    labels: { stage: stages },
  },
  suite_dependency_cache_total: {
    type: 'counter',
    about: 'Runs',
    help: 'Suites by where their dependencies came from.',
    unit: 'count',
    labels: { result: ['hit', 'miss', 'refreshed', 'off'] },
  },
  jobs: {
    type: 'gauge',
    about: 'Runs',
    help: 'Jobs in hand: queued for a slot, running, or waiting for their next attempt.',
    unit: 'count',
    labels: { phase: ['queued', 'running', 'waiting'] },
  },
  jobs_claimed_total: {
    type: 'counter',
    about: 'Runs',
    help: 'Jobs taken from the service.',
    unit: 'count',
    labels: none,
  },
  jobs_released_total: {
    type: 'counter',
    about: 'Runs',
    help: 'Jobs handed back to the service.',
    unit: 'count',
    labels: none,
  },
  jobs_unreadable_total: {
    type: 'counter',
    about: 'Runs',
    help: 'Jobs that could not be read or are of no type of this agent.',
    unit: 'count',
    labels: none,
  },
  claim_delay_seconds: {
    type: 'histogram',
    about: 'Waiting',
    help: 'From the moment a run was due until this agent had claimed it.',
    unit: 'seconds',
    labels: { lane: lanes },
  },
  slot_wait_seconds: {
    type: 'histogram',
    about: 'Waiting',
    help: 'From the claim of a run to the start of its first attempt here: the wait for a slot.',
    unit: 'seconds',
    labels: { lane: lanes },
  },
  start_delay_seconds: {
    type: 'histogram',
    about: 'Waiting',
    help: 'From the moment a run was due to the start of its first attempt: the two above together.',
    unit: 'seconds',
    labels: { lane: lanes },
  },
  slots: {
    type: 'gauge',
    about: 'Slots',
    help: 'Slots of a lane in all. A lane opens when there is a type of check for it.',
    unit: 'count',
    labels: { lane: lanes },
  },
  slots_busy: {
    type: 'gauge',
    about: 'Slots',
    help: 'Slots of a lane in which a run is under way.',
    unit: 'count',
    labels: { lane: lanes },
  },
  connected: {
    type: 'gauge',
    about: 'Service',
    help: 'Whether the service has accepted the agent.',
    unit: 'boolean',
    labels: none,
  },
  poll_age_seconds: {
    type: 'gauge',
    about: 'Service',
    help: 'Since the service last answered a question for jobs of a lane; 0 while the lane has no free slot. A question may stand for 25 s.',
    unit: 'seconds',
    labels: { lane: lanes },
  },
  claims_total: {
    type: 'counter',
    about: 'Service',
    help: 'Claims sent.',
    unit: 'count',
    labels: none,
  },
  claims_failed_total: {
    type: 'counter',
    about: 'Service',
    help: 'Claims without a usable answer.',
    unit: 'count',
    labels: none,
  },
  renewals_failed_total: {
    type: 'counter',
    about: 'Service',
    help: 'Renewals of leases without a usable answer.',
    unit: 'count',
    labels: none,
  },
  leases_lost_total: {
    type: 'counter',
    about: 'Service',
    help: 'Jobs whose lease the service gave to another agent.',
    unit: 'count',
    labels: none,
  },
  clock_skew_seconds: {
    type: 'gauge',
    about: 'Service',
    help: "The agent's clock minus the service's.",
    unit: 'seconds',
    labels: none,
  },
  results_sent_total: {
    type: 'counter',
    about: 'Results and outbox',
    help: 'Results that the service acknowledged.',
    unit: 'count',
    labels: none,
  },
  result_upload_seconds: {
    type: 'histogram',
    about: 'Results and outbox',
    help: 'Duration of calls that brought results to the service.',
    unit: 'seconds',
    labels: none,
  },
  results_rejected_total: {
    type: 'counter',
    about: 'Results and outbox',
    help: 'Results that the service rejected.',
    unit: 'count',
    labels: none,
  },
  results_quarantined_total: {
    type: 'counter',
    about: 'Results and outbox',
    help: 'Results set aside because the service cannot read them.',
    unit: 'count',
    labels: none,
  },
  results_dropped_total: {
    type: 'counter',
    about: 'Results and outbox',
    help: 'Results lost to the bounds of the outbox.',
    unit: 'count',
    labels: none,
  },
  results_trimmed_total: {
    type: 'counter',
    about: 'Results and outbox',
    help: 'Results cut to the size limit.',
    unit: 'count',
    labels: none,
  },
  outbox_results: {
    type: 'gauge',
    about: 'Results and outbox',
    help: 'Results that wait to be sent; those that an earlier agent left count when the turn of their file comes.',
    unit: 'count',
    labels: { place: places },
  },
  outbox_bytes: {
    type: 'gauge',
    about: 'Results and outbox',
    help: 'Bytes of results that wait to be sent.',
    unit: 'bytes',
    labels: { place: places },
  },
  outbox_limit_bytes: {
    type: 'gauge',
    about: 'Results and outbox',
    help: 'Most bytes of results that wait; beyond that the oldest are dropped.',
    unit: 'bytes',
    labels: { place: places },
  },
  outbox_age_seconds: {
    type: 'gauge',
    about: 'Results and outbox',
    help: 'Age of the oldest result that waits to be sent; 0: none waits.',
    unit: 'seconds',
    labels: none,
  },
  outbox_damaged_total: {
    type: 'counter',
    about: 'Results and outbox',
    help: 'Damaged places found in the outbox.',
    unit: 'count',
    labels: none,
  },
  outbox_disk_errors_total: {
    type: 'counter',
    about: 'Results and outbox',
    help: 'Times the disk began to refuse results.',
    unit: 'count',
    labels: none,
  },
  artifacts_sent_total: {
    type: 'counter',
    about: 'Artifacts',
    help: 'Files of runs that the service has stored.',
    unit: 'count',
    labels: none,
  },
  artifact_bytes_sent_total: {
    type: 'counter',
    about: 'Artifacts',
    help: 'Bytes of files that the service has stored.',
    unit: 'bytes',
    labels: none,
  },
  artifact_upload_seconds: {
    type: 'histogram',
    about: 'Artifacts',
    help: 'Duration of uploads that ended with the file stored.',
    unit: 'seconds',
    labels: none,
  },
  artifacts_waiting: {
    type: 'gauge',
    about: 'Artifacts',
    help: 'Files of runs that wait to be sent.',
    unit: 'count',
    labels: none,
  },
  artifacts_waiting_bytes: {
    type: 'gauge',
    about: 'Artifacts',
    help: 'Bytes of files that wait to be sent.',
    unit: 'bytes',
    labels: none,
  },
  artifacts_refused_total: {
    type: 'counter',
    about: 'Artifacts',
    help: 'Files too large to be sent, or that cannot be scrubbed.',
    unit: 'count',
    labels: none,
  },
  artifacts_lost_total: {
    type: 'counter',
    about: 'Artifacts',
    help: 'Files of runs that will not reach the service.',
    unit: 'count',
    labels: none,
  },
  scrub_bytes_total: {
    type: 'counter',
    about: 'Artifacts',
    help: 'Bytes of results and of artifacts that were looked through for secrets.',
    unit: 'bytes',
    labels: { what: ['result', 'artifact'] },
  },
  info: {
    type: 'gauge',
    about: 'The agent itself',
    help: 'Always 1: version of the agent and of its Node, and the location, once the service has told it.',
    unit: 'info',
    labels: { version: null, node: null, location: null },
  },
  runtime_info: {
    type: 'gauge',
    about: 'The agent itself',
    help: 'Always 1: a runtime of scripts that is installed here.',
    unit: 'info',
    labels: { runtime: runtimeIds },
  },
  guard: {
    type: 'gauge',
    about: 'The agent itself',
    help: 'Whether a guard is raised; disk, memory and outbox stop the agent from taking jobs.',
    unit: 'boolean',
    labels: { guard: guardNames },
  },
  event_loop_delay_seconds: {
    type: 'gauge',
    about: 'The agent itself',
    help: 'Delay of the event loop over the last seconds.',
    unit: 'seconds',
    labels: { stat: ['p99', 'max'] },
  },
  faults_total: {
    type: 'counter',
    about: 'The agent itself',
    help: 'Faults of the agent itself.',
    unit: 'count',
    labels: none,
  },
} as const satisfies { readonly [name: string]: MetricDefinition };

export type AgentMetricName = keyof typeof agentMetrics;

/** What the library adds about the process, as far as rules and dashboard look at it; there is more on the page. */
export const processMetrics = {
  process_cpu_seconds_total: { type: 'counter', labels: none },
  process_resident_memory_bytes: { type: 'gauge', labels: none },
  process_start_time_seconds: { type: 'gauge', labels: none },
  process_open_fds: { type: 'gauge', labels: none },
  process_max_fds: { type: 'gauge', labels: none },
} as const satisfies { readonly [name: string]: Pick<MetricDefinition, 'type' | 'labels'> };
