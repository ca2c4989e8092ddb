import { collectDefaultMetrics, Counter, Gauge, Registry, type Histogram } from 'prom-client';
import { lanes as allLanes, type Lane } from '../protocol/check-types.ts';
import { runtimeIds } from '../protocol/script.ts';
import type { ArtifactDelivery } from './artifacts/delivery.ts';
import { guardNames } from './metrics/guard-rules.ts';
import type { Guards } from './metrics/guards.ts';
import type { Lanes } from './run/lanes.ts';
import type { Leases } from './run/leases.ts';
import { JoinedHistogram } from './metrics/histogram-class.ts';
import { agentMetrics, type AgentMetricName } from './metrics/catalogue.ts';
import { metricPrefix } from './metrics/definition.ts';
import type { HistogramName } from './metrics/histograms.ts';
import type { AgentMetrics } from './metrics/counters.ts';
import type { OutboxLimits } from './outbox/options.ts';
import type { Outbox } from './outbox/outbox.ts';
import type { ScriptHost } from './script-host.ts';
import type { Session } from './link/session.ts';

/** The sources of the page. */
export type MetricsSources = {
  metrics: AgentMetrics;
  lanes: Lanes;
  leases: Leases;
  outbox: Pick<Outbox, 'status'>;
  outboxLimits: OutboxLimits;
  artifacts: Pick<ArtifactDelivery, 'status'>;
  guards: Guards;
  session: Session;
  host: Pick<ScriptHost, 'runtimes'>;
  version: string;
  now: () => number;
};

/** Metrics whose values are read when the page is requested. */
type ReadName = Exclude<AgentMetricName, HistogramName>;
type LabelOf<N extends ReadName> = keyof (typeof agentMetrics)[N]['labels'] & string;

/** One series of a metric. */
type Sample<L extends string = string> = {
  readonly labels: { readonly [N in L]: string };
  readonly value: number;
};

/** Reads one metric: a plain number if it has no labels. */
type Reader<N extends ReadName> = (
  sources: MetricsSources,
) => LabelOf<N> extends never ? number : readonly Sample<LabelOf<N>>[];

/** All metrics of the agent in Prometheus text format. This module and its library are loaded at the first request. */
export function createMetricsPage(
  sources: MetricsSources,
): () => Promise<{ contentType: string; body: string }> {
  // Metrics of the process: the library finds them on each operating system.
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // The agent has its own event-loop metric; those of the library may be `Nan`, which strict readers reject. The totals of
  // `nodejs_active_…` are gauges with the names of counters, and sums of the metrics without `_total`.
  for (const { name } of registry.getMetricsAsArray()) {
    if (/^nodejs_(?:eventloop_lag|active_\w+_total$)/.test(name)) registry.removeSingleMetric(name);
  }
  const { histograms } = sources.metrics;
  const isHistogram = (name: AgentMetricName): name is HistogramName => Object.hasOwn(histograms, name);
  const names = Object.keys(agentMetrics) as AgentMetricName[]; // its own keys
  for (const name of names) {
    if (isHistogram(name)) registerHistogram(registry, histograms[name]);
    else registerReader(registry, name, () => readers[name](sources));
  }
  return async () => ({ contentType: registry.contentType, body: await registry.metrics() });
}

/** Adds a histogram of the agent to the page of `registry`. */
export function registerHistogram<L extends string>(
  registry: Registry,
  histogram: Histogram<L> | JoinedHistogram<L>,
): void {
  if (histogram instanceof JoinedHistogram) histogram.register(registry);
  else registry.registerMetric(histogram);
}

/** A counter or gauge that reads its values with `read` when the page is rendered. */
function registerReader(registry: Registry, name: ReadName, read: () => number | readonly Sample[]): void {
  const { type, help, labels } = agentMetrics[name];
  const configuration = {
    name: metricPrefix + name,
    help,
    labelNames: Object.keys(labels),
    registers: [registry],
  };
  const samples = (): readonly Sample[] => {
    const values = read();
    return typeof values === 'number' ? [{ labels: {}, value: values }] : values;
  };
  if (type === 'counter') {
    const counter: Counter = new Counter({
      ...configuration,
      collect: () => {
        counter.reset();
        for (const sample of samples()) counter.inc(sample.labels, sample.value);
      },
    });
    return;
  }
  const gauge: Gauge = new Gauge({
    ...configuration,
    collect: () => {
      gauge.reset();
      for (const sample of samples()) gauge.set(sample.labels, sample.value);
    },
  });
}

/** Samples from a map by one label. */
function by<L extends string>(label: L, values: ReadonlyMap<string, number>): readonly Sample<L>[] {
  // The type guarantees one label.
  return [...values].map(([text, value]) => ({ labels: { [label]: text } as Record<L, string>, value }));
}

/** One value for each open lane; a lane opens when a runtime is installed. */
function ofLanes({ lanes }: MetricsSources, value: (lane: Lane) => number): readonly Sample<'lane'>[] {
  return allLanes
    .filter((lane) => lanes.slots[lane] !== undefined)
    .map((lane) => ({ labels: { lane }, value: value(lane) }));
}

