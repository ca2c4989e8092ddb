/**
 * The alert rules: condition, duration, and the steps for the person on call. Metrics and labels come from the catalogues; a test
 * parses every expression.
 */
import { agentAlerts } from './agent-alerts.mjs';
import { serviceAlerts } from './service-alerts.mjs';

/** The rules in the form of Prometheus; `docs` is the URL prefix of the page with the runbooks. */
export function ruleGroups({ docs }) {
  const group = (name, alerts) => ({
    name,
    rules: alerts.map((alert) => ({
      alert: alert.name,
      expr: alert.expr,
      for: alert.for,
      labels: { severity: alert.severity },
      annotations: {
        summary: alert.summary,
        description: alert.description,
        runbook_url: `${docs}alert-rules.md#${alert.name.toLowerCase()}`,
      },
    })),
  });
  return { groups: [group('location-agent', agentAlerts), group('monitoring-service', serviceAlerts)] };
}

/** The same rules as a resource for the Prometheus operator. */
export function prometheusRule(options) {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'location-agent', labels: { 'app.kubernetes.io/name': 'location-agent' } },
    spec: ruleGroups(options),
  };
}
