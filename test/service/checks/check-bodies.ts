import type { ProbeType } from '../../../src/protocol/check-types.ts';
import { insertService } from '../../../src/service/status-pages/service-statements.ts';
import type { TestService } from '../../helpers/service/service.ts';

/** Bodies of checks, and the stored form of the smallest ones. */

/** The minimal body of a create, without locations. */
export const minimalRequests: { readonly [T in ProbeType]: { [field: string]: unknown } } = {
  URL: { url: 'https://shop.example/' },
  API: { url: 'https://shop.example/api' },
  TCP: { hostname: 'db.example', port: 5432 },
  DNS: { query: 'shop.example' },
  ICMP: { hostname: 'gateway.example' },
  SSL: { sslConfig: { hostname: 'shop.example' } },
  GRPC: { url: 'orders.example', port: 50_051, grpcConfig: { method: 'shop.Orders/Get' } },
  TRACEROUTE: { url: 'shop.example' },
};

export function minimalBody(type: ProbeType, fields: { [field: string]: unknown } = {}) {
  return { name: `A ${type} check`, locations: ['eu-west-1'], request: minimalRequests[type], ...fields };
}

const storedRequests: { readonly [T in ProbeType]: { [field: string]: unknown } } = {
  URL: {
    method: 'GET',
    url: 'https://shop.example/',
    followRedirects: true,
    skipSSL: false,
    ipFamily: 'IPv4',
    assertions: [],
  },
  API: {
    method: 'GET',
    url: 'https://shop.example/api',
    followRedirects: true,
    skipSSL: false,
    ipFamily: 'IPv4',
    body: '',
    bodyType: 'NONE',
    headers: [],
    queryParameters: [],
    basicAuth: null,
    assertions: [],
  },
  TCP: { hostname: 'db.example', port: 5432, data: null, ipFamily: 'IPv4', assertions: [] },
  DNS: {
    query: 'shop.example',
    recordType: 'A',
    nameServer: '',
    port: 53,
    protocol: 'UDP',
    skipSSL: false,
    assertions: [],
  },
  ICMP: { hostname: 'gateway.example', ipFamily: 'IPv4', pingCount: 10, assertions: [] },
  SSL: {
    sslConfig: {
      hostname: 'shop.example',
      port: 443,
      serverName: null,
      ipFamily: 'IPv4',
      startTls: null,
      skipChainValidation: false,
      handshakeTimeoutMs: 10_000,
      alertDaysBeforeExpiry: 20,
      failDaysBeforeExpiry: 0,
      revocation: 'stapled',
      scan: false,
      clientCertificateMode: null,
      securityBaseline: {
        enabled: true,
        minTLSVersion: { value: 'TLS1.2', severity: 'fail' },
        minKeySizeBits: { value: 2048, severity: 'fail' },
        weakSignatureAlgorithm: { severity: 'fail' },
        weakCipherSuite: { severity: 'fail' },
        knownBadCA: { severity: 'fail' },
        recommendedTLSVersion: { value: 'TLS1.3', severity: 'ignore' },
        recommendedKeySizeBits: { value: 3072, severity: 'ignore' },
        ocspMustStapleRespected: { severity: 'ignore' },
        sctPresent: { severity: 'ignore' },
      },
    },
    sslClientCertificateId: null,
    assertions: [],
  },
  GRPC: {
    url: 'orders.example',
    port: 50_051,
    ipFamily: 'IPv4',
    skipSSL: false,
    timeout: 60,
    grpcConfig: {
      mode: 'BEHAVIOR',
      tls: true,
      serverName: null,
      clientCertificateMode: null,
      metadata: [],
      method: 'shop.Orders/Get',
      serviceDefinition: 'REFLECTION',
      protoContent: '',
      descriptorSet: '',
      message: '',
      service: '',
      watch: false,
      compression: 'none',
      maxMessageBytes: 4_194_304,
      maxMessages: 100,
    },
    grpcClientCertificateId: null,
    assertions: [],
  },
  TRACEROUTE: {
    url: 'shop.example',
    protocol: 'TCP',
    port: 443,
    ipFamily: 'IPv4',
    maxHops: 30,
    maxUnknownHops: 15,
    queries: 3,
    ptrLookup: true,
    timeout: 10,
    assertions: [],
  },
};

