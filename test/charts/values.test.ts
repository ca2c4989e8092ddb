import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

/** What each chart says of its values in three places (values.yaml, schema, README) is the same. */

const root = resolve(import.meta.dirname, '..', '..');
const chartFolder = join(root, 'charts', 'agent');
const charts = ['agent', 'service'] as const;
const read = (...parts: string[]) => readFileSync(join(...parts), 'utf8');

type Schema = {
  $ref?: string;
  type?: string;
  additionalProperties?: unknown;
  properties?: { [name: string]: Schema };
  items?: Schema;
};
type ChartSchema = Schema & { definitions: { [name: string]: Schema } };

/** Values that have no default, because a deployment or a probe may add them. */
const added = {
  agent:
    /^(global|enabled)$|^deployments\.\w+\.(image\.\w+|resources\.\w+|data\.ephemeral\.\w+|topologySpreadConstraints|nodeSelector|tolerations|affinity|priorityClassName|pod(Annotations|Labels)|extra(Env|EnvFrom|Volumes|VolumeMounts)|seccompLocalhostProfile)$|^\w+Probe\./,
  service: /^(global|enabled)$|^resources\.claims$|^\w+Probe\./,
};

describe.each(charts)('charts/%s', (chart) => {
  const folder = join(root, 'charts', chart);
  const schema = JSON.parse(read(folder, 'values.schema.json')) as ChartSchema; // the chart's own
  const values: unknown = parse(read(folder, 'values.yaml'));

  const resolved = (given: Schema): Schema =>
    given.$ref === undefined ? given : (schema.definitions[given.$ref.replace('#/definitions/', '')] ?? {});

  /** Paths of all values that the schema names. */
  function pathsOfSchema(given: Schema, path: string[] = []): string[] {
    const { properties } = resolved(given);
    if (properties === undefined) return [path.join('.')];
    return Object.entries(properties).flatMap(([name, each]) => pathsOfSchema(each, [...path, name]));
  }

  function at(path: string): unknown {
    return path
      .split('.')
      .reduce<unknown>((value, name) => (value as { [name: string]: unknown } | undefined)?.[name], values);
  }

  test('every value of the schema is in values.yaml, except those that a deployment or a probe may add', () => {
    const missing = pathsOfSchema(schema).filter(
      (path) => at(path) === undefined && !added[chart].test(path),
    );
    expect(missing).toEqual([]);
  });

  test('every value of values.yaml is in the schema, which is closed: no name is let pass that it does not know', () => {
    const unknown: string[] = [];
    const open: string[] = [];
    const follow = (value: unknown, given: Schema, path: string) => {
      const { properties, additionalProperties } = resolved(given);
      if (properties === undefined) return;
      if (additionalProperties !== false) open.push(path);
      for (const [name, each] of Object.entries(value as object)) {
        const known = properties[name];
        if (known === undefined) unknown.push(`${path}.${name}`);
        else if (typeof each === 'object') follow(each, known, `${path}.${name}`);
      }
    };
    follow(values, schema, '');
    expect({ unknown, open }).toEqual({ unknown: [], open: [] });
  });

  test('the table of the README names every value', () => {
    const readme = read(folder, 'README.md').split('<!-- values: begin -->')[1] ?? '';
    const told = [...readme.matchAll(/^\| `([\w.]+)`/gm)].map(([, path = '']) => path);
    expect(told.filter((path) => at(path) === undefined)).toEqual([]);
    // Fields that all deployments share are listed once.
    const others = /^deployments\.(uptime|browser|suite)\./;
    const untold = pathsOfSchema(schema).filter(
      (path) =>
        at(path) !== undefined &&
        !others.test(path) &&
        !told.some((known) => path === known || path.startsWith(`${known}.`)),
    );
    expect(untold).toEqual([]);
  });

  test('chart and package have one version', () => {
    const { version } = JSON.parse(read(root, 'package.json')) as { version: string }; // npm's
    const { version: own, appVersion } = parse(read(folder, 'Chart.yaml')) as {
      version: string;
      appVersion: string;
    }; // the chart's own
    expect([own, appVersion]).toEqual([version, version]);
  });
});

test('the tables of the READMEs match the values', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts', 'chart.mjs'), '--check'], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
}, 60_000);

test('the rules and the dashboard of the charts are those of observability/', () => {
  type Rules = { groups: { name: string }[] };
  const rules = (...path: string[]) => (parse(read(root, ...path)) as Rules).groups; // our own generated files
  const all = rules('observability', 'location-agent.rules.yaml');
  expect(charts.flatMap((chart) => rules('charts', chart, 'files', 'rules.yaml'))).toEqual(all);
  expect(read(chartFolder, 'files', 'dashboard.json')).toBe(read(root, 'observability', 'dashboard.json'));
});

test('every variable of the agent is set by the chart, or left to extraEnv on purpose', () => {
  const elsewhere = [
    'API_KEY',
    'PLAYWRIGHT_BROWSERS_PATH',
    'NPM_CONFIG_REGISTRY',
    'PLAYWRIGHT_DOWNLOAD_HOST',
    'REFERENCE_TARGETS',
    // A file, for which extraVolumes are needed, too.
    'AS_DATABASE',
    // Has no effect on a log that is not a terminal.
    'NO_COLOR',
    // Probes of the kubelet come from outside the pod, so the chart refuses it.
    'AGENT_HEALTH_HOST',
  ];
  const names = new Set(
    read(root, 'src', 'config.ts')
      .match(/'[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+'/g)
      ?.map((name) => name.slice(1, -1)),
  );
  const pod = read(chartFolder, 'templates', '_pod.tpl');
  const set = (name: string) =>
    pod.includes(`name: ${name},`) || (pod.includes('_PROXY') && name.endsWith('_PROXY'));
  const others = ['CONFIGURATION', 'SERVICE_API_KEY'];
  expect(
    [...names].filter((name) => !set(name) && !elsewhere.includes(name) && !others.includes(name)),
  ).toEqual([]);
});
