import { expect, test } from 'vitest';
import { resultLine, resultReport } from '../../../src/commands/run/report.ts';
import type { Result } from '../../../src/protocol/result.ts';
import { reasonOf } from '../../../src/protocol/reasons.ts';
import { show, startSslLab } from '../../helpers/network/ssl-lab.ts';

const passed: Result = {
  jobId: 'j',
  leaseToken: 't',
  attempt: 1,
  sequenceId: 's',
  checkId: 'c',
  checkType: 'URL',
  resultType: 'FINAL',
  status: 'passed',
  hasFailures: false,
  hasErrors: false,
  isDegraded: false,
  overMaxResponseTime: false,
  isCancelled: false,
  responseTime: 40,
  startedAt: '2026-05-06T07:08:09.000Z',
  stoppedAt: '2026-05-06T07:08:09.040Z',
  runLocation: 'local',
  attempts: 0,
  reason: null,
  assertions: [],
  timings: { dns: 10, connect: 10, firstByte: 20, total: 40 },
  details: {},
  artifacts: [],
  log: [],
};

test('a passed result: status, time, phases as bars', () => {
  expect(resultReport('page', [passed])).toBe(`PASSED  URL  page
40.0 ms at 2026-05-06T07:08:09.000Z

dns              10.0 ms  ████████
connect          10.0 ms          ███████
firstByte        20.0 ms                 ███████████████
total            40.0 ms
`);
});

test('a failed one after a retry: reason, assertions, addresses, certificate, log', () => {
  const failed: Result = {
    ...passed,
    status: 'failed',
    attempt: 2,
    responseTime: 123.4,
    reason: reasonOf('ASSERTION_FAILED', 'assertion 2 of 2 failed'),
    timings: null,
    assertions: [
      {
        source: 'STATUS_CODE',
        property: '',
        comparison: 'EQUALS',
        target: '200',
        regex: null,
        actual: 200,
        error: null,
      },
      {
        source: 'HEADERS',
        property: 'server',
        comparison: 'EQUALS',
        target: 'x',
        regex: '(\\w+)',
        actual: 'y\u001b[31m',
        error: 'is not equal',
      },
    ],
    details: {
      attempts: [
        { address: '::1', ms: 1, error: 'ECONNREFUSED' },
        { address: '127.0.0.1', ms: 1 },
      ],
      hops: [
        { status: 302, url: 'http://a.test/' },
        { status: 200, url: 'http://a.test/next' },
      ],
      response: { status: 200, statusText: 'OK' },
      certificate: {
        daysRemaining: 12,
        subject: 'CN=a.test',
        issuer: 'CN=ca',
        protocol: 'TLSv1.3',
        cipher: 'X',
      },
    },
    log: [{ time: 1, level: 'warn', msg: 'careful' }],
  };
  const before: Result = { ...passed, status: 'failed', reason: reasonOf('ECONNREFUSED', 'refused') };
  expect(resultReport('page', [before, failed])).toBe(`FAILED  URL  page
ASSERTION_FAILED (target): assertion 2 of 2 failed
123 ms at 2026-05-06T07:08:09.000Z, attempt 2 of 2 (before: ECONNREFUSED)

ok      STATUS_CODE EQUALS 200  actual 200
FAILED  HEADERS server /(\\w+)/ EQUALS x  actual "y\\u001b[31m": is not equal

addresses     ::1 ECONNREFUSED, 127.0.0.1 ok
hop           302 http://a.test/
hop           200 http://a.test/next
certificate   12 days left, CN=a.test, issued by CN=ca
              TLSv1.3, X
answer        200 OK

warn  careful
`);
});

test('terminal control sequences are removed', () => {
  const report = resultReport('x', [{ ...passed, reason: reasonOf('INTERNAL', 'a\u001b[2Jb\r\nc') }]);
  expect(report).toContain('INTERNAL (agent): a [2Jb c\n');
});

test('an expired certificate counts its days', () => {
  const details = { certificate: { daysRemaining: -10, subject: 'CN=a', issuer: 'CN=b' } };
  expect(resultReport('x', [{ ...passed, details }])).toContain('expired 10 days ago, CN=a, issued by CN=b');
});

