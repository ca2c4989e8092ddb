/**
 * The Grafana dashboard: a row per subject of the catalogue, and a panel per metric or small group of metrics. Descriptions, units
 * and kinds come from the catalogue.
 */

const datasource = { type: 'prometheus', uid: '${datasource}' };
const agentPrefix = 'location_agent_';
const ofAgent = 'instance=~"$instance"';
const ofLocation = 'private_location_slug_name=~"$private_location"';
const window = '[$__rate_interval]';

/** Agent metrics have no prefix here. */
const rows = [
  {
    title: 'Overview',
    panels: [
      stat('Agents connected', ['connected'], `sum(location_agent_connected{${ofAgent}})`, 'short'),
      stat(
        'Runs per minute',
        ['results_total'],
        `sum(rate(location_agent_results_total{kind="FINAL", ${ofAgent}}${window})) * 60`,
        'short',
      ),
      stat(
        'Slots busy',
        ['slots_busy', 'slots'],
        `sum(location_agent_slots_busy{${ofAgent}}) / sum(location_agent_slots{${ofAgent}})`,
        'percentunit',
        [0.75, 0.9],
      ),
      stat(
        'Oldest result in an outbox',
        ['outbox_age_seconds'],
        `max(location_agent_outbox_age_seconds{${ofAgent}})`,
        's',
        [120, 600],
      ),
      stat('Active guards', ['guard'], `sum(location_agent_guard{${ofAgent}})`, 'short', [1, 2]),
      stat(
        'Results lost',
        ['results_dropped_total'],
        `sum(increase(location_agent_results_dropped_total{${ofAgent}}[$__range]))`,
        'short',
        [1, 1],
      ),
    ],
  },
  {
    title: 'Runs',
    panels: [
      series('Results by status', ['results_total'], {
        by: ['status'],
        where: 'kind="FINAL"',
        stacked: true,
      }),
      series('Results by type', ['results_total'], { by: ['type'], where: 'kind="FINAL"', stacked: true }),
      series('Jobs by phase', ['jobs'], { by: ['phase'], stacked: true }),
      series('Run duration', ['run_duration_seconds'], { by: ['type'], quantiles: [0.95] }),
      series('Attempt duration', ['attempt_duration_seconds'], { by: ['type'], quantiles: [0.5, 0.95] }),
      series('Jobs claimed, released, unreadable', [
        'jobs_claimed_total',
        'jobs_released_total',
        'jobs_unreadable_total',
      ]),
      series('Attempts that the agent itself delayed', ['attempts_starved_total'], { by: ['action'] }),
      series('Suite stage duration', ['suite_stage_seconds'], { by: ['stage'], quantiles: [0.95] }),
      series('Suite dependency cache', ['suite_dependency_cache_total'], { by: ['result'] }),
      series('Own network: spoiled results and examinations', [
        'own_network_results_total',
        'own_network_examinations_total',
      ]),
    ],
  },
  {
    title: 'Delays',
    panels: [
      series('Due → started', ['start_delay_seconds'], { by: ['lane'], quantiles: [0.5, 0.95, 0.99] }),
      series('Due → claimed', ['claim_delay_seconds'], { by: ['lane'], quantiles: [0.5, 0.95, 0.99] }),
      series('Claimed → started', ['slot_wait_seconds'], { by: ['lane'], quantiles: [0.5, 0.95, 0.99] }),
    ],
  },
  {
    title: 'Slots',
    panels: [
      series('Slots: busy and total', ['slots_busy', 'slots'], { by: ['lane'] }),
      expression(
        'Slot utilization',
        ['slots_busy', 'slots'],
        `sum by (instance, lane) (location_agent_slots_busy{${ofAgent}}) / sum by (instance, lane) (location_agent_slots{${ofAgent}})`,
        '{{instance}} {{lane}}',
        'percentunit',
      ),
    ],
  },
  {
    title: 'Service',
    panels: [
      series('Time since the last poll', ['poll_age_seconds'], { by: ['instance', 'lane'], of: 'max' }),
      series('Claims and failed calls', ['claims_total', 'claims_failed_total', 'renewals_failed_total']),
      series('Leases lost', ['leases_lost_total'], { by: ['instance'] }),
      series('Connected', ['connected'], { by: ['instance'], of: 'max' }),
      series('Clock difference from the service', ['clock_skew_seconds'], { by: ['instance'], of: 'max' }),
    ],
  },
  {
    title: 'Results and outbox',
    panels: [
      series('Waiting results', ['outbox_results'], { by: ['instance', 'place'] }),
      series('Outbox size and limit', ['outbox_bytes', 'outbox_limit_bytes'], {
        by: ['instance', 'place'],
      }),
      series('Age of the oldest result', ['outbox_age_seconds'], { by: ['instance'], of: 'max' }),
      series('Results sent', ['results_sent_total'], { by: ['instance'] }),
      series('Result upload duration', ['result_upload_seconds'], { quantiles: [0.5, 0.95] }),
      series('Results rejected, quarantined or lost', [
        'results_rejected_total',
        'results_quarantined_total',
        'results_reduced_total',
        'results_dropped_total',
        'results_damaged_total',
        'results_trimmed_total',
      ]),
      series('Outbox errors', ['outbox_damaged_total', 'outbox_disk_errors_total']),
    ],
  },
  {
    title: 'Artifacts',
    panels: [
      series('Artifact bytes sent', ['artifact_bytes_sent_total'], { by: ['instance'] }),
      series('Artifact upload duration', ['artifact_upload_seconds'], { quantiles: [0.5, 0.95] }),
      series('Waiting artifacts', ['artifacts_waiting'], { by: ['instance'] }),
      series('Size of waiting artifacts', ['artifacts_waiting_bytes'], { by: ['instance'] }),
      series('Artifacts sent, refused, lost', [
        'artifacts_sent_total',
        'artifacts_refused_total',
        'artifacts_lost_total',
      ]),
      series('Bytes scrubbed', ['scrub_bytes_total'], { by: ['what'] }),
    ],
  },
  {
    title: 'Agent process',
    panels: [
      series('Guards', ['guard'], { by: ['instance', 'guard'], of: 'max' }),
      series('Event loop delay', ['event_loop_delay_seconds'], {
        by: ['instance', 'stat'],
        of: 'max',
      }),
      series('Internal errors', ['faults_total'], { by: ['instance'] }),
      expression(
        'Memory',
        [],
        `sum by (instance) (process_resident_memory_bytes{${ofAgent}} and on (job, instance) location_agent_info)`,
        '{{instance}}',
        'bytes',
      ),
      expression(
        'CPU cores used',
        [],
        `sum by (instance) (rate(process_cpu_seconds_total{${ofAgent}}${window}) and on (job, instance) location_agent_info)`,
        '{{instance}}',
        'short',
      ),
      table(
        'Versions',
        ['info'],
        `count by (location, instance, version, node) (location_agent_info{${ofAgent}})`,
      ),
      table('Runtimes', ['runtime_info'], `count by (runtime) (location_agent_runtime_info{${ofAgent}})`),
    ],
  },
  {
    title: 'Locations (from the service)',
    panels: [
      ofService('Waiting runs', 'private_location_queue_size'),
      ofService('Longest waiting run', 'private_location_oldest_scheduled_check_run'),
      ofService('Connected agents', 'private_location_agent_count'),
      ofService('Runs by state', 'private_location_check_runs', ['state']),
      ofService('Runs by lane and state', 'private_location_lane_check_runs', ['lane', 'state']),
      ofService('Time that runs waited', 'private_location_queue_duration_ms', ['queue', 'stat']),
    ],
  },
  {
    title: 'Checks (from the service)',
    panels: [
      {
        ...expression(
          'Failing checks',
          [],
          'sum by (check_name, check_type) (check_up == 0)',
          '{{check_name}}',
          'short',
        ),
        names: ['check_up'],
      },
      {
        ...expression(
          'Degraded checks',
          [],
          'sum by (check_name) (check_degraded == 1)',
          '{{check_name}}',
          'short',
        ),
        names: ['check_degraded'],
      },
      {
        ...expression(
          'Slowest checks',
          [],
          'topk(10, max by (check_name) (check_response_time_ms))',
          '{{check_name}}',
          'ms',
        ),
        names: ['check_response_time_ms'],
      },
      {
        ...expression(
          'Certificates that expire next',
          [],
          'bottomk(10, min by (check_name) (check_ssl_days_remaining))',
          '{{check_name}}',
          'd',
        ),
        names: ['check_ssl_days_remaining'],
      },
      {
        ...expression(
          'Time since the last run',
          [],
          'topk(10, time() - max by (check_name) (check_last_run_timestamp_seconds{activated="true"}))',
          '{{check_name}}',
          's',
        ),
        names: ['check_last_run_timestamp_seconds'],
      },
      {
        ...expression(
          'Files with results of earlier days',
          [],
          'max by (state) (result_files)',
          '{{state}}',
          'short',
        ),
        names: ['result_files'],
      },
    ],
  },
];

