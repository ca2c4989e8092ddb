import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readServiceConfig } from '../../src/config/service.ts';
import { secretVariables, variables } from '../../src/config/variables.ts';
import { anyDatabase } from '../helpers/service/database.ts';
import { startTestService, type TestService } from '../helpers/service/service.ts';
import { hasHelm, renderedByHelm } from './helm.ts';
import { schemaFaults, unknownFields } from './kubernetes-schemas.ts';
import { containerOf, envOf, only, podOf, type Container, type Labels } from './pods.ts';
import {
  buildRenderer,
  canRender,
  renderAll,
  renderChart,
  serviceChartFolder,
  type Manifest,
  type Success,
} from './renderer.ts';
import { cases, least, refusals } from './service-cases.ts';

/** The chart of the service: its manifests, the environment and probes of its pods, and the program of its test pod. */

const secrets: { readonly [file: string]: string } = {
  'database-url': 'postgres://me:sesame@db.example/monitoring',
  'encryption-key': 'an encryption key of the test',
  'api-key': 'sk_0123456789',
  'location-key': 'pl_0123456789',
  'smtp-url': 'smtp://me:sesame@mail.example:587',
  'secret-access-key': 'sesame',
};
type TestPod = Manifest & { spec: { containers: [Container & { command: string[] }] } };
const testPodOf = ({ manifests }: Success) => manifests.find(({ kind }) => kind === 'Pod') as TestPod;

