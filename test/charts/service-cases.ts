import type { Release, Values } from './renderer.ts';

/** Sets of values of the service's chart that people have, and values that it refuses. */

const bucket = { bucket: 's3://monitoring/production', region: 'eu-central-1', existingSecret: 'bucket' };
export const least: Values = {
  database: { existingSecret: 'database' },
  keys: { existingSecret: 'keys' },
  artifacts: bucket,
};

export const cases = {
  'the least': { values: least },
  'a shared volume instead of a bucket': {
    values: { ...least, artifacts: { bucket: '' }, data: { existingClaim: 'files' } },
  },
  'one replica without storage': {
    values: {
      ...least,
      artifacts: { bucket: '' },
      replicas: 1,
      strategy: { type: 'Recreate' },
      podDisruptionBudget: { enabled: false },
      serviceAccount: { create: false },
      topologySpreadConstraints: [],
      preStopSeconds: 0,
      resources: { requests: null, limits: null },
    },
  },
  'a database that has an account': {
    values: { ...least, keys: { existingSecret: 'keys', apiKey: '', locationKey: '' } },
  },
  'a name with a leading digit': { name: '1st', values: least },
  'a long name': {
    name: 'a-release-with-a-name-that-is-as-long-as-helm-allows53',
    namespace: 'n'.repeat(63),
    values: {
      ...least,
      ingress: { enabled: true, host: 'monitoring.example' },
      networkPolicy: { enabled: true },
    },
  },
  everything: {
    values: {
      ...least,
      global: { team: 'a' },
      replicas: 6,
      publicUrl: 'https://monitoring.example',
      artifacts: {
        ...bucket,
        endpoint: 'https://objects.example',
        forcePathStyle: false,
        presignedDownloads: true,
      },
      keys: { existingSecret: 'keys', locationSlug: 'berlin' },
      mail: { existingSecret: 'mail', from: 'Monitoring <alerts@example.com>' },
      settings: {
        logLevel: 'DEBUG',
        logFormat: 'text',
        trustedProxies: ['10.0.0.0/8', 'fd00::1'],
        notificationPrivateTargets: 'allow',
        rateLimit: 1_000_000,
        publicRateLimit: 0,
        retentionDays: 90,
        artifactRetentionDays: 7,
        resultFilesAfterDays: 2,
        rollupRetentionDays: 1000,
      },
      caBundle: { existingConfigMap: 'authorities', key: 'all.pem' },
      fullnameOverride: 'monitor',
      commonLabels: { team: 'observability' },
      image: { repository: 'registry.example/location-agent', digest: `sha256:${'0'.repeat(64)}` },
      imagePullSecrets: [{ name: 'registry' }],
      service: { type: 'LoadBalancer', port: 4400, annotations: { a: 'b' } },
      ingress: {
        enabled: true,
        className: 'public',
        host: 'monitoring.example',
        tlsSecret: 'tls',
        annotations: { a: 'b' },
      },
      serviceAccount: { name: 'service', annotations: { a: 'b' } },
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'monitoring', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'In', values: ['a'] }] }],
          },
        },
      },
      priorityClassName: 'monitoring',
      podAnnotations: { a: 'b' },
      podLabels: { zone: 'inner' },
      extraEnv: [
        { name: 'SMS_TOKEN', valueFrom: { secretKeyRef: { name: 'sms', key: 'token' } } },
        { name: 'SMS_URL', value: 'https://sms.example/' },
      ],
      extraEnvFrom: [{ configMapRef: { name: 'more', optional: true } }],
      extraVolumes: [{ name: 'hosts', configMap: { name: 'hosts' } }],
      extraVolumeMounts: [{ name: 'hosts', mountPath: '/etc/hosts.d', readOnly: true }],
      metrics: {
        serviceMonitor: { enabled: true, existingSecret: 'reader', labels: { release: 'prometheus' } },
        prometheusRule: { enabled: true, docsUrl: 'https://git.example/docs/' },
      },
      networkPolicy: {
        enabled: true,
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
      },
      extraManifests: [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: '{{ .Release.Name }}-more' },
          data: { url: '{{ .Values.publicUrl }}' },
        },
      ],
    },
  },
} as const satisfies { readonly [name: string]: Release };

/** Refused values, added to the least ones, and their messages. */
export const refusals: readonly [what: string, values: Values, message: string][] = [
  [
    'no database',
    { database: { existingSecret: '' } },
    'database.existingSecret is missing: name a Secret with the URL of a PostgreSQL server',
  ],
  [
    'no keys',
    { keys: { existingSecret: '' } },
    'keys.existingSecret is missing: name a Secret with encryption-key',
  ],
  [
    'a bucket without keys',
    { artifacts: { ...bucket, existingSecret: '' } },
    'artifacts.existingSecret is missing: name a Secret with the access keys',
  ],
  [
    'a bucket without a region',
    { artifacts: { ...bucket, region: '' } },
    'artifacts.bucket needs artifacts.region, or artifacts.endpoint',
  ],
  ['a bucket that is a name', { artifacts: { ...bucket, bucket: 'files' } }, 'artifacts.bucket: Does not'],
  [
    'keys of a bucket without a bucket',
    { artifacts: { ...bucket, bucket: '' } },
    'artifacts.bucket is missing: set it to s3://<bucket>/<prefix>',
  ],
  [
    'two replicas that share no files',
    { artifacts: { bucket: '', region: '', existingSecret: '' } },
    'replicas: more than one needs artifacts.bucket, or a claim in data.existingClaim',
  ],
  ['an Ingress without a host', { ingress: { enabled: true } }, 'ingress.host is missing'],
  ['mail without a sender', { mail: { existingSecret: 'mail' } }, 'mail.from is missing'],
  [
    'a monitor without a key',
    { metrics: { serviceMonitor: { enabled: true } } },
    'metrics.serviceMonitor.existingSecret is missing',
  ],
  [
    'files for longer than results',
    { settings: { artifactRetentionDays: 31 } },
    'settings.artifactRetentionDays is more than settings.retentionDays',
  ],
  [
    'figures for a shorter time than results',
    { settings: { rollupRetentionDays: 20 } },
    'settings.rollupRetentionDays is less than settings.retentionDays',
  ],
  [
    'a roll that cannot move',
    { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } },
    'strategy.rollingUpdate: maxSurge and maxUnavailable are both 0',
  ],
  [
    'a variable of the chart',
    { extraEnv: [{ name: 'DATABASE_URL_FILE', value: 'a' }] },
    'extraEnv: DATABASE_URL_FILE is set by a value of its own',
  ],
  [
    "a volume of the chart's name",
    { extraVolumes: [{ name: 'keys', emptyDir: {} }] },
    'extraVolumes: keys is the name of a volume of the chart',
  ],
  ['a misspelt value', { mails: {} }, '(root): Additional property mails is not allowed'],
  ['a proxy that is a name', { settings: { trustedProxies: ['proxy'] } }, 'trustedProxies.0: Does not match'],
];