const readers: { readonly [N in ReadName]: Reader<N> } = {
  results_total: ({ metrics }) =>
    [...metrics.results].map(([key, value]) => {
      const [type = '', status = '', kind = ''] = key.split(' ');
      return { labels: { type, status, kind }, value };
    }),
  suite_dependency_cache_total: ({ metrics }) => by('result', metrics.suiteDependencies),
  jobs: ({ leases }) => {
    const held = leases.held();
    return (['queued', 'running', 'waiting'] as const).map((phase) => ({
      labels: { phase },
      value: held.filter((hold) => hold.phase === phase).length,
    }));
  },
  jobs_claimed_total: ({ metrics }) => metrics.jobsClaimed,
  jobs_released_total: ({ metrics }) => metrics.jobsReleased,
  jobs_unreadable_total: ({ metrics }) => metrics.jobsUnreadable,
  attempts_starved_total: ({ metrics }) => [
    { labels: { action: 'repeated' }, value: metrics.attemptsRepeated },
    { labels: { action: 'overloaded' }, value: metrics.attemptsDisbelieved },
  ],

  slots: (sources) => ofLanes(sources, (lane) => sources.lanes.slots[lane] ?? 0),
  slots_busy: (sources) => ofLanes(sources, (lane) => sources.lanes.running(lane)),

  connected: ({ session }) => (session.current() === null ? 0 : 1),
  poll_age_seconds: ({ metrics, lanes }) => {
    const time = performance.now();
    return [...metrics.polledAt].map(([lane, polledAt]) => ({
      labels: { lane },
      value: lanes.free(lane) === 0 ? 0 : Math.max(0, time - polledAt) / 1000,
    }));
  },
  claims_total: ({ metrics }) => metrics.claims,
  claims_failed_total: ({ metrics }) => metrics.claimsFailed,
  renewals_failed_total: ({ metrics }) => metrics.renewalsFailed,
  leases_lost_total: ({ metrics }) => metrics.leasesLost,
  clock_skew_seconds: ({ session }) => (session.clockSkewMs() ?? 0) / 1000,

  results_sent_total: ({ metrics }) => metrics.resultsSent,
  results_rejected_total: ({ metrics }) => metrics.resultsRejected,
  results_quarantined_total: ({ metrics }) => metrics.resultsQuarantined,
  results_dropped_total: ({ metrics }) => metrics.resultsDropped,
  results_damaged_total: ({ metrics }) => metrics.resultsDamaged,
  results_reduced_total: ({ metrics }) => metrics.resultsReduced,
  results_trimmed_total: ({ metrics }) => metrics.resultsTrimmed,
  outbox_results: ({ outbox }) => {
    const { diskResults, memoryResults } = outbox.status();
    return places(diskResults, memoryResults);
  },
  outbox_bytes: ({ outbox }) => {
    const { diskBytes, memoryBytes } = outbox.status();
    return places(diskBytes, memoryBytes);
  },
  outbox_limit_bytes: ({ outboxLimits: { capBytes, memoryBytes } }) => places(capBytes, memoryBytes),
  outbox_age_seconds: ({ outbox, now }) => {
    const { oldestAt } = outbox.status();
    return oldestAt === null ? 0 : Math.max(0, (now() - oldestAt) / 1000);
  },
  outbox_damaged_total: ({ metrics }) => metrics.outboxDamaged,
  outbox_disk_errors_total: ({ metrics }) => metrics.outboxDiskErrors,

  artifacts_sent_total: ({ metrics }) => metrics.artifactsSent,
  artifact_bytes_sent_total: ({ metrics }) => metrics.artifactBytesSent,
  artifacts_waiting: ({ artifacts }) => artifacts.status().count,
  artifacts_waiting_bytes: ({ artifacts }) => artifacts.status().bytes,
  artifacts_refused_total: ({ metrics }) => metrics.artifactsRefused,
  artifacts_lost_total: ({ metrics }) => metrics.artifactsLost,
  scrub_bytes_total: ({ metrics }) => [
    { labels: { what: 'result' }, value: metrics.scrubbedResultBytes },
    { labels: { what: 'artifact' }, value: metrics.scrubbedArtifactBytes },
  ],

  info: ({ version, session }) => [
    {
      labels: { version, node: process.version, location: session.current()?.location.slugName ?? '' },
      value: 1,
    },
  ],
  runtime_info: ({ host }) =>
    host
      .runtimes()
      .filter((runtime) => runtimeIds.some((id) => id === runtime))
      .map((runtime) => ({ labels: { runtime }, value: 1 })),
  guard: ({ guards }) => {
    const raised = new Set(guards.raised().map(({ name }) => name));
    return guardNames.map((guard) => ({ labels: { guard }, value: raised.has(guard) ? 1 : 0 }));
  },
  event_loop_delay_seconds: ({ guards }) => {
    const { p99, max } = guards.eventLoopDelayMs();
    return [
      { labels: { stat: 'p99' }, value: p99 / 1000 },
      { labels: { stat: 'max' }, value: max / 1000 },
    ];
  },
  faults_total: ({ metrics }) => metrics.faults,
  own_network_results_total: ({ metrics }) => metrics.ownNetworkResults,
  own_network_examinations_total: ({ metrics }) => metrics.ownNetworkExaminations,
};

function places(disk: number, memory: number): readonly Sample<'place'>[] {
  return [
    { labels: { place: 'disk' }, value: disk },
    { labels: { place: 'memory' }, value: memory },
  ];
}
