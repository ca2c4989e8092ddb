import { lanes } from '../../protocol/check-types.ts';

/**
 * All metrics of `GET /v1/metrics`; each is a gauge. exporter-routes.ts fills them. docs/metrics.md, the alert rules
 * and the dashboard (scripts/observability.mjs) are generated from this list.
 */
export type ExporterMetric = {
  readonly about: (typeof exporterSubjects)[number];
  readonly help: string;
  readonly unit: 'seconds' | 'milliseconds' | 'days' | 'count' | 'boolean';
  /** Each label with all its possible values; null = any text, one per location or check. */
  readonly labels: { readonly [label: string]: readonly string[] | null };
};

export const exporterSubjects = ['Locations', 'Checks', 'Results'] as const;

const ofLocation = {
  private_location_id: null,
  private_location_name: null,
  private_location_slug_name: null,
} as const;

const ofCheck = {
  check_id: null,
  check_name: null,
  check_type: null,
  group: null,
  activated: ['true', 'false'],
  muted: ['true', 'false'],
} as const;

export const exporterMetrics = {
  private_location_queue_size: {
    about: 'Locations',
    help: 'Runs that wait for an agent.',
    unit: 'count',
    labels: ofLocation,
  },
  private_location_oldest_scheduled_check_run: {
    about: 'Locations',
    help: 'Seconds that the run which has waited longest has waited.',
    unit: 'seconds',
    labels: ofLocation,
  },
  private_location_queue_duration_ms: {
    about: 'Locations',
    help: 'Milliseconds that runs which agents took within the last 2 minutes had waited.',
    unit: 'milliseconds',
    labels: { ...ofLocation, queue: ['uptime', 'main'], stat: ['avg', 'p90', 'p99'] },
  },
  private_location_agent_count: {
    about: 'Locations',
    help: 'Agents that are connected.',
    unit: 'count',
    labels: ofLocation,
  },
  private_location_check_runs: {
    about: 'Locations',
    help: 'Runs by state.',
    unit: 'count',
    labels: { ...ofLocation, state: ['queued', 'inflight'] },
  },
  private_location_lane_check_runs: {
    about: 'Locations',
    help: 'Runs by state and by the lane in which an agent runs them: what agents are scaled by.',
    unit: 'count',
    labels: { ...ofLocation, lane: lanes, state: ['queued', 'inflight'] },
  },
  check_up: {
    about: 'Checks',
    help: '1: the last run did not fail; 0: it did.',
    unit: 'boolean',
    labels: ofCheck,
  },
  check_degraded: {
    about: 'Checks',
    help: '1: the last run was degraded.',
    unit: 'boolean',
    labels: ofCheck,
  },
  check_response_time_ms: {
    about: 'Checks',
    help: 'Response time of the last run.',
    unit: 'milliseconds',
    labels: ofCheck,
  },
  check_ssl_days_remaining: {
    about: 'Checks',
    help: 'Days until the certificate expires.',
    unit: 'days',
    labels: ofCheck,
  },
  check_last_run_timestamp_seconds: {
    about: 'Checks',
    help: 'When the last run started.',
    unit: 'seconds',
    labels: ofCheck,
  },
  result_files: {
    about: 'Results',
    help: 'Files with results of earlier days; unreadable: those that are damaged or missing.',
    unit: 'count',
    labels: { state: ['readable', 'unreadable'] },
  },
} as const satisfies { readonly [name: string]: ExporterMetric };

export type ExporterMetricName = keyof typeof exporterMetrics;
