import type { Release, Values } from './renderer.ts';

/** Sets of values that people have, from the least to everything at once; none is to be refused. */

export const key = 'pl_0123456789abcdef0123456789abcdef';
export const least: Values = {
  serviceUrl: 'https://monitoring.example',
  apiKey: { existingSecret: 'berlin-key' },
};
const separate = {
  all: { enabled: false },
  uptime: { enabled: true },
  browser: { enabled: true },
  suite: { enabled: true },
};
const scaling = { prometheusUrl: 'http://prometheus.monitoring:9090', location: 'berlin' };
const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
export const longName = 'a-release-with-a-name-that-is-as-long-as-helm-allows53';

/** Names that Helm takes for a release, and Kubernetes not for a Service. */
export const oddNames = [
  '1st',
  '2026.berlin',
  'b',
  `a-${'-'.repeat(49)}b`,
  `${'9'.repeat(33)}--${'x'.repeat(18)}`,
];

export const cases: { readonly [name: string]: Release } = {
  'the least': { values: least },
  'a key as a value': { values: { ...least, apiKey: { value: key } } },
  'a deployment for each lane': { values: { ...least, deployments: separate } },
  'a long name, with everything that is named after it': {
    name: longName,
    namespace: 'n'.repeat(63),
    values: {
      ...least,
      apiKey: { value: key },
      caBundle: { pem },
      metrics: { serviceMonitor: { enabled: true } },
      networkPolicy: { enabled: true },
      autoscaling: scaling,
      deployments: {
        all: { enabled: false },
        uptime: { enabled: true, autoscaling: { enabled: true } },
        browser: { enabled: true, autoscaling: { enabled: true } },
        suite: { enabled: true, autoscaling: { enabled: true } },
      },
    },
  },
  'proxies and authorities as values': {
    values: {
      ...least,
      proxy: {
        http: 'http://me:sesame@proxy:3128',
        https: 'http://me:sesame@proxy:3128',
        noProxy: '.internal',
      },
      caBundle: { pem },
    },
  },
  'proxies and authorities that are there': {
    values: {
      ...least,
      proxy: { existingSecret: 'proxies' },
      caBundle: { existingConfigMap: 'authorities' },
    },
  },
  'authorities in a secret': {
    values: { ...least, caBundle: { existingSecret: 'authorities', key: 'all.pem' } },
  },
  'volumes of all kinds': {
    values: {
      ...least,
      deployments: {
        all: { data: { existingClaim: 'agents' }, sharedMemorySizeLimit: '' },
        suite: { enabled: true, data: { ephemeral: { storageClassName: 'fast', size: '64Gi' } } },
      },
      extraVolumes: [{ name: 'hosts', configMap: { name: 'hosts' } }],
      extraVolumeMounts: [{ name: 'hosts', mountPath: '/etc/hosts.d', readOnly: true }],
    },
  },
  'a cluster that chooses users itself': {
    values: { ...least, podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } },
  },
  'a profile for the browser, NET_RAW for pings': {
    values: {
      ...least,
      seccompLocalhostProfile: 'profiles/agent.json',
      icmp: { netRaw: true, pingGroupRange: false },
    },
  },
  'nothing beyond what must be': {
    values: {
      ...least,
      podSecurityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] },
      serviceAccount: { create: false },
      topologySpreadConstraints: [],
      deployments: {
        all: {
          replicas: 1,
          resources: { requests: null, limits: null },
          podDisruptionBudget: { enabled: false },
        },
      },
    },
  },
  everything: {
    values: {
      ...least,
      global: { team: 'a' },
      nameOverride: 'agent',
      fullnameOverride: 'berlin-agents',
      commonLabels: { team: 'observability' },
      image: {
        repository: 'registry.example/location-agent',
        digest: `sha256:${'0'.repeat(64)}`,
        pullPolicy: 'Always',
      },
      imagePullSecrets: [{ name: 'registry' }],
      agent: {
        logLevel: 'DEBUG',
        logFormat: 'text',
        healthPort: 9000,
        useOsDnsResolver: true,
        dependencyCache: 'off',
        detectSecrets: true,
        scriptAllowedNetworks: ['10.0.0.0/8', '10.1.2.3:443', '[fd00::/8]:8000-8100', 'fd00::1'],
        scriptDeniedNetworks: ['10.9.0.0/16'],
      },
      icmp: { netRaw: true },
      strategy: { rollingUpdate: { maxSurge: '25%' } },
      serviceAccount: { name: 'agents', annotations: { 'example.com/role': 'none' } },
      podAnnotations: { 'example.com/a': '1' },
      podLabels: { zone: 'inner', team: 'agents' },
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'monitoring', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'In', values: ['agents'] }] }],
          },
        },
      },
      priorityClassName: 'monitoring',
      extraEnv: [
        { name: 'SERVICE_SECRET_ONE', valueFrom: { secretKeyRef: { name: 'more', key: 'one' } } },
        { name: 'npm_config_registry', value: 'https://packages.example/' },
      ],
      extraEnvFrom: [{ configMapRef: { name: 'more', optional: true } }],
      hostAliases: [{ ip: '10.0.0.1', hostnames: ['intranet.example'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.53'], options: [{ name: 'ndots', value: '1' }] },
      metrics: {
        service: { enabled: true, annotations: { a: 'b' } },
        serviceMonitor: {
          enabled: true,
          labels: { release: 'prometheus' },
          metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }],
        },
        prometheusRule: {
          enabled: true,
          labels: { release: 'prometheus' },
          docsUrl: 'https://git.example/docs/',
        },
        dashboard: { enabled: true, annotations: { grafana_folder: 'Monitoring' } },
      },
      networkPolicy: {
        enabled: true,
        metricsFrom: [
          { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } },
        ],
      },
      autoscaling: { ...scaling, selector: 'account="a"', authenticationRef: 'prometheus', podsPerMinute: 2 },
      deployments: {
        all: { replicas: 3, slots: { browser: 4 }, autoscaling: { enabled: true, maxReplicas: 20 } },
        uptime: {
          enabled: true,
          image: { tag: '1.2.3-uptime' },
          nodeSelector: { pool: 'small' },
          tolerations: [],
        },
        browser: {
          enabled: true,
          slots: { browser: 'auto' },
          podDisruptionBudget: { maxUnavailable: '50%' },
        },
        suite: {
          enabled: true,
          seccompLocalhostProfile: 'profiles/agent.json',
          extraEnv: [{ name: 'A', value: 'b' }],
        },
      },
      extraManifests: [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: '{{ .Release.Name }}-more' },
          data: { url: '{{ .Values.serviceUrl }}' },
        },
      ],
    },
  },
  'agents that are never two, with limits as large as requests': {
    values: {
      ...least,
      image: { repository: 'registry.example:5000/team/location-agent', tag: '0.1.0' },
      strategy: { type: 'Recreate' },
      deployments: {
        all: {
          replicas: 1,
          resources: { requests: { cpu: 0.5, memory: '1.5Gi' }, limits: { cpu: '500m', memory: '1536Mi' } },
          podDisruptionBudget: { maxUnavailable: 0 },
        },
      },
    },
  },
  "rules of one's own for the network": {
    values: {
      ...least,
      networkPolicy: {
        enabled: true,
        egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }], ports: [{ port: 443 }] }],
      },
    },
  },
};