function stat(title, metrics, expr, unit, thresholds) {
  return { kind: 'stat', title, metrics, targets: [{ expr }], unit, thresholds };
}
function table(title, metrics, expr) {
  return { kind: 'table', title, metrics, targets: [{ expr }], unit: 'short' };
}
function expression(title, metrics, expr, legend, unit) {
  return { kind: 'timeseries', title, metrics, targets: [{ expr, legend }], unit };
}
/** Metrics of the agent over time: rates of counters, values of gauges, quantiles of histograms. */
function series(title, metrics, { by = [], where, of = 'sum', quantiles, stacked = false } = {}) {
  return { kind: 'timeseries', title, metrics, by, where, of, quantiles, stacked };
}
function ofService(title, name, by = []) {
  const labels = ['private_location_slug_name', ...by];
  const expr = `max by (${labels.join(', ')}) (${name}{${ofLocation}})`;
  return {
    kind: 'timeseries',
    title,
    metrics: [],
    names: [name],
    targets: [{ expr, legend: labels.map((label) => `{{${label}}}`).join(' ') }],
  };
}

/** Grafana's units. */
const units = {
  seconds: 's',
  milliseconds: 'ms',
  days: 'd',
  bytes: 'bytes',
  boolean: 'short',
  count: 'short',
  info: 'short',
};