const typeDefaults: { readonly [T in ProbeType]: { [field: string]: unknown } } = {
  URL: { degradedResponseTime: 3000, maxResponseTime: 5000, sslCheckDomain: null },
  API: { degradedResponseTime: 5000, maxResponseTime: 20_000, sslCheckDomain: null, dependencies: [] },
  TCP: { degradedResponseTime: 3000, maxResponseTime: 5000, sslCheckDomain: null },
  DNS: { degradedResponseTime: 500, maxResponseTime: 1000, sslCheckDomain: '' },
  ICMP: {
    degradedResponseTime: 10_000,
    maxResponseTime: 20_000,
    degradedPacketLossThreshold: 10,
    maxPacketLossThreshold: 20,
    sslCheckDomain: null,
  },
  SSL: { degradedResponseTime: 3000, maxResponseTime: 10_000, sslCheckDomain: null },
  GRPC: { degradedResponseTime: 10_000, maxResponseTime: 20_000, sslCheckDomain: null },
  TRACEROUTE: { degradedResponseTime: 3000, maxResponseTime: 5000, sslCheckDomain: null },
};

/** What the service answers to the smallest body; the id is the caller's to add. */
export function storedMinimal(type: ProbeType) {
  return {
    checkType: type,
    name: `A ${type} check`,
    activated: true,
    muted: false,
    doubleCheck: true,
    shouldFail: false,
    locations: ['eu-west-1'],
    privateLocations: [],
    tags: [],
    alertSettings: {
      escalationType: 'RUN_BASED',
      runBasedEscalation: { failedRunThreshold: 1 },
      timeBasedEscalation: { minutesFailingThreshold: 5 },
      reminders: { amount: 0, interval: 5 },
      parallelRunFailureThreshold: { enabled: false, percentage: 10 },
    },
    useGlobalAlertSettings: true,
    groupId: null,
    groupOrder: null,
    runtimeId: null,
    alertChannelSubscriptions: [],
    retryStrategy: null,
    triggerIncident: null,
    runParallel: false,
    description: null,
    frequency: 10,
    scriptPath: null,
    environmentVariables: [],
    setupSnippetId: null,
    tearDownSnippetId: null,
    localSetupScript: null,
    localTearDownScript: null,
    ...typeDefaults[type],
    request: storedRequests[type],
    alertChannels: { email: [], webhook: [], chat_a: [], sms: [] },
    updated_at: null,
  };
}

const shopServiceId = '01890000-0000-7000-8000-000000000001';

/** The service that `fullFields` names. */
export async function addShopService({ db, account }: Pick<TestService, 'db' | 'account'>): Promise<void> {
  await insertService(db, { id: shopServiceId, accountId: account.id, name: 'Shop', now: new Date(0) });
}

/** A body with every field of the specification's table set to something else than its default; but for subscriptions, which name channels. */
export const fullFields = {
  name: 'Everything',
  activated: false,
  muted: true,
  doubleCheck: false,
  shouldFail: true,
  locations: ['us-east-1', 'af-south-1'],
  privateLocations: ['office'],
  tags: ['shop', 'paid'],
  alertSettings: {
    escalationType: 'TIME_BASED',
    runBasedEscalation: { failedRunThreshold: 5 },
    timeBasedEscalation: { minutesFailingThreshold: 30 },
    reminders: { amount: 100_000, interval: 30 },
    parallelRunFailureThreshold: { enabled: true, percentage: 100 },
  },
  useGlobalAlertSettings: false,
  groupOrder: 3,
  runtimeId: '2026.04',
  retryStrategy: {
    type: 'EXPONENTIAL',
    baseBackoffSeconds: 5,
    maxRetries: 3,
    maxDurationSeconds: 300,
    sameRegion: false,
    onlyOn: [],
  },
  triggerIncident: {
    serviceId: shopServiceId,
    name: 'Shop is down',
    description: 'The shop does not answer.',
    notifySubscribers: true,
  },
  runParallel: true,
  description: 'All fields.',
  frequency: 120,
  frequencyOffset: 2,
  scriptPath: 'checks/everything.ts',
  environmentVariables: [
    { key: 'REGION', value: 'eu', locked: false, secret: false },
    { key: 'HIDDEN', value: 'shown to few', locked: true, secret: false },
  ],
  localSetupScript: 'request.headers.a = 1;',
  localTearDownScript: 'console.log(1);',
  degradedResponseTime: 100,
  maxResponseTime: 200,
  sslCheckDomain: 'shop.example',
};

/** A check as it reads back: only the answer to a create or a change has warnings, here of locations without agents. */
export function withoutWarnings<C extends object>(written: C): C {
  const { warnings: _warnings, ...check } = written as C & { warnings?: unknown };
  return check as C; // warnings are optional
}
