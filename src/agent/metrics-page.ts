import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { lanes as allLanes } from '../protocol/check-types.ts';
import { guardNames, type Guards } from './guards.ts';
import type { Lanes } from './lanes.ts';
import type { Leases } from './leases.ts';
import type { AgentMetrics, Histogram } from './metrics.ts';
import type { Outbox } from './outbox.ts';
import type { Session } from './session.ts';

/** What the page is made of. */
export type MetricsSources = {
  metrics: AgentMetrics;
  lanes: Lanes;
  leases: Leases;
  outbox: Outbox;
  guards: Guards;
  session: Session;
  version: string;
  now: () => number;
};

const prefix = 'location_agent_';

/** Prometheus text of everything that the agent counts. Loaded, with its library, when it is first asked for. */
export function createMetricsPage(
  sources: MetricsSources,
): () => Promise<{ contentType: string; body: string }> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerCounters(registry, sources);
  registerGauges(registry, sources);
  return async () => ({
    contentType: registry.contentType,
    body: (await registry.metrics()) + histograms(sources.metrics),
  });
}

function registerCounters(registry: Registry, { metrics }: MetricsSources): void {
  const results = new Counter({
    name: `${prefix}results_total`,
    help: 'Results by check type, status and kind (FINAL or ATTEMPT).',
    labelNames: ['type', 'status', 'kind'],
    registers: [registry],
    collect: () => {
      results.reset();
      for (const [key, count] of metrics.results) {
        const [type = '', status = '', kind = ''] = key.split(' ');
        results.inc({ type, status, kind }, count);
      }
    },
  });
  const dependencies = new Counter({
    name: `${prefix}suite_dependency_cache_total`,
    help: 'Suites by where their dependencies came from.',
    labelNames: ['result'],
    registers: [registry],
    collect: () => {
      dependencies.reset();
      for (const [result, count] of metrics.suiteDependencies) dependencies.inc({ result }, count);
    },
  });
  const counters: [name: string, help: string, read: () => number][] = [
    ['jobs_claimed_total', 'Jobs taken from the service.', () => metrics.jobsClaimed],
    ['jobs_released_total', 'Jobs handed back to the service.', () => metrics.jobsReleased],
    [
      'jobs_unreadable_total',
      'Jobs that could not be read or are of no type of this agent.',
      () => metrics.jobsUnreadable,
    ],
    ['claims_total', 'Claims sent.', () => metrics.claims],
    ['claims_failed_total', 'Claims without a usable answer.', () => metrics.claimsFailed],
    ['leases_lost_total', 'Jobs whose lease the service gave to another agent.', () => metrics.leasesLost],
    ['renewals_failed_total', 'Renewals without a usable answer.', () => metrics.renewalsFailed],
    ['results_sent_total', 'Results that the service acknowledged.', () => metrics.resultsSent],
    ['results_rejected_total', 'Results that the service rejected.', () => metrics.resultsRejected],
    [
      'results_quarantined_total',
      'Results set aside because the service cannot read them.',
      () => metrics.resultsQuarantined,
    ],
    ['results_dropped_total', 'Results lost to the bounds of the outbox.', () => metrics.resultsDropped],
    ['results_trimmed_total', 'Results cut to the size limit.', () => metrics.resultsTrimmed],
    ['artifacts_sent_total', 'Files of runs that the service has stored.', () => metrics.artifactsSent],
    [
      'artifact_bytes_sent_total',
      'Bytes of files that the service has stored.',
      () => metrics.artifactBytesSent,
    ],
    [
      'artifacts_refused_total',
      'Files too large to be sent, or that cannot be scrubbed.',
      () => metrics.artifactsRefused,
    ],
    ['artifacts_lost_total', 'Files of runs that will not reach the service.', () => metrics.artifactsLost],
    ['outbox_damaged_total', 'Damaged places found in the outbox.', () => metrics.outboxDamaged],
    ['outbox_disk_errors_total', 'Times the disk began to refuse results.', () => metrics.outboxDiskErrors],
    ['faults_total', 'Faults of the agent itself.', () => metrics.faults],
  ];
  for (const [name, help, read] of counters) {
    const counter = new Counter({
      name: prefix + name,
      help,
      registers: [registry],
      collect: () => {
        counter.reset();
        counter.inc(read());
      },
    });
  }
}