function targetsOf({ metrics, by, where, of, quantiles }, agentMetrics) {
  const several = metrics.length > 1;
  return metrics.flatMap((name) => {
    const { type } = agentMetrics[name];
    const full = agentPrefix + name;
    const selector = `{${[where, ofAgent].filter(Boolean).join(', ')}}`;
    const grouped = (labels) => (labels.length === 0 ? '' : `by (${labels.join(', ')}) `);
    const legend = [
      ...(several ? [name.replace(/_total$/, '').replaceAll('_', ' ')] : []),
      ...by.map((label) => `{{${label}}}`),
    ];
    if (type === 'histogram') {
      return quantiles.map((quantile) => ({
        expr: `histogram_quantile(${quantile}, sum by (${['le', ...by].join(', ')}) (rate(${full}_bucket${selector}${window})))`,
        legend: [...legend, `p${quantile * 100}`].join(' '),
      }));
    }
    const value = type === 'counter' ? `rate(${full}${selector}${window})` : full + selector;
    return [
      { expr: `${of} ${grouped(by)}(${value})`, legend: legend.join(' ') || name.replaceAll('_', ' ') },
    ];
  });
}

/** The rate of a counter has another unit than the counter. */
function unitOf({ unit, metrics, names = [] }, { agentMetrics, exporterMetrics }) {
  if (unit !== undefined) return unit;
  const [first] = [
    ...metrics.map((name) => agentMetrics[name]),
    ...names.map((name) => exporterMetrics[name]),
  ];
  if (first.type === 'counter') return first.unit === 'bytes' ? 'Bps' : 'ops';
  return units[first.unit];
}