test('a script check shows the certificate of sslCheckDomain, and a client certificate is not taken for it', () => {
  const certificate = { daysRemaining: 5, subject: 'CN=b', issuer: 'CN=c', protocol: 'TLSv1.3', cipher: 'X' };
  const details = { sslCheck: { host: 'b.test', certificate } };
  expect(resultReport('x', [{ ...passed, checkType: 'BROWSER', details }])).toContain(
    'certificate   5 days left, CN=b, issued by CN=c\n              TLSv1.3, X\n',
  );
  const own = {
    clientCertificate: { daysRemaining: 99, subject: 'CN=me', issuer: 'CN=mine' },
    certificate: null,
  };
  expect(resultReport('x', [{ ...passed, details: own }])).not.toContain('certificate ');
});

test('an SSL check shows the first certificate of its chain to expire', async () => {
  const lab = await startSslLab();
  try {
    const leaf = await lab.leaf({ name: 'good.test', to: 41 });
    const port = await lab.serve(show(leaf, lab.middle));
    const { details } = await lab.check(port);
    const report = resultReport('x', [{ ...passed, checkType: 'SSL', details }]);
    expect(report).toMatch(/certificate {3}4[01] days left, CN=good\.test, issued by CN=Middle\n/);
  } finally {
    await lab.close();
  }
});

test('a gRPC check shows what it called and got, without control characters', () => {
  const details = {
    reflectionMs: 2.04,
    response: {
      grpcMethod: 'shop.Shop/Get',
      grpcStatusName: 'NOT_FOUND',
      grpcStatusMessage: 'no \u001b[2J lamp',
      healthStatusLabel: null,
      responseMessage: '{"price":12}',
      messages: 2,
      metadata: [{ key: 'x-served-by', value: 'shop-1' }],
      trailers: [{ key: 'x-cost', value: '3' }],
    },
  };
  const report = resultReport('x', [{ ...passed, checkType: 'GRPC', details }]);
  expect(report).toContain(
    `method        shop.Shop/Get
status        NOT_FOUND: no  [2J lamp
message       {"price":12}
messages      2
reflection    2.0 ms
metadata      x-served-by: shop-1
trailer       x-cost: 3
`,
  );
});

test('pings are counted', () => {
  const details = {
    packetsSent: 3,
    packetsReceived: 2,
    packetLoss: 33.3,
    latency: { min: 1, avg: 2, max: 3, stdDev: 1 },
  };
  expect(resultReport('x', [{ ...passed, details }])).toContain(
    'packets       2 of 3 answered, 33.3 % lost, 1 / 2 / 3 ms (min, avg, max)',
  );
});

test('the traceroute and the packets of a network failure', () => {
  const times = { lastMs: 0.25, avgMs: 0.3, bestMs: 0.2, worstMs: 12.5, stddevMs: 0.1 };
  const silent = { lastMs: null, avgMs: null, bestMs: null, worstMs: null, stddevMs: null };
  const details = {
    traceroute: {
      way: 'tcp',
      address: '10.3.0.2',
      port: 443,
      reached: true,
      hops: [
        { hop: 1, address: '10.1.0.2', name: 'gateway.example', lossPercent: 0, ...times },
        { hop: 2, address: null, lossPercent: 100, ...silent },
        { hop: 3, address: '10.3.0.2', lossPercent: 33.3, ...times, error: 'host prohibited' },
      ],
    },
    packetCapture: { summary: '2 packets: 1 SYN, none of them accepted, 1 reset' },
  };
  expect(resultReport('x', [{ ...passed, details }])).toContain(`
traceroute    10.3.0.2 port 443 by TCP: reached over 3 hops
  hop  address                     loss     last      avg     best    worst   stddev
    1  10.1.0.2                      0%      0.3      0.3      0.2     12.5      0.1  gateway.example
    2  *                           100%        -        -        -        -        -
    3  10.3.0.2                     33%      0.3      0.3      0.2     12.5      0.1  host prohibited
packets       2 packets: 1 SYN, none of them accepted, 1 reset
`);
  const unavailable = { traceroute: { unavailable: 'no way' }, packetCapture: { unavailable: 'NET_RAW' } };
  expect(resultReport('x', [{ ...passed, details: unavailable }])).toContain(
    'traceroute    not available: no way\npackets       not captured: NET_RAW\n',
  );
});

test('one line of a list', () => {
  expect(resultLine({ ...passed, reason: reasonOf('TIMEOUT', 'late'), status: 'failed' }, 'page')).toBe(
    `failed    URL        ${'page'.padEnd(40)}    40.0 ms  TIMEOUT`,
  );
});
