/** One example of each check type: a body that creates it. A test creates each, and runs those that `run` takes. */

const service = 'http://127.0.0.1:4400';
const places = { privateLocations: ['office'] };

export const examples = {
  URL: {
    name: 'Health of the service',
    ...places,
    frequency: 1,
    request: {
      url: `${service}/health`,
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
    },
  },
  API: {
    name: 'State of the service',
    ...places,
    frequency: 5,
    maxResponseTime: 5000,
    request: {
      method: 'GET',
      url: `${service}/health`,
      headers: [{ key: 'accept', value: 'application/json' }],
      assertions: [
        { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' },
        { source: 'JSON_BODY', property: '$.state', comparison: 'EQUALS', target: 'running' },
        { source: 'HEADERS', property: 'content-type', comparison: 'CONTAINS', target: 'json' },
      ],
    },
  },
  TCP: {
    name: 'Port of the service',
    ...places,
    request: {
      hostname: '127.0.0.1',
      port: 4400,
      data: 'GET /health HTTP/1.0\r\n\r\n',
      assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: '200 OK' }],
    },
  },
  DNS: {
    name: 'Address of the sample',
    ...places,
    request: {
      query: 'sample.test',
      recordType: 'A',
      nameServer: '127.0.0.1',
      port: 5353,
      assertions: [
        { source: 'RESPONSE_CODE', comparison: 'EQUALS', target: 'NOERROR' },
        { source: 'JSON_ANSWER', property: '$.Answer[*].data', comparison: 'EQUALS', target: '127.0.0.1' },
      ],
    },
  },
  ICMP: {
    name: 'Own host',
    ...places,
    request: {
      hostname: '127.0.0.1',
      pingCount: 3,
      assertions: [{ source: 'LATENCY', property: 'avg', comparison: 'LESS_THAN', target: '1000' }],
    },
  },
  SSL: {
    name: 'Certificates of the shop',
    ...places,
    frequency: 60,
    request: {
      sslConfig: { hostname: '127.0.0.1', port: 4443, skipChainValidation: true, alertDaysBeforeExpiry: 30 },
      assertions: [
        { source: 'CERTIFICATE', property: 'daysUntilExpiry', comparison: 'GREATER_THAN', target: '14' },
        { source: 'CONNECTION', property: 'tlsVersion', comparison: 'GREATER_THAN', target: 'TLS1.2' },
      ],
    },
  },
  GRPC: {
    name: 'The shop serves',
    ...places,
    request: {
      url: '127.0.0.1',
      port: 50051,
      grpcConfig: { mode: 'HEALTH', tls: false, service: 'shop' },
      assertions: [
        { source: 'GRPC_STATUS_CODE', comparison: 'EQUALS', target: '0' },
        { source: 'GRPC_HEALTHCHECK_STATUS', comparison: 'EQUALS', target: '1' },
      ],
    },
  },
  TRACEROUTE: {
    name: 'Route to the shop',
    ...places,
    request: {
      url: '127.0.0.1',
      protocol: 'UDP',
      assertions: [
        { source: 'HOP_COUNT', comparison: 'LESS_THAN', target: '20' },
        { source: 'PACKET_LOSS', comparison: 'LESS_THAN', target: '50' },
        { source: 'HOP', property: 'address', comparison: 'CONTAINS', target: '127.0.0.1' },
      ],
    },
  },
  BROWSER: {
    name: 'Sign-in page',
    ...places,
    script: [
      "import { expect, test } from '@playwright/test';",
      "test('the page asks for a key', async ({ page }) => {",
      `  await page.goto('${service}/sign-in');`,
      "  await expect(page.getByRole('heading')).toContainText('Sign in');",
      '});',
      '',
    ].join('\n'),
  },
  MULTI_STEP: {
    name: 'Health in steps',
    ...places,
    script: [
      "import { expect, test } from '@playwright/test';",
      "test('the service runs', async ({ request }) => {",
      `  const answer = await request.get('${service}/health');`,
      "  expect((await answer.json()).state).toBe('running');",
      '});',
      '',
    ].join('\n'),
  },
  PLAYWRIGHT: {
    name: 'Suite of the shop',
    ...places,
    codeBundlePath: '$BUNDLE_KEY',
    pwTags: ['@smoke'],
  },
  HEARTBEAT: {
    name: 'Nightly backup',
    heartbeat: { period: 1, periodUnit: 'days', grace: 30, graceUnit: 'minutes' },
  },
  AGENTIC: {
    name: 'Shop sells lamps',
    prompt: 'Open https://shop.example/ and check that a lamp can be put into the basket.',
  },
};
