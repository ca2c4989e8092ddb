import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cases, least } from './cases.ts';
import { schemaFaults, unknownFields } from './kubernetes-schemas.ts';
import { containerOf, only, podOf, type Deployment, type PodSpec } from './pods.ts';
import { refusals } from './refusals.ts';
import {
  buildRenderer,
  canRender,
  chartFolder,
  parseManifests,
  renderAll,
  renderChart,
  serviceChartFolder,
  type Values,
} from './renderer.ts';

/** User input: refused values with their messages, and the manifests of the docs. */

beforeAll(async () => {
  if (canRender) await buildRenderer();
}, 300_000);

describe.skipIf(!canRender)('the chart', () => {
  const refused = new Map<string, ReturnType<typeof renderChart>[number]>();
  beforeAll(() => {
    const answers = renderChart(refusals.map(([, values]) => ({ values: { ...least, ...values } })));
    for (const [index, [what]] of refusals.entries()) refused.set(what, answers[index] ?? { error: '' });
  });
  test.each(refusals)('refuses %s', (what, _values, told) => {
    expect(refused.get(what)).toEqual({ error: expect.stringContaining(told) });
  });
});

describe('manifests of the docs', () => {
  const docs = [
    'docs/kubernetes.md',
    'docs/kubernetes/manifest.md',
    'docs/kubernetes/scaling.md',
    'docs/kubernetes/service.md',
    'charts/agent/README.md',
    'charts/service/README.md',
  ].map((path) => readFileSync(join(chartFolder, '..', '..', path), 'utf8'));
  const blocks = docs.flatMap((text) =>
    [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = '']) => block),
  );
  const isManifest = (block: string) => block.startsWith('apiVersion:');
  const plain = blocks.filter(isManifest).flatMap(parseManifests);
  const ofService = (block: string) => block.startsWith('database:');
  const examples = blocks.filter((block) => !isManifest(block) && !ofService(block));

  test('is accepted by Kubernetes, and has an environment that the agent accepts', async () => {
    expect(plain.map(({ kind }) => kind)).toEqual(['Deployment', 'PodDisruptionBudget']);
    expect(await schemaFaults(plain)).toEqual([]);
    expect(unknownFields(plain)).toEqual([]);
  }, 120_000);

  test.skipIf(!canRender)('is the same pod that the chart renders, without its values', () => {
    const [deployment] = plain;
    const byHand = podOf(deployment as Deployment); // the first, as above
    const byChart = podOf(only(renderAll({ least: cases['the least'] ?? { values: least } }).least));
    const { env, image: _image, ...container } = containerOf(deployment as Deployment);
    const { env: chartEnv, image: _chartImage, ...chartContainer } = byChart.containers[0];
    expect({ ...container, imagePullPolicy: 'IfNotPresent' }).toEqual(chartContainer);
    expect(chartEnv).toEqual(expect.arrayContaining(env));
    const withoutOwn = ({
      containers: _containers,
      topologySpreadConstraints: _spread,
      volumes,
      ...pod
    }: PodSpec) => ({
      pod,
      volumes: volumes.filter(({ name }) => name !== 'api-key'),
    });
    expect(withoutOwn({ serviceAccountName: 'berlin-location-agent', ...byHand } as PodSpec)).toEqual(
      withoutOwn(byChart),
    );
  });

  test.skipIf(!canRender)('are values that the chart takes', async () => {
    expect(examples.length).toBeGreaterThan(6);
    const answers = [
      ...renderChart(examples.map((block) => ({ values: { ...least, ...(parse(block) as Values) } }))),
      // Those of the service are complete.
      ...renderChart(
        blocks.filter(ofService).map((block) => ({ values: parse(block) as Values })),
        serviceChartFolder,
      ),
    ];
    expect(answers.length).toBe(blocks.length - blocks.filter(isManifest).length);
    expect(answers.flatMap((answer) => ('error' in answer ? [answer.error] : []))).toEqual([]);
    const manifests = answers.flatMap((answer) => ('error' in answer ? [] : answer.manifests));
    expect(await schemaFaults(manifests)).toEqual([]);
  });
});
