/** docs/metrics.md: all metrics of the catalogues. docs/alert-rules.md: all alerts with their runbooks. */
import { agentAlerts } from './agent-alerts.mjs';
import { serviceAlerts } from './service-alerts.mjs';

const agentPrefix = 'location_agent_';

export function metricsPage({
  agentMetrics,
  metricSubjects,
  processMetrics,
  exporterMetrics,
  exporterSubjects,
}) {
  return [
    '# Metrics and dashboard',
    '',
    'This page is for operators who monitor agents and the service with Prometheus and Grafana.',
    '',
    '```sh',
    'curl -s http://agent-1.example:8081/metrics',
    'curl -s -H "Authorization: Bearer $SERVICE_API_KEY" http://service.example:4400/v1/metrics',
    '```',
    '',
    'Agents expose metrics on `GET /metrics` of `AGENT_HEALTH_PORT` (8081).',
    'The service exposes metrics on `GET /v1/metrics` and requires an API key as a bearer token.',
    '',
    '## Set-up',
    '',
    'Add the scrape jobs and the rule file to the configuration of Prometheus:',
    '',
    '```yaml',
    'scrape_configs:',
    '  - job_name: location-agent',
    "    static_configs: [{ targets: ['agent-1.example:8081', 'agent-2.example:8081'] }]",
    '  - job_name: monitoring-service',
    '    metrics_path: /v1/metrics',
    '    scrape_interval: 60s',
    '    authorization: { credentials_file: /etc/prometheus/service-api-key }',
    "    static_configs: [{ targets: ['service.example:4400'] }]",
    'rule_files: [location-agent.rules.yaml]',
    '```',
    '',
    '| file | use |',
    '| --- | --- |',
    '| `observability/location-agent.rules.yaml` | alert rules for Prometheus; list it in `rule_files` |',
    '| `observability/prometheus-rule.yaml` | the same rules for the Prometheus operator; run `kubectl apply -f` |',
    '| `observability/dashboard.json` | dashboard for Grafana 10 or newer; import it with Dashboards → New → Import, then choose the data source at its top |',
    '',
    'The rules link to [alert-rules.md](alert-rules.md), which describes what to do for each alert.',
    'To link to your own copy, run `npm run observability -- --docs https://git.example/location-agent/docs/ --out DIR`.',
    'You can choose any names for scrape jobs, because the rules find agents by their metrics.',
    '',
    '`npm run observability` generates this page, the page of the alerts, the rules and the dashboard.',
    'It reads the metric catalogues (`src/agent/metrics/catalogue.ts`, `src/service/analytics/exporter-catalogue.ts`) and `scripts/observability/`.',
    'A test compares them with the metrics of a running agent and a running service.',
    '',
    '## Agent metrics',
    '',
    `All names begin with \`${agentPrefix}\`. Histograms have \`_bucket\`, \`_sum\` and \`_count\`.`,
    'Label values are closed sets, except for `version`, `node` and `location`, of which an agent has one at a time.',
    'An agent exposes about 700 series at most, and 200 if few types are in use.',
    '',
    ...metricSubjects.flatMap((subject) => [
      `### ${subject}`,
      '',
      ...tableOf(
        Object.entries(agentMetrics).filter(([, { about }]) => about === subject),
        ({ type }) => type,
      ),
      '',
    ]),
    '### The process',
    '',
    `The metrics library adds ${Object.keys(processMetrics)
      .map((name) => `\`${name}\``)
      .join(', ')}, and more metrics that begin with \`process_\` or \`nodejs_\`.`,
    '',
    '## Service metrics',
    '',
    'All service metrics are gauges, refreshed at most every 10 seconds; see [analytics](analytics.md#prometheus).',
    'Use the numbers of queued and running runs per location to scale agents ([kubernetes](kubernetes/scaling.md)).',
    'New names use base units; names in milliseconds and days are kept, because dashboards use them.',
    '',
    ...exporterSubjects.flatMap((subject) => [
      `### ${subject}`,
      '',
      ...tableOf(
        Object.entries(exporterMetrics).filter(([, { about }]) => about === subject),
        () => 'gauge',
      ),
      '',
    ]),
  ].join('\n');
}

/** The page of the alerts, which the rules link to. */
export function alertsPage() {
  return [
    '# Alert rules for Prometheus',
    '',
    'This page is for people who receive an alert about the agents or the service: what it means, its query and what to do.',
    '[metrics.md](metrics.md) describes the metrics, and how to load the rules:',
    '',
    '```yaml',
    'rule_files: [location-agent.rules.yaml]',
    '```',
    '',
    '| severity | act |',
    '| --- | --- |',
    '| critical | now |',
    '| warning | today |',
    '| info | when you have time |',
    '',
    ...[...agentAlerts, ...serviceAlerts].flatMap((alert) => [
      `## ${alert.name}`,
      '',
      `Severity ${alert.severity}; fires ${alert.for === '0m' ? 'immediately' : `after ${alert.for}`}. ${alert.description.replaceAll(/\{\{[^}]*\}\}/g, 'too long')}`,
      '',
      '```promql',
      alert.expr,
      '```',
      '',
      ...alert.runbook.map((step) => `- ${step}`),
      '',
    ]),
  ].join('\n');
}

function tableOf(metrics, typeOf) {
  return [
    '| metric | type | labels | meaning |',
    '| --- | --- | --- | --- |',
    ...metrics.map(
      ([name, definition]) =>
        `| \`${name}\` | ${typeOf(definition)} | ${labelsOf(definition)} | ${definition.help} |`,
    ),
  ];
}

function labelsOf({ labels }) {
  return Object.entries(labels)
    .map(([name, values]) => (values === null ? `\`${name}\`` : `\`${name}\` (${values.join(', ')})`))
    .join('; ');
}