describe.skipIf(!canRender)('the chart of the service', () => {
  let all: { [Name in keyof typeof cases]: Success };
  const folder = mkdtempSync(join(tmpdir(), 'service-chart-'));
  beforeAll(async () => {
    await buildRenderer();
    all = renderAll(cases, serviceChartFolder);
    for (const [file, text] of Object.entries(secrets)) writeFileSync(join(folder, file), `${text}\n`);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true }));
  /** The environment of the replicas, with files of this machine in place of mounted ones. */
  const environment = (success: Success) =>
    Object.fromEntries(
      containerOf(only(success)).env.map(({ name, value }) => [
        name,
        name.endsWith('_FILE') ? join(folder, basename(value ?? '')) : (value ?? 'from a Secret'),
      ]),
    );

  test('renders manifests that Kubernetes accepts, without unknown fields', async () => {
    const manifests = Object.values(all).flatMap((success) => success.manifests);
    const kinds = [...new Set(manifests.map(({ kind }) => kind))];
    expect(kinds.toSorted().join(' ')).toBe(
      'ConfigMap Deployment Ingress NetworkPolicy Pod PodDisruptionBudget PrometheusRule Service ServiceAccount ServiceMonitor',
    );
    expect(await schemaFaults(manifests)).toEqual([]);
    expect(unknownFields(manifests)).toEqual([]);
  }, 120_000);

  test('names and labels are short enough, and each object has a name of its own', () => {
    for (const [name, { manifests }] of Object.entries(all)) {
      const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(new Set(names).size, name).toBe(names.length);
      for (const { metadata } of manifests) {
        expect(metadata.name, name).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
        for (const value of Object.values(metadata.labels ?? {}))
          expect(value, name).toMatch(/^[A-Za-z0-9]([-.\w]{0,61}[A-Za-z0-9])?$/);
      }
    }
    expect(only(all['a name with a leading digit']).metadata.name).toBe('service-1st-monitoring-service');
  });

  test('selects the replicas, and not the pod of the test', () => {
    for (const success of Object.values(all)) {
      const labels = only(success).spec.template.metadata.labels;
      const testLabels = testPodOf(success).metadata.labels ?? {};
      for (const { kind, spec } of success.manifests as (Manifest & {
        spec?: { selector?: Labels & { matchLabels?: Labels }; podSelector?: { matchLabels: Labels } };
      })[]) {
        const selector = spec?.podSelector?.matchLabels ?? spec?.selector?.matchLabels ?? spec?.selector;
        if (selector === undefined) continue;
        expect(labels, kind).toMatchObject(selector);
        expect(testLabels, kind).not.toMatchObject(selector);
      }
    }
  });

  test('hands each replica an environment that the service accepts', () => {
    for (const [name, success] of Object.entries(all)) {
      const mounts = containerOf(only(success)).volumeMounts.map(({ mountPath }) => mountPath);
      for (const [variable, value] of Object.entries(envOf(only(success))))
        if (/_FILE$|_CERTS$/.test(variable)) expect(mounts, name).toContain(dirname(value ?? ''));
      const config = readServiceConfig(environment(success));
      expect(config.databaseUrl?.reveal()).toBe(secrets['database-url']);
      expect(config.encryptionKey?.reveal()).toBe(secrets['encryption-key']);
      expect([config.host, config.port]).toEqual(['0.0.0.0', 4400]);
      expect(mounts).toContain(config.dataDir);
      expect(config.bucket === null).toBe(/volume|without storage/.test(name));
    }
    expect(readServiceConfig(environment(all['a database that has an account'])).apiKey).toBeNull();
    const config = readServiceConfig(environment(all.everything));
    expect(config).toMatchObject({
      publicUrl: 'https://monitoring.example',
      locationSlug: 'berlin',
      rateLimit: 1_000_000,
      retention: { resultDays: 90, artifactDays: 7, rollupDays: 1000 },
      resultFiles: { afterDays: 2 },
      bucket: {
        bucket: 'monitoring',
        prefix: 'production/',
        forcePathStyle: false,
        presignedDownloads: true,
      },
      notifications: { smtpFrom: 'Monitoring <alerts@example.com>' },
    });
    expect(config.apiKey?.reveal()).toBe(secrets['api-key']);
    expect(config.notifications.smtpUrl?.reveal()).toBe(secrets['smtp-url']);
    // Without a value of its own, the public address is the one of the Ingress.
    expect(readServiceConfig(environment(all['a long name'])).publicUrl).toBe('http://monitoring.example');
  });

  test('has a value for each variable of the service, except for those of channels and language models', () => {
    const template = readFileSync(join(serviceChartFolder, 'templates', '_pod.tpl'), 'utf8');
    const set = new Set([...template.matchAll(/name: ([A-Z][A-Z0-9_]+)/g)].map(([, name = '']) => name));
    const missing = Object.keys(variables).filter(
      (name) =>
        /^(SERVICE|S3|SMTP|DATABASE|NOTIFICATION|LOG)_/.test(name) &&
        !set.has(secretVariables.some((secret) => secret === name) ? `${name}_FILE` : name),
    );
    // The agent's, and the id of an account, which nobody needs to choose.
    expect(missing).toEqual(['SERVICE_URL', 'SERVICE_ACCOUNT_ID']);
    // What the template sets cannot be set twice.
    const reserved = readFileSync(join(serviceChartFolder, 'templates', '_validate.tpl'), 'utf8');
    expect([...set].filter((name) => !reserved.includes(`"${name.replace(/_FILE$/, '')}"`))).toEqual([]);
  });

  test('gives replicas and test pod no privilege, and the secrets only as files', () => {
    for (const success of Object.values(all)) {
      for (const pod of [
        podOf(only(success)),
        testPodOf(success).spec as unknown as ReturnType<typeof podOf>,
      ]) {
        expect(pod['automountServiceAccountToken']).toBe(false);
        expect(pod.securityContext).toMatchObject({
          runAsNonRoot: true,
          runAsUser: 10001,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        expect(pod.containers[0].securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
    const named = Object.keys(envOf(only(all.everything)));
    expect(secretVariables.filter((name) => named.includes(name))).toEqual(['SMS_TOKEN']);
    expect(podOf(only(all['the least'])).terminationGracePeriodSeconds).toBe(80);
  });

  test('opens the service to the named peers and its own test, and not the metadata address to the service', () => {
    const { manifests } = all.everything;
    const policy = manifests.find(({ kind }) => kind === 'NetworkPolicy');
    expect(policy?.['spec']).toMatchObject({
      ingress: [
        {
          ports: [{ port: 'http' }],
          from: [
            { namespaceSelector: {} },
            { podSelector: { matchLabels: { 'app.kubernetes.io/component': 'test' } } },
          ],
        },
      ],
      egress: [{}, {}, { to: [{ ipBlock: { except: ['169.254.169.254/32'] } }, {}] }],
    });
    const rule = manifests.find(({ kind }) => kind === 'PrometheusRule');
    expect(rule?.['spec']).toMatchObject({ groups: [{ name: 'monitoring-service' }] });
    expect(JSON.stringify(rule)).toContain('"runbook_url":"https://git.example/docs/alert-rules.md#');
  });

  test('prints notes with commands, and warnings where something is missing', () => {
    const { notes } = all['the least'];
    expect(notes).toContain('rollout status deployment/berlin-monitoring-service\n');
    expect(notes).toContain(`-o go-template='{{ index .data "api-key" | base64decode }}'`);
    expect(notes.match(/NOTE: .*/g)).toEqual([expect.stringContaining('publicUrl is empty')]);
    expect(all.everything.notes).not.toContain('NOTE');
    const single = all['one replica without storage'].notes;
    expect(single).toContain('fewer than 2 replicas');
    expect(single).toContain('files of runs and code bundles are lost with the pod');
  });

  test.each(refusals)('refuses %s', (_what, values, message) => {
    const [answer] = renderChart([{ values: { ...least, ...values } }], serviceChartFolder);
    expect(answer).toEqual({ error: expect.stringContaining(message) });
  });

  test.skipIf(!hasHelm)('is the same to Helm itself', () => {
    const sorted = (manifests: Manifest[]) =>
      manifests.toSorted((a, b) =>
        `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`),
      );
    for (const [name, release] of Object.entries(cases))
      expect(sorted(renderedByHelm(release, serviceChartFolder)), name).toEqual(
        sorted(all[name as keyof typeof cases].manifests),
      );
  });

  describe('with a running service', () => {
    let api: TestService;
    beforeAll(async () => {
      api = await startTestService(await anyDatabase.open());
    }, 120_000);
    afterAll(async () => {
      await api.close();
      await anyDatabase.close();
    });

    test('the probes request pages that answer', async () => {
      const container = containerOf(only(all['the least']));
      const paths = ['startupProbe', 'readinessProbe', 'livenessProbe'].map(
        (probe) => (container[probe] as { httpGet: { path: string; port: string } }).httpGet,
      );
      expect(paths).toEqual([
        { path: '/', port: 'http' },
        { path: '/health', port: 'http' },
        { path: '/', port: 'http' },
      ]);
      for (const { path } of paths) expect((await fetch(new URL(path, api.url))).status, path).toBe(200);
    });

    /** Runs the program of the pod of `helm test`. */
    const runTest = async (env: Labels) => {
      const [node = '', ...args] = testPodOf(all['the least']).spec.containers[0].command;
      expect(node).toBe('node');
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      const code = await new Promise((resolve) => child.once('close', resolve));
      return { code, output };
    };
    const key = (text: string): string => {
      mkdirSync(join(folder, 'test'), { recursive: true });
      const file = join(folder, 'test', 'api-key');
      writeFileSync(file, `${text}\n`);
      return file;
    };

    test('the pod of helm test passes, and fails with a wrong key or without a service', async () => {
      expect(await runTest({ SERVICE: api.url, KEY_FILE: key(api.account.key) })).toEqual({
        code: 0,
        output: '/health: 200\n/v1/private-locations: 200\n',
      });
      expect(await runTest({ SERVICE: api.url, KEY_FILE: key('sk_wrong') })).toEqual({
        code: 1,
        output: '/health: 200\n/v1/private-locations: 401\n',
      });
      const away = await runTest({ SERVICE: 'http://127.0.0.1:1/' });
      expect(away.code).toBe(1);
      expect(away.output).toMatch(/^http:\/\/127\.0\.0\.1:1\/: .+\n$/);
    });
  });
});