const width = { stat: 4, table: 12, timeseries: 8 };
const height = { stat: 4, table: 8, timeseries: 8 };

function panelOf(spec, place, catalogue) {
  const { agentMetrics, exporterMetrics } = catalogue;
  const targets = spec.targets ?? targetsOf(spec, agentMetrics);
  const helps = [
    ...spec.metrics.map((name) => `\`${agentPrefix}${name}\`: ${agentMetrics[name].help}`),
    ...(spec.names ?? []).map((name) => `\`${name}\`: ${exporterMetrics[name].help}`),
  ];
  const instant = spec.kind !== 'timeseries';
  return {
    ...place,
    type: spec.kind,
    title: spec.title,
    ...(helps.length === 0 ? {} : { description: helps.join('\n\n') }),
    datasource,
    targets: targets.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      ...(legend === undefined ? {} : { legendFormat: legend }),
      ...(instant ? { instant: true, range: false } : { instant: false, range: true }),
      ...(spec.kind === 'table' ? { format: 'table' } : {}),
    })),
    fieldConfig: { defaults: fieldsOf(spec, unitOf(spec, catalogue)), overrides: [] },
    options: optionsOf(spec.kind),
    ...(spec.kind === 'table'
      ? { transformations: [{ id: 'organize', options: { excludeByName: { Time: true, Value: true } } }] }
      : {}),
  };
}

function fieldsOf({ kind, stacked, thresholds }, unit) {
  const [warn, bad] = thresholds ?? [];
  return {
    unit,
    ...(kind === 'timeseries'
      ? {
          min: unit === 's' ? undefined : 0,
          custom: { fillOpacity: 10, showPoints: 'never', stacking: { mode: stacked ? 'normal' : 'none' } },
        }
      : {}),
    ...(kind === 'stat'
      ? {
          thresholds: {
            mode: 'absolute',
            steps: [
              { color: 'green', value: null },
              ...(warn === undefined || warn === bad ? [] : [{ color: 'orange', value: warn }]),
              ...(bad === undefined ? [] : [{ color: 'red', value: bad }]),
            ],
          },
        }
      : {}),
  };
}

function optionsOf(kind) {
  if (kind === 'stat')
    return { reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false }, colorMode: 'value' };
  if (kind === 'table') return { showHeader: true };
  return {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  };
}

function variables() {
  const query = (name, label, definition) => ({
    type: 'query',
    name,
    label,
    datasource,
    definition,
    query: { query: definition, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    current: { selected: true, text: ['All'], value: ['$__all'] },
  });
  return [
    { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus', current: {} },
    // An agent that the service has not accepted yet has no location, so `All` must match the empty label too.
    { ...query('location', 'Location', 'label_values(location_agent_info, location)'), allValue: '.*' },
    query('instance', 'Agent', 'label_values(location_agent_info{location=~"$location"}, instance)'),
    // The service also has locations without any agent.
    query(
      'private_location',
      'Location (service)',
      'label_values(private_location_agent_count, private_location_slug_name)',
    ),
  ];
}

/** The dashboard for both catalogues, in the form that Grafana imports. */
export function dashboard(catalogue) {
  const panels = [];
  let y = 0;
  let id = 0;
  for (const row of rows) {
    panels.push({
      id: ++id,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const spec of row.panels) {
      const [w, h] = [width[spec.kind], height[spec.kind]];
      if (x + w > 24) [x, y, lineHeight] = [0, y + lineHeight, 0];
      panels.push(panelOf(spec, { id: ++id, gridPos: { x, y, w, h } }, catalogue));
      x += w;
      lineHeight = Math.max(lineHeight, h);
    }
    y += lineHeight;
  }
  return {
    uid: 'location-agent',
    title: 'Location agents',
    tags: ['location-agent'],
    schemaVersion: 39,
    editable: true,
    timezone: 'browser',
    time: { from: 'now-6h', to: 'now' },
    refresh: '1m',
    templating: { list: variables() },
    annotations: { list: [] },
    panels,
  };
}
