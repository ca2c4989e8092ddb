import { jobTypes, lanes } from '../../protocol/check-types.ts';
import { resultStatuses } from '../../protocol/result.ts';
import { runtimeIds } from '../../protocol/script.ts';
import { guardNames } from './guard-rules.ts';
import { none, type MetricDefinition } from './definition.ts';
import { histograms } from './histograms.ts';
import { deliveryMetrics } from './catalogue-delivery.ts';
import { otherType } from './counters.ts';

/**
 * All metrics of an agent. `metrics-page.ts` has a reader for each one that is not a histogram. docs/metrics.md, the
 * alert rules and the dashboard are generated from it (scripts/observability.mjs).
 */

const types = [...jobTypes, otherType] as const;
// Agents never report a run as missed.
const statuses = resultStatuses.filter((status) => status !== 'missed');

export const agentMetrics = {
  results_total: {
    type: 'counter',
    about: 'Runs',
    help: 'Results by check type, status and kind: FINAL ends a run, ATTEMPT is followed by another attempt.',
    unit: 'count',
    labels: { type: types, status: statuses, kind: ['FINAL', 'ATTEMPT'] },
  },
  run_duration_seconds: histograms.run_duration_seconds,
  attempt_duration_seconds: histograms.attempt_duration_seconds,
  suite_stage_seconds: histograms.suite_stage_seconds,
  suite_dependency_cache_total: {
    type: 'counter',
    about: 'Runs',
    help: 'Suites by where their dependencies came from.',
    unit: 'count',
    labels: { result: ['hit', 'miss', 'refreshed', 'off'] },
  },
  own_network_results_total: {
    type: 'counter',
    about: 'Runs',
    help: "Results that the network of the agent's own host spoiled (OWN_NETWORK).",
    unit: 'count',
    labels: none,
  },
  own_network_examinations_total: {
    type: 'counter',
    about: 'Runs',
    help: "Examinations of the agent's own network: what else answers while a target does not.",
    unit: 'count',
    labels: none,
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
  attempts_starved_total: {
    type: 'counter',
    about: 'Runs',
    help: "Attempts whose bad result the agent's own delay explains: made again, or reported as AGENT_OVERLOADED.",
    unit: 'count',
    labels: { action: ['repeated', 'overloaded'] },
  },
  claim_delay_seconds: histograms.claim_delay_seconds,
  slot_wait_seconds: histograms.slot_wait_seconds,
  start_delay_seconds: histograms.start_delay_seconds,
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
  ...deliveryMetrics,
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
    help: 'Whether a guard is raised; memory, outbox, descriptors and processes stop the agent from taking jobs.',
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

/** Process metrics from the library that the alert rules and the dashboard use; the page has more of them. */
export const processMetrics = {
  process_cpu_seconds_total: { type: 'counter', labels: none },
  process_resident_memory_bytes: { type: 'gauge', labels: none },
  process_start_time_seconds: { type: 'gauge', labels: none },
  process_open_fds: { type: 'gauge', labels: none },
  process_max_fds: { type: 'gauge', labels: none },
} as const satisfies { readonly [name: string]: Pick<MetricDefinition, 'type' | 'labels'> };
