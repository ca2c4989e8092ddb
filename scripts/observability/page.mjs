/** docs/metrics.md: every metric of the catalogues, every alert with what to do. */
import { agentAlerts, serviceAlerts } from './alerts.mjs';

const agentPrefix = 'location_agent_';

export function metricsPage({
  agentMetrics,
  metricSubjects,
  processMetrics,
  exporterMetrics,
  exporterSubjects,
}) {
  return [
    '# Metrics, alerts, dashboard',
    '',
    'Made by `npm run observability` from the catalogues of the code (`src/agent/metrics/catalogue.ts`,',
    '`src/service/analytics/exporter-catalogue.ts`) and the rules (`scripts/observability/`). A test compares them with what a',
    'running agent and a running service tell.',
    '',
    '## Set it up',
    '',
    'Agents tell on `GET /metrics` of `AGENT_HEALTH_PORT` (8081), the service on `GET /v1/metrics` with an API key as bearer token.',
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
    '| file                                     | what                                                                      |',
    '| --- | --- |',
    '| `observability/location-agent.rules.yaml` | alert rules of Prometheus: `rule_files`                                  |',
    '| `observability/prometheus-rule.yaml` | the same for the Prometheus operator: `kubectl apply -f` |',
    '| `observability/dashboard.json` | Grafana 10 or newer: Dashboards → New → Import; the data source is chosen at its top |',
    '',
    'The rules link to this page. `npm run observability -- --docs https://git.example/location-agent/docs/ --out DIR` writes them with',
    'links that your people can follow. The names of scrape jobs may be others: the rules find agents by what they tell.',
    '',
    '## What an agent tells',
    '',
    `All names begin with \`${agentPrefix}\`. Histograms have \`_bucket\`, \`_sum\` and \`_count\`. The values of labels are a closed set but`,
    'for `version`, `node` and `location`, of which an agent has one at a time: some 700 series at most, 200 where few types are in use.',
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
    `From the library: ${Object.keys(processMetrics)
      .map((name) => `\`${name}\``)
      .join(', ')}, and more that begins with \`process_\` or \`nodejs_\`.`,
    '',
    '## What the service tells',
    '',
    'Gauges all, made anew every 10 seconds at most; see [analytics](analytics.md#prometheus). Runs queued and under way per location are what',
    'agents are scaled by ([kubernetes](kubernetes.md)).',
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
    '## Alerts',
    '',
    'critical: somebody should look now; warning: today; info: at leisure.',
    '',
    ...[...agentAlerts, ...serviceAlerts].flatMap((alert) => [
      `### ${alert.name}`,
      '',
      `${alert.severity}, after ${alert.for === '0m' ? 'no wait' : alert.for}. ${alert.description.replaceAll(/\{\{[^}]*\}\}/g, 'so long')}`,
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
    '| metric | type | labels | means |',
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
