import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { agentMetrics, processMetrics } from '../../src/agent/metrics/catalogue.ts';
import { metricPrefix, metricSubjects } from '../../src/agent/metrics/definition.ts';
import { exporterMetrics, exporterSubjects } from '../../src/service/analytics/exporter-catalogue.ts';
import { checkPromql, type KnownMetric } from '../helpers/promql.ts';

/** Alert rules, dashboard, docs/metrics.md and docs/alert-rules.md must agree with the metric catalogues. */

const root = resolve(import.meta.dirname, '../..');
const read = (...parts: string[]) => readFileSync(join(root, ...parts), 'utf8');
const script = async (name: string) =>
  (await import(join(root, 'scripts', 'observability', name))) as Record<string, (value: unknown) => unknown>;
const catalogue = { agentMetrics, metricSubjects, processMetrics, exporterMetrics, exporterSubjects };

const known = new Map<string, KnownMetric>([
  ...Object.entries(agentMetrics).map(([name, { type, labels }]): [string, KnownMetric] => [
    metricPrefix + name,
    { type, labels },
  ]),
  ...Object.entries(processMetrics),
  ...Object.entries(exporterMetrics).map(([name, { labels }]): [string, KnownMetric] => [
    name,
    { type: 'gauge', labels },
  ]),
  // Prometheus adds this metric to every target.
  ['up', { type: 'gauge', labels: {} }],
]);

type Rule = {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook_url: string };
};
type RuleFile = { groups: { name: string; rules: Rule[] }[] };
type Panel = {
  id: number;
  type: string;
  title: string;
  description?: string;
  datasource?: { uid: string };
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { refId: string; expr: string; legendFormat?: string; datasource: { uid: string } }[];
};
type Variable = { name: string; type: string; definition?: string };
type Dashboard = {
  uid: string;
  title: string;
  schemaVersion: number;
  templating: { list: Variable[] };
  panels: Panel[];
};

const rulesFile = parse(read('observability', 'location-agent.rules.yaml')) as RuleFile; // our own generated file
const rules = rulesFile.groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('observability', 'dashboard.json')) as Dashboard; // our own generated file
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const page = read('docs', 'metrics.md');
const alertPage = read('docs', 'alert-rules.md');

/** The labels in `{{ $labels.x }}` and `{{x}}` of a text. */
const labelsIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, label = '']) => label);

describe('alert rules', () => {
  test.each(rules.map((rule): [string, Rule] => [rule.alert, rule]))('%s', (_name, rule) => {
    const { labels, mistakes } = checkPromql(rule.expr, known);
    expect(mistakes).toEqual([]);
    expect(rule.alert).toMatch(/^([A-Z][a-z]+)+$/);
    expect(rule.for).toMatch(/^\d+[mh]$/);
    expect(['critical', 'warning', 'info']).toContain(rule.labels.severity);
    const { summary, description, runbook_url: runbook } = rule.annotations;
    for (const text of [summary, description]) {
      expect(text.length).toBeGreaterThan(10);
      for (const label of labelsIn(text, /\$labels\.(\w+)/g)) expect(labels, text).toContain(label);
    }
    const [file = '', anchor] = runbook.split('#');
    const headings = read(file)
      .split('\n')
      .filter((line) => line.startsWith('#'))
      .map((line) => line.replace(/^#+ /, '').toLowerCase());
    expect(headings).toContain(anchor);
  });

  test('an agent without one of the metrics of a rule raises the alert for the others', () => {
    // A sum has no value if one of its parts is missing, for example in an agent of an earlier version.
    expect(rules.filter(({ expr }) => /[^+]\+ *\w/.test(expr)).map(({ alert }) => alert)).toEqual([]);
  });

  test('there is an alert for every documented failure', () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const what of [
      /AgentDown/,
      /NotPolling/,
      /OutboxGrowing/,
      /OutboxOld/,
      /ResultsLost/,
      /LeasesLost/,
      /SlotsSaturated/,
      /Guard/,
      /EventLoopLate/,
      /VersionSkew/,
      /QueueOld/,
      /WithoutAgents/,
    ]) {
      expect(
        names.some((name) => what.test(name)),
        String(what),
      ).toBe(true);
    }
  });

  test('the resource for the Prometheus operator has the same rules and is valid', () => {
    const resource = parse(read('observability', 'prometheus-rule.yaml')) as {
      spec: RuleFile;
    } & ConstructorParameters<typeof PrometheusRule>[0]; // our own generated file
    expect(resource.spec.groups).toEqual(rulesFile.groups);
    expect(() => new PrometheusRule(resource).validate()).not.toThrow();
  });
});

