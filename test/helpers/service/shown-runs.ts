import type { Run } from './stored-results.ts';
import { ssl } from './shown-ssl.ts';

/** Runs of each type, with every detail that the page of a run shows. */

const certificate = {
  serial: '0A1B2C3D',
  validFrom: '2026-01-01T00:00:00Z',
  validTo: '2031-01-01T00:00:00Z',
  alpn: 'h2',
  subject: 'CN=shop.example',
  issuer: 'CN=Example CA',
  daysRemaining: 41,
  altNames: ['shop.example', 'www.shop.example'],
  authorized: true,
  protocol: 'TLSv1.3',
  cipher: 'TLS_AES_256_GCM_SHA384',
  fingerprint256: Array.from({ length: 32 }, () => 'AB').join(':'),
  chain: [{ subject: 'CN=shop.example', issuer: 'CN=Example CA', validTo: '2031-01-01T00:00:00Z' }],
};
const traceroute = {
  way: 'tcp',
  address: '192.0.2.1',
  port: 443,
  reached: true,
  hops: [
    {
      hop: 1,
      address: '10.0.0.1',
      name: 'gateway.example',
      lossPercent: 0,
      lastMs: 1,
      avgMs: 1.2,
      bestMs: 1,
    },
    { hop: 2, address: '192.0.2.1', lossPercent: 10, lastMs: 9, avgMs: 9.5, bestMs: 8, worstMs: 12 },
  ],
};
const url = {
  request: { method: 'GET', url: 'https://shop.example/', headers: { accept: '*/*' }, body: 'a=1' },
  response: {
    status: 200,
    statusText: 'OK',
    httpVersion: '1.1',
    headers: { server: 'nginx', 'content-type': 'application/json' },
    body: '{"books":[{"title":"A book","price":12.5,"inStock":true,"author":null}]}',
  },
  hops: [
    { url: 'http://shop.example/', status: 301, timings: { dns: 1, total: 4 }, address: '192.0.2.1' },
    { url: 'https://shop.example/', status: 200, timings: { connect: 9, total: 20 }, address: '192.0.2.1' },
  ],
  assertions: [
    { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200', actual: 200 },
    {
      source: 'JSON_BODY',
      property: '$.books[0].title',
      comparison: 'EQUALS',
      target: 'Another book',
      actual: 'A book',
      error: 'expected "Another book"',
    },
  ],
  certificate,
  clientCertificate: {
    host: 'shop.example',
    subject: 'CN=monitoring',
    issuer: 'CN=Own CA',
    validTo: '2031-01-01T00:00:00Z',
    daysRemaining: 41,
  },
  ipFallback: true,
  addresses: [
    { address: '192.0.2.1', ms: 250, error: 'ABANDONED' },
    { address: '192.0.2.2', ms: 12 },
  ],
  traceroute,
  packetCapture: { summary: { packets: 12, retransmissions: 1 } },
};
const error = {
  message: 'expect(page).toHaveTitle: timed out',
  stack: 'Error: timed out\n    at shop.spec.ts:4:9',
};
const tests = [
  {
    title: 'buys a book',
    titlePath: ['shop.spec.ts', 'buys a book'],
    project: 'chromium',
    status: 'failed',
    durationMs: 4100,
    retries: 1,
    errors: [error],
    steps: [
      { title: 'open the shop', durationMs: 300 },
      { title: 'press "Buy"', durationMs: 30, error },
    ],
  },
  {
    title: 'searches',
    titlePath: ['shop.spec.ts', 'searches'],
    project: 'chromium',
    status: 'flaky',
    durationMs: 900,
    retries: 1,
  },
  {
    title: 'signs in',
    titlePath: ['shop.spec.ts', 'signs in'],
    project: 'chromium',
    status: 'passed',
    durationMs: 700,
    retries: 0,
  },
];
const pages = [
  {
    url: 'https://shop.example/',
    pageTimings: { onLoad: 412 },
    webVitals: {
      LCP: { score: 'GOOD', value: 812 },
      CLS: { score: 'NEEDS_IMPROVEMENT', value: 0.14 },
      TBT: { score: 'POOR', value: 900 },
    },
    consoleErrors: ['Failed to load resource'],
    networkErrors: ['GET https://shop.example/logo.png 404'],
  },
];
/** Lines of a log. */
export const log = [
  { time: 0, level: 'info', msg: 'opening the shop' },
  { time: 5, level: 'warn', msg: 'slow answer' },
  { time: 9, level: 'error', msg: 'the button did not appear' },
];
const artifacts = [
  {
    name: 'trace.zip',
    type: 'trace',
    size: 30_000,
    state: 'stored',
    url: '/v1/check-results/a/b/artifacts/trace.zip',
  },
  {
    name: 'screenshot.png',
    type: 'screenshot',
    size: 900,
    state: 'stored',
    url: '/v1/check-results/a/b/artifacts/s.png',
  },
  { name: 'video.webm', type: 'video', size: 90_000, state: 'expired', url: null },
];
const timings = { dns: 3, connect: 10, tls: 12, firstByte: 15, total: 42 };

/** What a run of each type leaves. */
export const kinds: { readonly [type: string]: Partial<Run> } = {
  URL: { timings, details: url },
  API: { timings, details: url, log },
  BROWSER: {
    status: 'failed',
    details: {
      pages,
      errors: [error],
      tests: tests.slice(0, 1),
      sslCheck: { host: 'shop.example', certificate },
    },
    log,
    artifacts,
  },
  MULTI_STEP: {
    details: {
      apiCalls: [
        {
          steps: ['fill the cart', 'find a book'],
          request: {
            method: 'POST',
            url: 'https://shop.example/api',
            headers: { accept: 'application/json' },
            body: '{"search":"lamps"}',
          },
          response: {
            status: 200,
            statusText: 'OK',
            headers: { 'content-type': 'application/json' },
            body: '{"books":["A book"]}',
            bodyBytes: 20,
          },
          timingPhases: { wait: 1, dns: 2, tcp: 3, firstByte: 12, download: 2, total: 20 },
          durationMs: 20,
          assertions: [
            { title: 'is OK', passed: true },
            { title: 'has books', passed: false },
          ],
        },
        { request: { method: 'GET', url: 'https://shop.example/none' }, error: 'refused', durationMs: 2 },
      ],
    },
    log,
  },
  PLAYWRIGHT: {
    status: 'failed',
    details: { tests, totals: { tests: 3, passed: 1, flaky: 1, failed: 1 }, errors: [error] },
    log,
    artifacts,
  },
  AGENTIC: {
    details: {
      summary: 'The book was bought in four steps.',
      prompt: 'Buy a book as {{USER}}. The total must be 12.50.',
      replayed: true,
      assertions: [
        { condition: 'the total is 12.50', expected: '12.50', actual: '12.50', passed: true },
        { condition: 'the cart is empty', expected: '0 books', actual: '1 book', passed: false },
      ],
      suggestions: [
        {
          summary: 'Create the variable USER.',
          prompt: '{{USER}}',
          promptReplacement: 'the test user',
          secrets: ['USER'],
          category: 'credentials',
        },
      ],
      steps: [
        {
          type: 'tool_call',
          name: 'click',
          input: { selector: 'button', text: 'Buy' },
          output: null,
          timestamp: '2026-01-01T00:00:00Z',
          sequenceNumber: 1,
        },
        {
          type: 'tool_result',
          name: 'click',
          input: null,
          output: 'The book is in the cart.',
          timestamp: '2026-01-01T00:00:01Z',
          sequenceNumber: 2,
        },
      ],
      errors: ['the cart is not empty'],
    },
    log,
  },
  SSL: { status: 'degraded', timings: { dns: 3, connect: 10, tls: 12, total: 25 }, details: ssl },
  TRACEROUTE: {
    status: 'passed',
    timings: { dns: 2, remainder: 900, total: 902 },
    details: {
      request: { url: 'shop.example', protocol: 'TCP', port: 443, ipFamily: 'IPv4' },
      hostname: 'shop.example',
      resolvedIp: '192.0.2.9',
      ipFamily: 'IPv4',
      port: 443,
      protocol: 'TCP',
      maxHops: 30,
      totalHops: 3,
      destinationReached: true,
      truncationReason: 'destinationReached',
      finalHopLatency: { avg: 12.5, min: 11, max: 14, stdDev: 1.2 },
      packetLoss: 33.3,
      ipFallback: false,
      source: 'dns',
      way: 'tcp',
      requestError: null,
      traceroute: {
        way: 'tcp',
        address: '192.0.2.9',
        family: 4,
        port: 443,
        startedAt: '2026-03-01T12:00:00.000Z',
        durationMs: 900,
        reached: true,
        hops: [
          {
            hop: 1,
            address: '192.0.2.1',
            name: 'gate.example',
            others: ['192.0.2.2'],
            sent: 3,
            lossPercent: 0,
            lastMs: 1,
            avgMs: 1.1,
            bestMs: 1,
            worstMs: 1.3,
            stddevMs: 0.1,
            asn: 64_500,
            asOrganization: 'Example Net',
          },
          {
            hop: 2,
            address: null,
            sent: 3,
            lossPercent: 100,
            lastMs: null,
            avgMs: null,
            bestMs: null,
            worstMs: null,
            stddevMs: null,
          },
          {
            hop: 3,
            address: '192.0.2.9',
            sent: 3,
            lossPercent: 33.3,
            lastMs: 12,
            avgMs: 12.5,
            bestMs: 11,
            worstMs: 14,
            stddevMs: 1.2,
          },
        ],
      },
      routeChange: {
        previousResultId: '01890000-0000-7000-8000-000000000001',
        previousStartedAt: '2026-03-01T11:50:00.000Z',
        hops: [{ hop: 1, before: ['198.51.100.1'], after: ['192.0.2.1', '192.0.2.2'] }],
      },
    },
  },
  GRPC: {
    status: 'failed',
    timings: { dns: 1, connect: 3, tls: 5, firstByte: 8, download: 1, total: 18 },
    details: {
      request: {
        url: 'shop.example',
        port: 443,
        mode: 'BEHAVIOR',
        tls: true,
        method: 'shop.Shop/GetProduct',
        message: '{"name":"lamp"}',
        metadata: [{ key: 'x-shop', value: 'main' }],
      },
      grpcStatusCode: 5,
      healthStatus: null,
      timingPhases: { dns: 1, connect: 17, total: 18 },
      requestError: null,
      attempts: [{ address: '192.0.2.1', ms: 3 }],
      ipFallback: false,
      certificate,
      reflectionMs: 6,
      response: {
        grpcMode: 'BEHAVIOR',
        host: 'shop.example',
        resolvedIp: '192.0.2.1',
        port: 443,
        grpcMethod: 'shop.Shop/GetProduct',
        responseMessage: '{"name":"lamp","price":12}',
        responseTruncated: false,
        messages: 1,
        cancelled: false,
        grpcStatusCode: 5,
        grpcStatusName: 'NOT_FOUND',
        grpcStatusMessage: 'no such lamp',
        healthStatus: null,
        healthStatusLabel: null,
        metadata: [{ key: 'x-served-by', value: 'shop-1' }],
        trailers: [{ key: 'x-cost', value: '3' }],
        discoveredMethods: ['shop.Shop/GetProduct', 'grpc.health.v1.Health'],
        requestError: null,
        timingPhases: { dns: 1, connect: 17, total: 18 },
      },
    },
  },
  DNS: {
    timings: { dns: 1, firstByte: 4, total: 5 },
    details: {
      request: { recordType: 'A', query: 'shop.example' },
      nameServerInfo: { host: '192.0.2.53', port: 53 },
      response: {
        returnCode: 'NOERROR',
        text: 'shop.example. 300 IN A 192.0.2.1',
        answer: [{ data: '192.0.2.1' }],
      },
      tries: 1,
    },
  },
  TCP: {
    details: {
      request: { hostname: 'db.example', port: 5432, data: 'hello' },
      resolvedIp: '192.0.2.7',
      ipFamily: 'IPv4',
      attempts: [
        { address: '192.0.2.6', ms: 3, error: 'ECONNREFUSED' },
        { address: '192.0.2.7', ms: 4 },
      ],
      response: {
        data: Buffer.from([0x52, 0, 0, 0, 8, 0xff, 0, 3, ...Buffer.from('PostgreSQL says hello')]).toString(
          'base64',
        ),
        dataEncoding: 'base64',
        size: 29,
        truncated: false,
      },
    },
  },
  ICMP: {
    details: {
      hostname: 'gateway.example',
      resolvedIp: '192.0.2.9',
      packetsSent: 2,
      packetsReceived: 1,
      packetLoss: 50,
      latency: { min: 1, avg: 2, max: 3 },
      pingResults: [
        { sequence: 1, success: true, rtt: 1.5, ttl: 64 },
        { sequence: 2, success: false, rtt: null, ttl: null },
      ],
    },
  },
};
