import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { cases } from './cases.ts';
import { containerOf, deploymentsOf, type Container, type Labels } from './pods.ts';
import { buildRenderer, canRender, chartFolder, renderAll, type Manifest, type Success } from './renderer.ts';

/** What the agents' chart adds to the agents: alert rules, dashboard, and the pods of `helm test`. */

type Selecting = Manifest & {
  spec: {
    selector?: Labels & { matchLabels?: Labels };
    podSelector?: {
      matchLabels: Labels;
      matchExpressions: { key: string; operator: string; values: string[] }[];
    };
  };
};
type TestPod = Manifest & { spec: { restartPolicy: string; containers: [Container & { args: string[] }] } };

describe.skipIf(!canRender)('the chart of the agents', () => {
  let all: { [name: string]: Success };
  beforeAll(async () => {
    await buildRenderer();
    all = renderAll(cases);
  }, 300_000);
  const of = (name: string, kind: string) =>
    (all[name]?.manifests ?? []).filter((manifest) => manifest.kind === kind);
  const labelsIn = (labels: Labels | undefined, wanted: Labels) =>
    Object.entries(wanted).every(([name, value]) => labels?.[name] === value);

  test('has the alert rules and the dashboard on request, with links to the documents', () => {
    expect(of('the least', 'PrometheusRule')).toEqual([]);
    expect(of('the least', 'ConfigMap')).toEqual([]);
    const [rule] = of('everything', 'PrometheusRule');
    expect(rule?.metadata.labels).toMatchObject({ release: 'prometheus' });
    expect(rule?.['spec']).toMatchObject({
      groups: [{ name: 'location-agent', rules: expect.arrayContaining([expect.anything()]) }],
    });
    const text = JSON.stringify(rule);
    expect(text).toContain('"runbook_url":"https://git.example/docs/alert-rules.md#locationagentdown"');
    expect(text).toContain('{{ $labels.instance }}');
    const dashboard = of('everything', 'ConfigMap').find(({ metadata }) =>
      metadata.name.endsWith('-dashboard'),
    );
    expect(dashboard?.metadata).toMatchObject({
      labels: { grafana_dashboard: '1' },
      annotations: { grafana_folder: 'Monitoring' },
    });
    const data = dashboard?.['data'] as { 'location-agent.json': string };
    const file = readFileSync(join(chartFolder, 'files', 'dashboard.json'), 'utf8');
    expect(JSON.parse(data['location-agent.json'])).toEqual(JSON.parse(file));
  });

  test('tests each deployment with doctor, in a pod with the environment and rights of its agents', () => {
    for (const [name, success] of Object.entries(all)) {
      const pods = of(name, 'Pod') as TestPod[];
      const deployments = deploymentsOf(success);
      expect(pods.map(({ metadata }) => metadata.name)).toEqual(
        deployments.map(({ metadata }) => `${metadata.name}-test`),
      );
      for (const [index, { metadata, spec }] of pods.entries()) {
        expect(metadata).toMatchObject({ annotations: { 'helm.sh/hook': 'test' } });
        const [container] = spec.containers;
        const deployment = deployments[index];
        if (deployment === undefined) throw new Error('no deployment');
        const { env, securityContext, image, volumeMounts } = containerOf(deployment);
        expect(container).toMatchObject({ args: ['doctor'], env, securityContext, image, volumeMounts });
        expect(container).not.toHaveProperty('livenessProbe');
        expect(spec.restartPolicy).toBe('Never');
        expect(JSON.stringify(spec)).not.toContain('persistentVolumeClaim');
        expect(metadata.name.length).toBeLessThanOrEqual(63);
      }
    }
  });

  test('counts no test pod among the agents, and confines it to the network of the agents', () => {
    for (const name of Object.keys(all)) {
      for (const { metadata } of of(name, 'Pod')) {
        for (const kind of ['Deployment', 'Service', 'PodDisruptionBudget'])
          for (const { spec } of of(name, kind) as Selecting[])
            expect(
              labelsIn(metadata.labels, spec.selector?.matchLabels ?? spec.selector ?? {}),
              `${name}: ${kind}`,
            ).toBe(false);
        for (const { spec } of of(name, 'NetworkPolicy') as Selecting[]) {
          expect(labelsIn(metadata.labels, spec.podSelector?.matchLabels ?? {})).toBe(true);
          for (const { key, values } of spec.podSelector?.matchExpressions ?? [])
            expect(values).toContain(metadata.labels?.[key]);
        }
      }
    }
    expect(of('everything', 'NetworkPolicy')).toHaveLength(1);
  });
});