describe('the dashboard', () => {
  test.each(panels.map((panel): [string, Panel] => [`${panel.id} ${panel.title}`, panel]))(
    'panel %s',
    (_name, { targets = [], datasource }) => {
      expect(datasource?.uid).toBe('${datasource}');
      expect(targets.length).toBeGreaterThan(0);
      for (const { expr, legendFormat = '', datasource: of } of targets) {
        const { labels, mistakes } = checkPromql(expr, known);
        expect(mistakes, expr).toEqual([]);
        expect(of.uid).toBe('${datasource}');
        for (const label of labelsIn(legendFormat, /\{\{(\w+)\}\}/g)) expect(labels, expr).toContain(label);
        if (/\blocation_agent_/.test(expr)) expect(expr).toContain('instance=~"$instance"');
        if (expr.includes('private_location_')) expect(expr).toContain('=~"$private_location"');
      }
    },
  );

  test('shows every metric in the catalogues', () => {
    const shown = new Set(
      panels.flatMap(({ targets = [] }) =>
        targets.flatMap(({ expr }) => [...checkPromql(expr, known).metrics]),
      ),
    );
    const library = Object.keys(processMetrics);
    const missing = [...known.keys()].filter(
      (name) => !shown.has(name) && name !== 'up' && !library.includes(name),
    );
    expect(missing).toEqual([]);
  });

  test('can be imported by Grafana: valid variables, unique ids, no overlapping panels', () => {
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    expect(dashboard.uid).toMatch(/^[a-z-]{1,40}$/);
    const [source, ...others] = dashboard.templating.list;
    expect(source).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(others.map(({ name }) => name)).toEqual(['location', 'instance', 'private_location']);
    for (const { definition = '' } of others) {
      const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? [];
      const { labels, mistakes } = checkPromql(selector, known);
      expect(mistakes, definition).toEqual([]);
      expect(labels).toContain(label);
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), title).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});

test('docs/metrics.md names every metric with its type and labels, and docs/alert-rules.md every alert', () => {
  for (const [name, { type, labels, help }] of Object.entries(agentMetrics)) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` `));
    expect(row, name).toContain(`| ${type} `);
    expect(row, name).toContain(help);
    for (const label of Object.keys(labels)) expect(row, name).toContain(`\`${label}\``);
  }
  for (const name of Object.keys(exporterMetrics)) expect(page).toContain(`| \`${name}\` `);
  for (const { alert, expr } of rules) {
    expect(alertPage).toContain(`## ${alert}\n`);
    expect(alertPage).toContain(expr);
  }
});

test('the committed files are up to date with the catalogues', async () => {
  const { ruleGroups, prometheusRule } = await script('alerts.mjs');
  const { dashboard: make } = await script('dashboard.mjs');
  const { metricsPage, alertsPage } = await script('page.mjs');
  expect(rulesFile).toEqual(ruleGroups?.({ docs: 'docs/' }));
  expect(parse(read('observability', 'prometheus-rule.yaml'))).toEqual(prometheusRule?.({ docs: 'docs/' }));
  expect(dashboard).toEqual(JSON.parse(JSON.stringify(make?.(catalogue))));
  // Prettier has aligned the tables of the committed page.
  const words = (text: string) => text.replaceAll(/[\s|-]+/g, ' ');
  expect(words(page)).toBe(words(String(metricsPage?.(catalogue))));
  expect(words(alertPage)).toBe(words(String(alertsPage?.(null))));
});

test('the PromQL checker finds mistakes', () => {
  const mistakesOf = (expr: string) => checkPromql(expr, known).mistakes.join('; ');
  expect(mistakesOf('sum(rate(location_agent_results_total{kind="FINAL"}[5m]))')).toBe('');
  expect(mistakesOf('location_agent_nothing > 1')).toMatch(/no such metric/);
  expect(mistakesOf('location_agent_slots{line="x"}')).toMatch(/no label line/);
  expect(mistakesOf('location_agent_slots{lane=~"uptime|slow"}')).toMatch(/lane is never slow/);
  expect(mistakesOf('sum by (lane) (location_agent_jobs)')).toMatch(/by lane/);
  expect(mistakesOf('rate(location_agent_slots[5m])')).toMatch(/rate of a gauge/);
  expect(mistakesOf('delta(location_agent_claims_total[5m])')).toMatch(/delta of a counter/);
  expect(mistakesOf('rate(location_agent_claims_total)')).toMatch(/needs a range/);
  expect(mistakesOf('location_agent_start_delay_seconds')).toMatch(/is a histogram/);
  expect(
    mistakesOf('histogram_quantile(0.9, sum(rate(location_agent_start_delay_seconds_bucket[5m])))'),
  ).toMatch(/without le/);
  expect(mistakesOf('location_agent_slots / location_agent_connected')).toMatch(/one side alone has lane/);
  expect(() => checkPromql('sum(location_agent_slots', known)).toThrow(/expected/);
});

const promtool = spawnSync('promtool', ['--version']).error === undefined;
if (!promtool) process.stderr.write('skipped: tests with promtool, because it is not installed\n');

describe.skipIf(!promtool)('with promtool', () => {
  const run = (...args: string[]) => {
    const done = spawnSync('promtool', args, { encoding: 'utf8', timeout: 60_000 });
    return { status: done.status, output: `${done.stdout}${done.stderr}` };
  };

  test('the rules are valid', () => {
    const { status, output } = run(
      'check',
      'rules',
      join(root, 'observability', 'location-agent.rules.yaml'),
    );
    expect(status, output).toBe(0);
  });

  test('the rules fire only when they should', () => {
    const folder = mkdtempSync(join(tmpdir(), 'rules-'));
    try {
      const file = join(folder, 'rules.test.yaml');
      const rulesPath = join(root, 'observability', 'location-agent.rules.yaml');
      writeFileSync(file, read('test', 'observability', 'rules.test.yaml').replace('RULES', rulesPath));
      const { status, output } = run('test', 'rules', file);
      expect(status, output).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
