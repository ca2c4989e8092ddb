import { key } from './cases.ts';
import type { Values } from './renderer.ts';

const off = { all: { enabled: false } };

/** Refused values, added to the minimal values of a release, and their messages. */
export const refusals: readonly [what: string, values: Values, told: string][] = [
  ['no service', { serviceUrl: '' }, 'serviceUrl is missing: set it to the URL of the monitoring service'],
  ['a service that is no URL', { serviceUrl: 'monitoring' }, 'serviceUrl: Does not match pattern'],
  [
    'no key',
    { apiKey: { existingSecret: '' } },
    'apiKey is missing: name a Secret in apiKey.existingSecret, or set',
  ],
  [
    'two keys',
    { apiKey: { existingSecret: 'a', value: key } },
    'apiKey: set existingSecret or value, not both',
  ],
  ['a key of something else', { apiKey: { value: 'sk_123456789' } }, 'apiKey.value: Does not match pattern'],
  ['a misspelt value', { apikey: {} }, '(root): Additional property apikey is not allowed'],
  ['a misspelt value within', { proxy: { htps: '' } }, 'proxy: Additional property htps is not allowed'],
  [
    'an unknown lane',
    { deployments: { browsers: {} } },
    'deployments: Additional property browsers is not allowed',
  ],
  [
    'a wrong type',
    { deployments: { all: { replicas: '2' } } },
    'deployments.all.replicas: Invalid type. Expected: integer, given: string',
  ],
  [
    'a wrong word',
    { agent: { logLevel: 'INFORM' } },
    'agent.logLevel: agent.logLevel must be one of the following',
  ],
  [
    'a network that is none',
    { agent: { scriptDeniedNetworks: ['10.0.0.0/8', 'intranet.example'] } },
    'agent.scriptDeniedNetworks.1: Does not match pattern',
  ],
  [
    'too long a grace',
    { deployments: { all: { shutdownGraceSeconds: 90_000 } } },
    'deployments.all.shutdownGraceSeconds: Must be less than or equal to 86400',
  ],
  [
    'a label that the chart selects by',
    { podLabels: { 'app.kubernetes.io/component': 'mine' } },
    'podLabels: Property name of "app.kubernetes.io/component" does not match',
  ],
  [
    'a size that is none',
    { deployments: { all: { data: { sizeLimit: '10 GB' } } } },
    'deployments.all.data.sizeLimit: Does not match pattern',
  ],
  [
    'two sources of authorities',
    { caBundle: { existingSecret: 'a', existingConfigMap: 'b' } },
    'caBundle: set one of pem, existingConfigMap and existingSecret',
  ],
  ['authorities that are none', { caBundle: { pem: 'MIIB' } }, 'caBundle.pem: Does not match pattern'],
  [
    'two proxies',
    { proxy: { http: 'http://proxy', existingSecret: 'a' } },
    'proxy: set existingSecret or the values http and https, not both',
  ],
  [
    'two volumes',
    { deployments: { all: { data: { existingClaim: 'a', ephemeral: { size: '1Gi' } } } } },
    'deployments.all.data: set existingClaim or ephemeral, not both',
  ],
  [
    'a class without a size',
    { deployments: { all: { data: { ephemeral: { storageClassName: 'a' } } } } },
    'Has a dependency on size',
  ],
  ['no deployment', { deployments: off }, 'deployments: none is enabled'],
  [
    'no lane',
    { deployments: { all: { slots: { uptime: 0, browser: 0, suite: 0 } } } },
    'deployments.all.slots: uptime, browser and suite are all 0',
  ],
  [
    'scaling by nothing',
    { deployments: { all: { autoscaling: { enabled: true } } } },
    'deployments.all.autoscaling needs autoscaling.prometheusUrl and autoscaling.location',
  ],
  [
    'scaling by what is not known',
    {
      autoscaling: { prometheusUrl: 'http://p', location: 'b' },
      deployments: { all: { slots: { browser: 'auto' }, autoscaling: { enabled: true } } },
    },
    'deployments.all.autoscaling needs a number in deployments.all.slots.browser, not auto',
  ],
  [
    'bounds the wrong way round',
    {
      autoscaling: { prometheusUrl: 'http://p', location: 'b' },
      deployments: { all: { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 2 } } },
    },
    'deployments.all.autoscaling: minReplicas is more than maxReplicas',
  ],
  [
    'a variable of the chart',
    { extraEnv: [{ name: 'http_proxy', value: 'a' }] },
    'extraEnv: http_proxy is set by a value of its own',
  ],
  [
    'the form of the log as a variable',
    { extraEnv: [{ name: 'LOG_FORMAT', value: 'text' }] },
    'extraEnv: LOG_FORMAT is set by a value of its own',
  ],
  [
    'a tag in the name of the image',
    { image: { repository: 'registry.example:5000/location-agent:1.0' } },
    'image.repository: Does not match pattern',
  ],
  ['no image', { image: { repository: '' } }, 'deployments.all: image.repository is empty'],
  ['a name that no object may have', { nameOverride: 'My_Agent' }, 'nameOverride: Does not match pattern'],
  [
    'a name that no Service may have',
    { fullnameOverride: 'a.b' },
    'fullnameOverride: Does not match pattern',
  ],
  [
    'a roll that cannot move',
    { strategy: { rollingUpdate: { maxSurge: '0%', maxUnavailable: 0 } } },
    'strategy.rollingUpdate: maxSurge and maxUnavailable are both 0',
  ],
  [
    'more than all agents away',
    { deployments: { all: { podDisruptionBudget: { maxUnavailable: '150%' } } } },
    'deployments.all.podDisruptionBudget.maxUnavailable',
  ],
  [
    'a request above its limit',
    { deployments: { all: { resources: { limits: { memory: '2048Mi' } } } } },
    'deployments.all.resources: requests.memory (3Gi) is more than limits.memory (2048Mi)',
  ],
  [
    'a share of a core above its limit',
    { deployments: { all: { resources: { limits: { cpu: '900m' } } } } },
    'deployments.all.resources: requests.cpu (1) is more than limits.cpu (900m)',
  ],
  [
    'an address in place of a block',
    { networkPolicy: { exceptIPv4: ['169.254.169.254'] } },
    'networkPolicy.exceptIPv4.0: Does not match pattern',
  ],
  [
    'a block of the other family',
    { networkPolicy: { exceptIPv6: ['10.0.0.0/8'] } },
    'networkPolicy.exceptIPv6.0: Does not match pattern',
  ],
  ['no name servers at all', { dnsPolicy: 'None' }, 'set dnsConfig.nameservers'],
  [
    'a liveness that must succeed twice',
    { livenessProbe: { successThreshold: 2 } },
    'livenessProbe.successThreshold: Must be less than or equal to 1',
  ],
  [
    "a volume of the chart's name",
    { extraVolumes: [{ name: 'data', emptyDir: {} }] },
    'extraVolumes: data is the name of a volume of the chart',
  ],
  ['a variable without a name', { extraEnv: [{ value: 'a' }] }, 'extraEnv.0: name is required'],
];
