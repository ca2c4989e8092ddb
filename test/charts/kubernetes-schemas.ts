import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Manifest } from './renderer.ts';

/** Manifests against the schemas of Kubernetes, KEDA and the Prometheus operator, from their packages. */

const root = resolve(import.meta.dirname, '..', '..');

/** Where a kind's model is: its class validates, its interface is known to the compiler. */
const models: { readonly [kind: string]: string } = {
  'apps/v1 Deployment': 'kubernetes-models/apps/v1/Deployment',
  'v1 ConfigMap': 'kubernetes-models/v1/ConfigMap',
  'v1 Namespace': 'kubernetes-models/v1/Namespace',
  'v1 Pod': 'kubernetes-models/v1/Pod',
  'v1 Secret': 'kubernetes-models/v1/Secret',
  'v1 Service': 'kubernetes-models/v1/Service',
  'v1 ServiceAccount': 'kubernetes-models/v1/ServiceAccount',
  'policy/v1 PodDisruptionBudget': 'kubernetes-models/policy/v1/PodDisruptionBudget',
  'networking.k8s.io/v1 NetworkPolicy': 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy',
  'networking.k8s.io/v1 Ingress': 'kubernetes-models/networking.k8s.io/v1/Ingress',
  'keda.sh/v1alpha1 ScaledObject': '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject',
  'keda.sh/v1alpha1 TriggerAuthentication': '@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication',
  'monitoring.coreos.com/v1 PrometheusRule':
    '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule',
  'monitoring.coreos.com/v1 ServiceMonitor':
    '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor',
};

function modelOf({ apiVersion, kind }: Manifest): { path: string; kind: string } {
  const path = models[`${apiVersion} ${kind}`];
  if (path === undefined) throw new Error(`no schema is known of ${apiVersion} ${kind}`);
  return { path, kind };
}

/** What is wrong by the JSON schemas: types, what is required, bounds, forms; one line each, with the manifest's name. */
export async function schemaFaults(manifests: readonly Manifest[]): Promise<string[]> {
  const faults: string[] = [];
  for (const manifest of manifests) {
    const { path, kind } = modelOf(manifest);
    const module = (await import(path)) as {
      [kind: string]: new (data: object) => { validate: () => void };
    }; // as in models
    const Model = module[kind];
    if (Model === undefined) throw new Error(`${path} has no ${kind}`);
    try {
      new Model(manifest).validate();
    } catch (error) {
      faults.push(`${kind} ${manifest.metadata.name}: ${String(error)}`);
    }
  }
  return faults;
}

/**
 * What is wrong by the packages' types, above all fields that a kind does not have, which the schemas let pass and a
 * cluster drops: each manifest is compiled as a literal of its kind. Lines of the compiler, the kind in front.
 */
export function unknownFields(manifests: readonly Manifest[]): string[] {
  const parent = join(root, 'build', 'charts');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'manifests-'));
  try {
    const lines = manifests.map((manifest, index) => {
      const { path, kind } = modelOf(manifest);
      return `export const m${index}: import(${JSON.stringify(path)}).I${kind} = ${JSON.stringify(manifest)};`;
    });
    writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      module: 'esnext',
      moduleResolution: 'bundler',
      types: [],
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['manifests.ts'] }),
    );
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
      encoding: 'utf8',
    });
    const found = stdout.split('\n').flatMap((line) => {
      const [, number = '', what = ''] = /manifests\.ts\((\d+),\d+\): (.*)$/.exec(line) ?? [];
      const manifest = manifests[Number(number) - 1];
      return manifest === undefined ? [] : [`${manifest.kind} ${manifest.metadata.name}: ${what}`];
    });
    if (status !== 0 && found.length === 0) throw new Error(`the compiler did not run: ${stdout}`);
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
