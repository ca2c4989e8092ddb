/** Example bodies of all operations, by operationId. They name one imaginary shop, and the ids below. */

/** Ids in the examples. A test puts the ids of real resources in their places and sends every example. */
export const exampleIds = {
  check: '0197d0a3-5f5c-7c3e-9d2e-0e6f2f1c9a10',
  service: '0197d0a3-6b11-7a52-8f60-3c1d9e5b7a20',
  statusPage: '0197d0a3-7c22-7b63-9a71-4d2eaf6c8b30',
  sequence: '0197d0a3-8d33-7c74-8b82-5e3fb07d9c40',
  group: 1701,
  alertChannel: 1702,
  snippet: 1703,
} as const;
/** Texts that tests replace as well. */
export const exampleTexts = {
  bundle: 'c0ffee0000000000000000000000000000000000000000000000000000c0ffee',
  apiKey: 'YOUR_API_KEY',
  certificate: '-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n',
  privateKey: '-----BEGIN PRIVATE KEY-----\nMIGH…\n-----END PRIVATE KEY-----\n',
} as const;

type Body = { readonly [field: string]: unknown };

const place = { locations: ['eu-west-1'], tags: ['shop'] };
const often = { frequency: 5, ...place };
const retries = { type: 'FIXED', baseBackoffSeconds: 10, maxRetries: 2, sameRegion: true };
const status200 = { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' };
const target = { target: { matchTags: [['shop', '!slow']] } };
const cancelled = { sequenceId: [exampleIds.sequence] };
const investigating = {
  status: 'INVESTIGATING',
  description: 'Payments take longer than usual. We are looking into it.',
};
const monitoring = { status: 'MONITORING', description: 'A fix is in place. We are watching the figures.' };
const group = { name: 'Shop', tags: ['shop'], locations: ['eu-west-1'], concurrency: 3 };

const project = {
  project: { logicalId: 'shop', name: 'Shop', repoUrl: 'https://git.shop.example/checks' },
  resources: [
    { type: 'check-group', logicalId: 'shop', payload: { name: 'Shop', locations: ['eu-west-1'] } },
    {
      type: 'check',
      logicalId: 'front',
      payload: {
        checkType: 'URL',
        name: 'Shop front',
        groupId: { ref: 'shop' },
        request: { url: 'https://shop.example/' },
      },
    },
  ],
};

/** What a change of any check changes in its example. */
const slower = { frequency: 10, muted: false };

const creates: { readonly [operationId: string]: Body } = {
  createCheck: {
    checkType: 'URL',
    name: 'Home page',
    locations: ['eu-west-1'],
    request: { url: 'https://shop.example/' },
  },
  createUrlCheck: {
    name: 'Shop front',
    ...often,
    request: { url: 'https://shop.example/', assertions: [status200] },
    degradedResponseTime: 1000,
    maxResponseTime: 5000,
    retryStrategy: retries,
    alertChannelSubscriptions: [{ alertChannelId: exampleIds.alertChannel, activated: true }],
  },
  createApiCheck: {
    name: 'Cart API',
    ...often,
    groupId: exampleIds.group,
    request: {
      method: 'POST',
      url: 'https://shop.example/api/carts',
      headers: [{ key: 'accept', value: 'application/json' }],
      body: '{"article":"book-1"}',
      bodyType: 'JSON',
      assertions: [
        { source: 'STATUS_CODE', comparison: 'EQUALS', target: '201' },
        { source: 'JSON_BODY', property: '$.items.length', comparison: 'GREATER_THAN', target: '0' },
      ],
    },
  },
  createTcpCheck: { name: 'Database', ...often, request: { hostname: 'db.shop.example', port: 5432 } },
  createDnsCheck: {
    name: 'Shop name',
    ...often,
    request: { query: 'shop.example', recordType: 'A', assertions: [] },
  },
  createIcmpCheck: {
    name: 'Gateway',
    ...often,
    request: { hostname: 'gateway.shop.example', pingCount: 10 },
    maxPacketLossThreshold: 20,
  },
  createSslCheck: {
    name: 'Certificates of the shop',
    ...often,
    request: { sslConfig: { hostname: 'shop.example', alertDaysBeforeExpiry: 30 } },
  },
  createGrpcCheck: {
    name: 'Orders answer',
    ...often,
    request: { url: 'orders.shop.example', port: 443, grpcConfig: { mode: 'HEALTH' } },
  },
  createTracerouteCheck: {
    name: 'Way to the shop',
    ...often,
    request: { url: 'shop.example', protocol: 'TCP', port: 443 },
  },
  createBrowserCheck: {
    name: 'Buy a book',
    frequency: 15,
    ...place,
    script:
      "import { expect, test } from '@playwright/test';\n\ntest('the shop opens', async ({ page }) => {\n  await page.goto('https://shop.example/');\n  await expect(page).toHaveTitle(/Shop/);\n});\n",
  },
  createMultiStepCheck: {
    name: 'Order and cancel',
    frequency: 15,
    ...place,
    script:
      "import { expect, test } from '@playwright/test';\n\ntest('an order can be cancelled', async ({ request }) => {\n  const order = await request.post('https://shop.example/api/orders');\n  await expect(order).toBeOK();\n});\n",
  },
  createPlaywrightCheck: {
    name: 'Shop suite',
    frequency: 60,
    ...place,
    codeBundlePath: exampleTexts.bundle,
    pwTags: ['@smoke'],
  },
  createHeartbeatCheck: {
    name: 'Nightly backup',
    tags: ['shop'],
    heartbeat: { period: 1, periodUnit: 'days', grace: 30, graceUnit: 'minutes' },
  },
  createAgenticCheck: {
    name: 'Find a book',
    ...place,
    frequency: 60,
    prompt: 'Open https://shop.example/, search for "lighthouse" and check that a book is found.',
  },
  pingHeartbeatNow: { source: 'Ann' },
  createCheckTrigger: {},
  createCheckGroupTrigger: {},
  createCheckGroup: group,
  createCheckGroupV2: { ...group, retryStrategy: retries },
  createSnippet: { name: 'shop-user', script: "export const user = 'ann';\n" },
  createVariable: { key: 'SHOP_TOKEN', value: 'a secret text', secret: true },
  createClientCertificate: {
    host: '*.shop.example',
    cert: exampleTexts.certificate,
    key: exampleTexts.privateKey,
  },
  createPrivateLocation: { name: 'Office', slugName: 'berlin-office', allowedNetworks: ['10.0.0.0/8'] },
  createRootCauseAnalysis: { userContext: 'The payment provider was changed at noon.' },
  createAlertChannel: {
    type: 'EMAIL',
    config: { address: 'ops@shop.example' },
    sendDegraded: true,
    subscriptions: [{ checkId: exampleIds.check, activated: true }],
  },
  getChecksAnalytics: {
    checkIds: [exampleIds.check],
    quickRange: 'last7Days',
    metrics: ['availability', 'responseTime_p95'],
  },
  triggerCheckSessionsV1: target,
  triggerCheckSessions: target,
  triggerTestSession: {
    name: 'Release 42',
    ...target,
    environmentVariables: [{ key: 'ENVIRONMENT_URL', value: 'https://preview-42.shop.example' }],
    metadata: { environment: 'staging', commitId: 'c0ffee4', branchName: 'main' },
  },
  cancelCheckSessionV1: cancelled,
  cancelCheckSession: cancelled,
  cancelTestSession: cancelled,
  createMaintenanceWindow: {
    name: 'Database patches',
    startsAt: '2030-03-03T02:00:00.000Z',
    endsAt: '2030-03-03T04:00:00.000Z',
    timezone: 'Europe/Berlin',
    repeatInterval: 1,
    repeatUnit: 'MONTH',
    tags: ['shop'],
    statusPageVisibility: { enabled: true, serviceIds: [exampleIds.service], notifyOnStart: true },
  },
  cancelMaintenanceOccurrence: { description: 'The patches are not ready.', notifySubscribers: true },
  createMaintenanceUpdate: { status: 'IN_PROGRESS', description: 'The work has begun.' },
  createStatusPageService: { name: 'Checkout', checkIds: [exampleIds.check] },
  createStatusPageIncident: {
    name: 'Slow payments',
    severity: 'MINOR',
    services: [{ id: exampleIds.service }],
    incidentUpdates: [{ ...investigating, notifySubscribers: true }],
  },
  createStatusPageIncidentUpdate: monitoring,
  createStatusPage: {
    name: 'Shop',
    url: 'shop-status',
    description: 'The state of our shop.',
    cards: [{ name: 'Shop', services: [{ serviceId: exampleIds.service }] }],
  },
  createStatusPageSubscription: { email: 'reader@shop.example' },
  createIncident: {
    name: 'Slow payments',
    severity: 'MINOR',
    dashboardId: exampleIds.statusPage,
    incidentUpdates: [investigating],
  },
  createIncidentUpdate: monitoring,
  deployProject: project,
  testProject: { ...project, all: true, environmentVariables: [{ key: 'REGION', value: 'eu' }] },
  cancelProjectDeployment: {},
  createApiKey: { name: 'Deployment', role: 'READ_RUN', expiresAt: '2031-01-01T00:00:00.000Z' },
  signIn: { apiKey: exampleTexts.apiKey },
  signOut: {},
};

const changes: { readonly [operationId: string]: Body } = {
  updateUrlCheck: { ...slower, maxResponseTime: 3000 },
  updateCheck: { checkType: 'URL', muted: true },
  updateApiCheck: { ...slower, maxResponseTime: 10_000 },
  updateTcpCheck: { ...slower, maxResponseTime: 4000 },
  updateDnsCheck: { ...slower, maxResponseTime: 800 },
  updateIcmpCheck: { ...slower, maxPacketLossThreshold: 10 },
  updateTracerouteCheck: { ...slower, maxResponseTime: 6000 },
  updateGrpcCheck: { ...slower, maxResponseTime: 15_000 },
  updateSslCheck: { ...slower, maxResponseTime: 8000 },
  updateBrowserCheck: { ...slower, tags: ['shop', 'paid'] },
  updateMultiStepCheck: { ...slower, tags: ['shop', 'paid'] },
  updatePlaywrightCheck: { frequency: 120, pwTags: ['@smoke', '@paid'] },
  updateHeartbeatCheck: { heartbeat: { period: 12, periodUnit: 'hours', grace: 1, graceUnit: 'hours' } },
  updateAgenticCheck: {
    frequency: 120,
    prompt: 'Open https://shop.example/ and check that a book can be found.',
  },
  updateCheckGroup: { muted: true, concurrency: 5 },
  updateCheckGroupV2: { muted: true, retryStrategy: null },
  updateSnippet: { script: "export const user = 'bob';\n" },
  updateVariable: { value: 'another secret text', secret: true },
  updateClientCertificate: { host: 'api.shop.example:8443' },
  updatePrivateLocation: { name: 'Office in Berlin', allowedNetworks: null },
  updateErrorGroup: { archivedUntilNextEvent: true },
  updateAlertChannel: { sendDegraded: false, sslExpiry: true, sslExpiryThreshold: 14 },
  setAlertChannelSubscription: { checkId: exampleIds.check, activated: true },
  updateMaintenanceWindow: { silenceAllAlerts: true, endsAt: '2030-03-03T05:00:00.000Z' },
  updateMaintenanceUpdate: { description: 'The work has begun, and takes two hours.' },
  updateStatusPageService: { name: 'Checkout and payment' },
  updateStatusPageIncident: { severity: 'MAJOR' },
  updateStatusPageIncidentUpdate: { description: 'Payments by card take longer than usual.' },
  updateStatusPage: { title: 'Is the shop open?', defaultTheme: 'DARK' },
  updateIncident: { severity: 'MAJOR' },
  updateIncidentUpdate: { description: 'Payments by card take longer than usual.' },
  updateOwnAccount: {
    name: 'Shop',
    alertSettings: { escalationType: 'RUN_BASED', runBasedEscalation: { failedRunThreshold: 2 } },
  },
  updateApiKey: { name: 'Deployment of the shop', role: 'READ_WRITE' },
};

/** A check is tried, and a page previewed, with the body that creates it. Heartbeats have nothing to try. */
const tries = Object.fromEntries(
  Object.entries(creates).flatMap(([name, body]): [string, Body][] => {
    if (name === 'createStatusPage') return [['previewStatusPage', body]];
    const isTried = /^create\w+Check$/.test(name) && name !== 'createHeartbeatCheck';
    return isTried ? [[name.replace('create', 'try'), body]] : [];
  }),
);

/** The example of each body of JSON, by operationId. */
export const bodyExamples: { readonly [operationId: string]: Body } = {
  ...creates,
  ...changes,
  ...tries,
};