function registerGauges(registry: Registry, sources: MetricsSources): void {
  const { lanes, leases, outbox, guards, session, now } = sources;
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    collect: (gauge: Gauge<L>) => void,
  ) => {
    const made: Gauge<L> = new Gauge({
      name: prefix + name,
      help,
      labelNames,
      registers: [registry],
      collect: () => collect(made),
    });
  };
  gauge('info', 'Version of the agent and of its runtime.', ['version', 'node'], (made) =>
    made.set({ version: sources.version, node: process.version }, 1),
  );
  gauge('slots', 'Slots of a lane.', ['lane', 'state'], (made) => {
    // Asked each time: a lane opens when a runtime comes.
    for (const lane of allLanes.filter((each) => lanes.slots[each] !== undefined)) {
      made.set({ lane, state: 'used' }, lanes.running(lane));
      made.set({ lane, state: 'free' }, lanes.free(lane));
    }
  });
  gauge('jobs', 'Jobs in hand, by phase.', ['phase'], (made) => {
    const held = leases.held();
    for (const phase of ['queued', 'running', 'waiting']) {
      made.set({ phase }, held.filter((hold) => hold.phase === phase).length);
    }
  });
  gauge('outbox_bytes', 'Results that wait to be sent.', ['place'], (made) => {
    const { diskBytes, memoryBytes } = outbox.status();
    made.set({ place: 'disk' }, diskBytes);
    made.set({ place: 'memory' }, memoryBytes);
  });
  gauge('outbox_age_seconds', 'Age of the oldest result that waits to be sent.', [], (made) => {
    const { oldestAt } = outbox.status();
    made.set(oldestAt === null ? 0 : Math.max(0, (now() - oldestAt) / 1000));
  });
  gauge('guard', 'Whether a guard is raised.', ['guard'], (made) => {
    const raised = new Set(guards.raised().map(({ name }) => name));
    for (const name of guardNames) made.set({ guard: name }, raised.has(name) ? 1 : 0);
  });
  gauge(
    'event_loop_delay_seconds',
    'Delay of the event loop over the last seconds.',
    ['quantile'],
    (made) => {
      const { p99, max } = guards.eventLoopDelayMs();
      made.set({ quantile: '0.99' }, p99 / 1000);
      made.set({ quantile: '1' }, max / 1000);
    },
  );
  gauge('connected', 'Whether the service has accepted the agent.', [], (made) =>
    made.set(session.current() === null ? 0 : 1),
  );
  gauge('clock_skew_seconds', "The agent's clock minus the service's.", [], (made) =>
    made.set((session.clockSkewMs() ?? 0) / 1000),
  );
}

/** Our own histograms are kept as plain counts, which the library has no way to take in. */
function histograms(metrics: AgentMetrics): string {
  const lines: string[] = [];
  const head = (name: string, help: string) =>
    lines.push(`# HELP ${prefix}${name} ${help}`, `# TYPE ${prefix}${name} histogram`);
  const body = (name: string, labels: string, histogram: Histogram) => {
    let total = 0;
    for (const [index, count] of histogram.counts.entries()) {
      total += count;
      const bound = histogram.bounds[index] ?? '+Inf';
      lines.push(`${prefix}${name}_bucket{${labels}le="${bound}"} ${total}`);
    }
    const only = labels === '' ? '' : `{${labels.slice(0, -1)}}`;
    lines.push(
      `${prefix}${name}_sum${only} ${histogram.sum}`,
      `${prefix}${name}_count${only} ${histogram.count}`,
    );
  };
  head('start_delay_seconds', 'From the moment a run was due to the start of its first attempt here.');
  body('start_delay_seconds', '', metrics.startDelay);
  head('attempt_duration_seconds', 'Duration of attempts.');
  for (const [type, histogram] of metrics.attemptDuration) {
    body('attempt_duration_seconds', `type="${type}",`, histogram);
  }
  head('suite_stage_seconds', 'Duration of the stages of suites.');
  for (const [stage, histogram] of metrics.suiteStages) {
    body('suite_stage_seconds', `stage="${stage}",`, histogram);
  }
  return `\n${lines.join('\n')}\n`;
}
