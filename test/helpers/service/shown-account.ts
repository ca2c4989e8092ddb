import { uuidv7 } from '../../../src/service/engine/ids.ts';
import type { Everything } from './one-of-everything.ts';
import type { TestService } from './service.ts';
import { storeRuns, type Run } from './stored-results.ts';

/** An account in which every part of every page has something to show: runs with all details, and agents. */

export type ShownAccount = {
  /** A run of each kind, by the type of its check. */
  readonly runs: { readonly [type: string]: string };
  /** The run that failed and names a reason. */
  readonly failed: string;
};

const certificate = {
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
const log = [
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

const kinds: { readonly [type: string]: Partial<Run> } = {
  URL: { timings, details: url },
  API: { timings, details: url, log },
  BROWSER: {
    status: 'failed',
    details: { pages, errors: [error], tests: tests.slice(0, 1) },
    log,
    artifacts,
  },
  MULTI_STEP: {
    details: {
      apiCalls: [
        {
          request: { method: 'GET', url: 'https://shop.example/api' },
          response: { status: 200 },
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
  AGENTIC: { details: { summary: 'The book was bought in four steps.' }, log },
  DNS: {
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
      response: { data: 'welcome' },
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

/** Adds the runs and the agents to an account that has one of everything. */
export async function showEverything(service: TestService, { ids }: Everything): Promise<ShownAccount> {
  const { db, account } = service;
  const now = service.now();
  const runs: { [type: string]: string } = {};
  let failed = '';
  for (const [checkType, kind] of Object.entries(kinds)) {
    const checkId = ids[`check/${checkType.toLowerCase().replace('_', '')}`] ?? '';
    const stored = await storeRuns(db, { accountId: account.id, checkId }, [
      { at: now - 30 * 60_000, checkType, responseTime: 300, status: 'failed', ...kind, log } as Run, // a type by its name
      { at: now - 20 * 60_000, checkType, responseTime: 90, resultType: 'ATTEMPT', ...kind } as Run,
      { at: now - 10 * 60_000, checkType, responseTime: 120, attempts: 1, ...kind } as Run,
    ]);
    if (checkType === 'URL') failed = stored[0] ?? '';
    runs[checkType] = stored[2] ?? '';
  }
  const host = { hostname: 'agent-1', platform: 'linux', arch: 'x64', cores: 4, memoryBytes: 8e9 };
  await db.query(
    `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, created_at, last_seen_at)
     values ($1, $2, 'agent-1', '1.2.3', $3::jsonb, '{URL,BROWSER}', '{}', '{"uptime": 4, "browser": 1}', $4, $4)`,
    [uuidv7(now), ids['privateLocation'], JSON.stringify(host), new Date(now)],
  );
  return { runs, failed };
}
