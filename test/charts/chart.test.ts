import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startHealthServer, type AgentState } from '../../src/agent/metrics/health.ts';
import { readAgentConfig, type AgentConfig } from '../../src/config.ts';
import { cases, key, least, longName, oddNames } from './cases.ts';
import { hasHelm, renderedByHelm } from './helm.ts';
import { schemaFaults, unknownFields } from './kubernetes-schemas.ts';
import { containerOf, deploymentsOf, envOf, only, podOf, type Deployment, type Labels } from './pods.ts';
import { buildRenderer, canRender, renderAll, type Manifest, type Success } from './renderer.ts';

/**
 * The chart, rendered by what Helm is made of (renderer.ts; Helm itself only where it is on the PATH): what it makes of all
 * kinds of values is what a cluster takes, and means what it should.
 */

describe.skipIf(!canRender)('the chart', () => {
  let all: { [Name in keyof typeof cases]: Success };
  const of = (name: string): Success => {
    const success = all[name];
    if (success === undefined) throw new Error(`there is no case ${name}`);
    return success;
  };
  const everyDeployment = () => Object.values(all).flatMap(deploymentsOf);

  beforeAll(async () => {
    await buildRenderer();
    all = renderAll(cases);
  }, 300_000);

  test('renders manifests that Kubernetes accepts, without unknown fields', async () => {
    const manifests = Object.values(all).flatMap((success) => success.manifests);
    expect(manifests.length).toBeGreaterThan(50);
    expect(await schemaFaults(manifests)).toEqual([]);
    expect(unknownFields(manifests)).toEqual([]);
  }, 120_000);

  test('each with a name and a namespace of its own, in which at most 63 characters are', () => {
    for (const [name, { manifests }] of Object.entries(all)) {
      const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(new Set(names).size, name).toBe(names.length);
      for (const { kind, metadata } of manifests) {
        expect(metadata.name, name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
        expect(metadata.name.length, name).toBeLessThanOrEqual(kind === 'ScaledObject' ? 54 : 63);
        for (const value of Object.values(metadata.labels ?? {}))
          expect(value.length).toBeLessThanOrEqual(63);
        if (!metadata.name.endsWith('-more'))
          expect(metadata.namespace).toBe(cases[name]?.namespace ?? 'monitoring');
      }
    }
    // Two long names with the same prefix stay distinct.
    const other = renderAll({
      other: {
        ...cases['a long name, with everything that is named after it'],
        name: `${longName.slice(0, 52)}x`,
        values: least,
      },
    });
    const names = of('a long name, with everything that is named after it').manifests.map(
      ({ metadata }) => metadata.name,
    );
    expect(names).not.toContain(only(other.other).metadata.name);
  });

  test('accepts each name that Helm accepts: with a leading digit, dots, or a dash at the cut', async () => {
    const more = {
      ...least,
      caBundle: { pem: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n' },
      metrics: { serviceMonitor: { enabled: true } },
      nameOverride: 'n'.repeat(61) + '-n-n',
    };
    const releases = Object.fromEntries(oddNames.map((name) => [name, { name, values: more }]));
    for (const [name, { manifests }] of Object.entries(renderAll(releases))) {
      expect(await schemaFaults(manifests), name).toEqual([]);
      for (const { kind, metadata } of manifests) {
        expect(metadata.name, `${kind} of ${name}`).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
        for (const value of Object.values(metadata.labels ?? {}))
          expect(value, name).toMatch(/^[A-Za-z0-9]([-.\w]{0,61}[A-Za-z0-9])?$/);
      }
    }
    const short = renderAll({ digit: { name: '1st', values: least } }).digit;
    expect(only(short).metadata.name).toBe('agent-1st-location-agent');
  });

  test.skipIf(!hasHelm)(
    'is the same to Helm itself',
    () => {
      const sorted = (manifests: Manifest[]) =>
        manifests.toSorted((a, b) =>
          `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`),
        );
      for (const [name, release] of Object.entries(cases)) {
        expect(sorted(renderedByHelm(release)), name).toEqual(sorted(of(name).manifests));
      }
    },
    120_000,
  );

  test('selects by labels that its pods have, and that never change', () => {
    for (const deployment of everyDeployment()) {
      const { selector, template } = deployment.spec;
      expect(template.metadata.labels).toMatchObject(selector.matchLabels);
      expect(Object.keys(selector.matchLabels).toSorted()).toEqual([
        'app.kubernetes.io/component',
        'app.kubernetes.io/instance',
        'app.kubernetes.io/name',
      ]);
    }
    for (const { manifests } of Object.values(all)) {
      const pods = manifests
        .filter(({ kind }) => kind === 'Deployment')
        .map((each) => (each as Deployment).spec.template.metadata.labels);
      for (const manifest of manifests) {
        const spec = manifest['spec'] as
          { selector?: Labels & { matchLabels?: Labels }; podSelector?: { matchLabels: Labels } } | undefined;
        const labels = {
          Service: spec?.selector,
          PodDisruptionBudget: spec?.selector?.matchLabels,
          NetworkPolicy: spec?.podSelector?.matchLabels,
        }[manifest.kind];
        if (labels === undefined) continue;
        const selected = pods.filter((pod) =>
          Object.entries(labels).every(([name, value]) => pod[name] === value),
        );
        expect(selected.length, `${manifest.kind} ${manifest.metadata.name}`).toBe(
          manifest.kind === 'PodDisruptionBudget' ? 1 : pods.length,
        );
      }
    }
  });

  test('hands each agent an environment that it takes, and that fits its pod', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chart-key-'));
    writeFileSync(join(folder, 'api-key'), `${key}\n`);
    try {
      for (const deployment of everyDeployment()) {
        const container = containerOf(deployment);
        const env = envOf(deployment);
        const mounts = container.volumeMounts.map(({ mountPath }) => mountPath);
        expect(mounts).toContain(env['API_KEY_FILE']?.replace(/\/api-key$/, ''));
        const config: AgentConfig = readAgentConfig({ ...env, API_KEY_FILE: join(folder, 'api-key') });
        expect(config.serviceUrl.href).toBe('https://monitoring.example/');
        expect(mounts).toContain(config.dataDir);
        if (config.extraCaFile !== null)
          expect(mounts).toContain(config.extraCaFile.replace(/\/ca\.crt$/, ''));
        expect(podOf(deployment).terminationGracePeriodSeconds).toBe(config.shutdownGraceSeconds + 30);
        expect(container.ports).toEqual([
          { name: 'health', containerPort: config.healthPort, protocol: 'TCP' },
        ]);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    expect(podOf(only(of('the least'))).terminationGracePeriodSeconds).toBe(1830);
    const graces = deploymentsOf(of('a deployment for each lane')).map((each) => [
      each.metadata.name,
      podOf(each).terminationGracePeriodSeconds,
      envOf(each)['UPTIME_CONCURRENCY'],
      envOf(each)['JOB_CONCURRENCY'],
      envOf(each)['SUITE_CONCURRENCY'],
      containerOf(each).image,
    ]);
    expect(graces).toEqual([
      ['berlin-location-agent-browser', 330, '0', '2', '0', 'location-agent:0.1.0'],
      ['berlin-location-agent-suite', 1830, '0', '0', '1', 'location-agent:0.1.0'],
      ['berlin-location-agent-uptime', 330, '200', '0', '0', 'location-agent-uptime:0.1.0'],
    ]);
  });

  test('asks the pages that the agent has: alive while it drains, but not ready', async () => {
    const answers = async (state: AgentState, alive: boolean) => {
      const health = await startHealthServer({
        port: 0,
        view: () => ({
          state,
          alive,
          takesNoJobs: false,
          version: '1',
          guards: [],
          clockSkewMs: null,
          lostResults: { dropped: 0, damaged: 0 },
        }),
        metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: '' }),
      });
      try {
        const container = containerOf(only(of('the least')));
        const found: { [probe: string]: number } = {};
        for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
          const { httpGet } = container[probe] as { httpGet: { path: string; port: string } };
          expect(httpGet.port).toBe('health');
          found[probe] = (await fetch(new URL(httpGet.path, health.url))).status;
        }
        return found;
      } finally {
        await health.close();
      }
    };
    expect(await answers('running', true)).toEqual({
      startupProbe: 200,
      readinessProbe: 200,
      livenessProbe: 200,
    });
    expect(await answers('starting', true)).toEqual({
      startupProbe: 200,
      readinessProbe: 503,
      livenessProbe: 200,
    });
    expect(await answers('draining', true)).toEqual({
      startupProbe: 200,
      readinessProbe: 503,
      livenessProbe: 200,
    });
    expect(await answers('running', false)).toEqual({
      startupProbe: 503,
      readinessProbe: 200,
      livenessProbe: 503,
    });
  });

  test('keeps secrets in its Secret, as a file for the agent, and rolls the pods when they change', () => {
    const secret = {
      serviceUrl: 'https://monitoring.example',
      apiKey: { value: key },
      proxy: { https: 'http://me:sesame@proxy:1' },
    };
    const { first, second } = renderAll({
      first: { values: secret },
      second: { values: { ...secret, apiKey: { value: `${key}0` } } },
    });
    const others = first.manifests.filter(({ kind }) => kind !== 'Secret');
    for (const hidden of [key, 'sesame', btoa(key)]) {
      expect(JSON.stringify(others)).not.toContain(hidden);
      expect(first.notes).not.toContain(hidden);
    }
    expect(first.manifests.find(({ kind }) => kind === 'Secret')).toMatchObject({
      data: { 'api-key': btoa(key), 'https-proxy': btoa('http://me:sesame@proxy:1') },
    });
    const names = containerOf(only(first)).env.map(({ name }) => name);
    expect(names).not.toContain('API_KEY');
    expect(names.filter((name) => name.endsWith('_PROXY'))).toEqual(['HTTPS_PROXY']);
    const volume = podOf(only(first)).volumes.find(({ name }) => name === 'api-key');
    expect(volume).toMatchObject({
      secret: {
        secretName: 'berlin-location-agent',
        defaultMode: 0o440,
        items: [{ key: 'api-key', path: 'api-key' }],
      },
    });
    const sums = [first, second].map(
      (each) => only(each).spec.template.metadata.annotations?.['checksum/secret'],
    );
    expect(new Set(sums).size).toBe(2);
    // Of one that is there already, nothing is known but its name.
    expect(of('the least').manifests.some(({ kind }) => kind === 'Secret')).toBe(false);
    expect(JSON.stringify(podOf(only(of('the least'))).volumes)).toContain('"secretName":"berlin-key"');
  });

  test('gives agents the least privilege, and more for pings and the browser only on request', () => {
    for (const deployment of everyDeployment()) {
      expect(podOf(deployment)['automountServiceAccountToken']).toBe(false);
      expect(podOf(deployment).securityContext['runAsNonRoot']).toBe(true);
      expect(containerOf(deployment).securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
    const plain = only(of('the least'));
    expect(podOf(plain).securityContext).toMatchObject({
      runAsUser: 10001,
      runAsGroup: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
      sysctls: [{ name: 'net.ipv4.ping_group_range', value: '10001 10001' }],
    });
    expect(containerOf(plain).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const more = only(of('a profile for the browser, NET_RAW for pings'));
    expect(podOf(more).securityContext).toMatchObject({
      seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/agent.json' },
    });
    expect(podOf(more).securityContext).not.toHaveProperty('sysctls');
    expect(containerOf(more).securityContext).toMatchObject({
      allowPrivilegeEscalation: true,
      capabilities: { drop: ['ALL'], add: ['NET_RAW'] },
    });
    const anyone = podOf(only(of('a cluster that chooses users itself'))).securityContext;
    expect(anyone).not.toHaveProperty('runAsUser');
    expect(anyone['sysctls']).toEqual([{ name: 'net.ipv4.ping_group_range', value: '0 2147483647' }]);
    const large = renderAll({
      large: { values: { ...least, podSecurityContext: { runAsGroup: 1_000_660_000 } } },
    });
    expect(podOf(only(large.large)).securityContext['sysctls']).toEqual([
      { name: 'net.ipv4.ping_group_range', value: '1000660000 1000660000' },
    ]);
  });

  test('scales each lane by its own runs against the slots of an agent, and leaves the number of agents to the scaler', () => {
    const { manifests } = of('everything');
    const scaled = manifests.filter(({ kind }) => kind === 'ScaledObject');
    expect(scaled).toHaveLength(1);
    expect(scaled[0]?.['spec']).toMatchObject({
      scaleTargetRef: { name: 'berlin-agents' },
      minReplicaCount: 2,
      maxReplicaCount: 20,
      triggers: ['browser', 'suite', 'uptime'].map((lane) => ({
        type: 'prometheus',
        metricType: 'AverageValue',
        authenticationRef: { name: 'prometheus' },
        metadata: {
          serverAddress: 'http://prometheus.monitoring:9090',
          query: `sum(private_location_lane_check_runs{private_location_slug_name="berlin",lane="${lane}",state=~"queued|inflight",account="a"})`,
          threshold: { browser: '4', suite: '1', uptime: '200' }[lane],
          ignoreNullValues: 'false',
        },
      })),
    });
    const replicas = deploymentsOf(of('everything')).map(({ metadata, spec }) => [
      metadata.name,
      spec.replicas,
    ]);
    expect(replicas).toEqual([
      ['berlin-agents', undefined],
      ['berlin-agents-browser', 2],
      ['berlin-agents-suite', 2],
      ['berlin-agents-uptime', 2],
    ]);
  });

  test('lets a deployment differ from the others, and renders its additions', () => {
    const [, , suite, uptime] = deploymentsOf(of('everything'));
    if (suite === undefined || uptime === undefined) throw new Error('deployments are missing');
    expect(podOf(uptime)).toMatchObject({ nodeSelector: { pool: 'small' } });
    expect(podOf(uptime)).not.toHaveProperty('tolerations');
    expect(podOf(suite)).toMatchObject({
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'monitoring' }],
    });
    expect(envOf(suite)).toMatchObject({ A: 'b' });
    expect(envOf(suite)).not.toHaveProperty('npm_config_registry');
    expect(of('everything').manifests).toContainEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'berlin-more' },
      data: { url: 'https://monitoring.example' },
    });
  });

  test('allows inbound traffic only for metrics, and blocks the cloud metadata service', () => {
    const policy = (name: string) =>
      of(name).manifests.find(({ kind }) => kind === 'NetworkPolicy')?.['spec'];
    expect(policy('a long name, with everything that is named after it')).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
    });
    expect(policy('everything')).toMatchObject({
      ingress: [{ from: [{ namespaceSelector: {} }], ports: [{ port: 'health' }] }],
      egress: [
        {
          ports: [
            { port: 53, protocol: 'UDP' },
            { port: 53, protocol: 'TCP' },
          ],
        },
        { to: [{ namespaceSelector: {} }] },
        {
          to: [
            { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.169.254/32'] } },
            { ipBlock: { cidr: '::/0', except: ['fd00:ec2::254/128'] } },
          ],
        },
      ],
    });
    expect(policy("rules of one's own for the network")).toMatchObject({
      egress: [{ ports: [{ port: 53 }, { port: 53 }] }, { to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
    });
  });

  test('prints notes with commands to inspect the release, and with warnings', () => {
    expect(of('the least').notes).toContain(
      'kubectl -n monitoring rollout status deployment/berlin-location-agent\n',
    );
    expect(of('the least').notes).not.toContain('NOTE');
    expect(of('a deployment for each lane').notes).toContain('no agent of this release runs API checks');
    expect(of('nothing beyond what must be').notes).toContain('deployments.all has fewer than 2 agents');
    expect(of('volumes of all kinds').notes).toContain('share the claim agents, which must be ReadWriteMany');
    const never = 'agents that are never two, with limits as large as requests';
    expect(of(never).notes).toContain('maxUnavailable is 0: a node with one of its agents cannot be drained');
    expect(of('a long name, with everything that is named after it').notes).toContain(
      'name Prometheus in networkPolicy.metricsFrom',
    );
  });

  test('sets no rollout limits without a value, and a duplicate label once', () => {
    const [alone] = deploymentsOf(of('agents that are never two, with limits as large as requests'));
    expect(alone?.spec).toMatchObject({ replicas: 1 });
    expect((alone?.spec as { strategy?: unknown } | undefined)?.strategy).toEqual({ type: 'Recreate' });
    const [first] = deploymentsOf(of('everything'));
    expect(first?.metadata.labels).toMatchObject({ team: 'observability' });
    const { text } = of('everything');
    // Of four deployments, each with the pod of its test.
    expect(text.match(/team: "?agents"?/g)).toHaveLength(8);
  });
});
