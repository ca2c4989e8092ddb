import { describe, expect, test } from 'vitest';
import { reasonCodes, reasonOf, type ReasonCode } from '../../../src/protocol/reasons.ts';
import { analyseByRules } from '../../../src/service/analyses/builtin.ts';
import type { Facts } from '../../../src/service/analyses/facts.ts';
import type { ShortResult } from '../../../src/service/analyses/result-statements.ts';

/** What the rules make of results, by table. */

const at = (minute: number) => new Date(Date.parse('2026-03-01T12:00:00Z') + minute * 60_000);

const short = (minute: number, rest: Partial<ShortResult> = {}): ShortResult => ({
  id: String(minute),
  status: 'passed',
  runLocation: 'harbour',
  responseTime: 100,
  startedAt: at(minute),
  message: null,
  code: null,
  timings: { dns: 5, connect: 10, firstByte: 60, total: 75 },
  ...rest,
});

function facts(code: ReasonCode, message: string, body: object = {}, rest: Partial<Facts> = {}): Facts {
  const reason = reasonOf(code, message);
  return {
    check: { name: 'Shop', checkType: 'URL', groupId: null, definition: {} },
    group: {
      id: 'group',
      accountId: 'account',
      checkId: 'check',
      errorHash: 'hash',
      rawErrorMessage: message,
      cleanedErrorMessage: message,
      firstSeen: at(10),
      lastSeen: at(12),
      lastResultId: 'result',
      archivedUntilNextEvent: false,
      archiveForEver: false,
    },
    latest: {
      id: 'result',
      checkId: 'check',
      sequenceId: 'sequence',
      jobId: null,
      leaseToken: null,
      checkType: 'URL',
      runLocation: 'harbour',
      resultType: 'FINAL',
      status: 'failed',
      hasFailures: true,
      hasErrors: false,
      isDegraded: false,
      overMaxResponseTime: false,
      isCancelled: false,
      responseTime: 100,
      attempts: 0,
      reason,
      totals: null,
      body: { assertions: [], timings: null, details: {}, artifacts: [], log: [], ...body },
      startedAt: at(12),
      stoppedAt: at(12),
      storedAt: at(12),
    },
    inGroup: [short(12, { status: 'failed', code, message }), short(11, { status: 'failed', code, message })],
    otherFailed: [],
    passed: [short(9), short(8), short(7)],
    userContext: '',
    ...rest,
  };
}

const status = (code: number) => ({
  details: { response: { status: code, statusText: '', href: 'https://shop.example/a?token=x' } },
});
const assertion = (source: string, actual: unknown) => ({
  assertions: [
    { source, property: '', comparison: 'EQUALS', target: '200', regex: null, actual, error: 'is not' },
  ],
});

test.each<[ReasonCode, object, string, RegExp]>([
  ['ENOTFOUND', {}, 'INFRASTRUCTURE_ERROR', /cannot be resolved/],
  ['ECONNREFUSED', {}, 'INFRASTRUCTURE_ERROR', /Nothing listens/],
  ['CERT_HAS_EXPIRED', {}, 'CONFIGURATION_ERROR', /has expired/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', {}, 'CONFIGURATION_ERROR', /does not contain the requested name/],
  ['TLS_BASELINE', {}, 'CONFIGURATION_ERROR', /security baseline/],
  ['GRPC_STATUS', {}, 'CONFIGURATION_ERROR', /status that means failure/],
  ['GRPC_HEALTH', {}, 'CONFIGURATION_ERROR', /does not serve/],
  ['DESTINATION_NOT_REACHED', {}, 'INFRASTRUCTURE_ERROR', /ends before it/],
  ['ROUTE_LOOP', {}, 'INFRASTRUCTURE_ERROR', /in a circle/],
  ['HTTP_STATUS', status(503), 'INFRASTRUCTURE_ERROR', /answers 503/],
  ['HTTP_STATUS', status(500), 'APPLICATION_ERROR', /\(500\)/],
  ['HTTP_STATUS', status(401), 'CONFIGURATION_ERROR', /credentials/],
  ['HTTP_STATUS', status(404), 'CONFIGURATION_ERROR', /does not exist/],
  ['HTTP_STATUS', status(429), 'CONFIGURATION_ERROR', /limits its request rate/],
  ['HTTP_STATUS', {}, 'APPLICATION_ERROR', /unexpected status/],
  ['ASSERTION_FAILED', assertion('STATUS_CODE', 502), 'INFRASTRUCTURE_ERROR', /answers 502/],
  ['ASSERTION_FAILED', assertion('RESPONSE_TIME', 2000), 'PERFORMANCE_ERROR', /more slowly/],
  [
    'ASSERTION_FAILED',
    assertion('JSON_BODY', 'closed'),
    'APPLICATION_ERROR',
    /JSON_BODY was closed, compared with 200/,
  ],
  [
    'TIMEOUT',
    { timings: { dns: 5, connect: 10, firstByte: 9000, total: 9015 } },
    'APPLICATION_ERROR',
    /accepts connections/,
  ],
  ['ETIMEDOUT', { timings: { dns: 5, total: 9000 } }, 'INFRASTRUCTURE_ERROR', /firewall/],
  ['TEST_FAILED', {}, 'APPLICATION_ERROR', /a value that it does not expect/],
  ['SCRIPT_THREW', {}, 'SCRIPT_ERROR', /script threw an error/],
  ['HEARTBEAT_MISSED', {}, 'APPLICATION_ERROR', /ping URL/],
  ['RUNTIME_UNAVAILABLE', {}, 'MONITORING_ERROR', /fault is with the agent/],
])('%s with %j: %s', (code, body, classification, cause) => {
  const analysis = analyseByRules(facts(code, 'it broke', body));
  expect(analysis.classification).toBe(classification);
  expect(analysis.rootCause).toMatch(cause);
  expect(analysis.rootCause).toContain('it broke');
});

test('every reason code has an analysis, and the same one each time', () => {
  for (const code of reasonCodes) {
    const analysis = analyseByRules(facts(code, 'it broke'));
    expect(analysis.userImpact).not.toBe('');
    if (
      code !== 'MARKED_DEGRADED' &&
      !/^(?:HTTP_HEADERS|HTTP_BODY|CERT_S|CERT_CHAIN|INVALID_PURPOSE|ERR_INVALID_IP|DNS_)/.test(code)
    ) {
      expect(analysis.classification, code).not.toBe('UNKNOWN');
    }
    expect(analyseByRules(facts(code, 'it broke'))).toEqual(analysis);
  }
});

describe('evidence', () => {
  const said = (given: Facts) =>
    analyseByRules(given)
      .evidence.map(({ description }) => description)
      .join('\n');

  test('the phase that grew', () => {
    const slow = { status: 'failed', timings: { dns: 5, connect: 10, firstByte: 2000, total: 2015 } };
    const given = facts('RESPONSE_TOO_SLOW', 'took 2 s', {}, { inGroup: [short(12, slow), short(11, slow)] });
    expect(said(given)).toContain('waiting for the first byte took 60 ms (median); now it takes 2000 ms');
    expect(analyseByRules(given).rootCause).toContain('the application takes longer');
  });

  test('one location, or all of them', () => {
    const elsewhere = short(11, { runLocation: 'hill' });
    const one = facts('ECONNREFUSED', 'x', {}, { passed: [elsewhere, short(9)] });
    expect(said(one)).toContain('It fails at harbour, while the check passes at hill.');
    expect(analyseByRules(one).rootCause).toContain('Only harbour sees it');
    const both = [short(12, { status: 'failed' }), short(11, { status: 'failed', runLocation: 'hill' })];
    expect(said(facts('ECONNREFUSED', 'x', {}, { inGroup: both }))).toContain('all locations');
  });

  test('assertions, the response without its query, the certificate', () => {
    const text = said(
      facts('ASSERTION_FAILED', 'x', {
        ...assertion('JSON_BODY', 'closed'),
        details: {
          ...status(200).details,
          certificate: { validTo: '2026-02-27T00:00:00Z', daysRemaining: -2 },
        },
      }),
    );
    expect(text).toContain('JSON_BODY should be EQUALS 200, but was closed.');
    expect(text).toContain('from https://shop.example/a.');
    expect(text).not.toContain('token');
    expect(text).toContain('expired 2 days ago');
  });

  test('the certificate that an SSL check has seen', () => {
    const certificate = { subjectCN: 'a.test', notAfter: '2026-02-27T00:00:00.000Z', daysUntilExpiry: -2 };
    const details = { daysUntilExpiry: -2, response: { certificate } };
    expect(said(facts('TLS_ERROR', 'x', { details }))).toContain(
      'The certificate expired 2 days ago (until 2026-02-27T00:00:00.000Z).',
    );
  });

  test('the traceroute to the target, and files by name and type', () => {
    const { evidence } = analyseByRules(
      facts('ETIMEDOUT', 'x', {
        details: {
          traceroute: { reached: false, hops: [{ ip: '10.0.0.1' }, { ip: '10.0.9.1' }, { ip: null }] },
          packetCapture: { packets: 12, retransmissions: 4 },
        },
        artifacts: [
          { name: 'run.pcap', type: 'pcap', size: 1, state: 'stored', url: null },
          { name: 'trace.zip', type: 'trace', size: 1, state: 'stored', url: null },
        ],
      }),
    );
    expect(evidence).toContainEqual({
      artifacts: [{ name: 'run.pcap', type: 'pcap' }],
      description:
        'On the path to the target, hop 2 (10.0.9.1) was the last hop that answered; none of the 1 beyond did.',
    });
    expect(evidence).toContainEqual({
      artifacts: [{ name: 'trace.zip', type: 'trace' }],
      description: 'The run left files that show more of it: trace.',
    });
  });

  const trace = (reached: boolean, ...addresses: (string | null)[]) => ({
    traceroute: {
      address: '192.0.2.9',
      family: 4,
      port: 443,
      way: 'tcp',
      startedAt: '2026-03-01T12:12:00Z',
      durationMs: 2000,
      reached,
      hops: addresses.map((address, index) => ({
        hop: index + 1,
        address,
        sent: 3,
        lossPercent: address === null ? 100 : 0,
      })),
    },
  });
  const capture = (counts: object, summary = '6 packets: 3 SYNs, none of them accepted') => ({
    packetCapture: {
      packets: 6,
      lost: 0,
      syn: 0,
      synAck: 0,
      resets: 0,
      dnsQueries: 0,
      dnsAnswers: 0,
      ...counts,
      summary,
      artifact: 'attempt.pcap',
    },
  });

  // As agents write them where the network failed a check.
  test.each<[string, ReasonCode, object, RegExp, string]>([
    [
      'the host is reached, its port is not',
      'ETIMEDOUT',
      { ...trace(true, '10.0.0.1', '192.0.2.9'), ...capture({ syn: 3 }) },
      /its port does not answer: a firewall drops/,
      'The traceroute to the target has 2 hops, ending at 192.0.2.9.',
    ],
    [
      'nothing comes back',
      'ETIMEDOUT',
      { ...trace(false, '10.0.0.1', null, null), ...capture({ syn: 3 }) },
      /gets no answer/,
      'Captured packets: 6 packets: 3 SYNs, none of them accepted.',
    ],
    [
      'the way ends',
      'EHOSTUNREACH',
      trace(false, '10.0.0.1', '10.0.9.1', null, null, null),
      /The path ends after 10\.0\.9\.1 \(hop 2\)/,
      'On the path to the target, hop 2 (10.0.9.1) was the last hop that answered; none of the 3 beyond did.',
    ],
    [
      'a router turns the probes back',
      'EHOSTUNREACH',
      {
        traceroute: {
          reached: false,
          hops: [{ hop: 1, address: '10.0.0.1', error: 'administratively prohibited' }],
        },
      },
      /A router on the path \(10\.0\.0\.1\) rejects the packets: administratively prohibited/,
      'On the path to the target, hop 1 (10.0.0.1) rejected the probes: administratively prohibited.',
    ],
    [
      'name servers are silent',
      'EAI_AGAIN',
      capture({ dnsQueries: 4 }, '4 packets: 4 DNS queries, no DNS answers'),
      /The name servers do not answer the agent/,
      'Captured packets: 4 packets: 4 DNS queries, no DNS answers.',
    ],
    [
      'nobody answers at all',
      'ETIMEDOUT',
      trace(false, null, null),
      /in time/,
      'None of the 2 hops to the target answered.',
    ],
    [
      'there is none',
      'ETIMEDOUT',
      { traceroute: { unavailable: 'no right' }, packetCapture: { unavailable: 'no right' } },
      /in time/,
      '',
    ],
  ])('%s', (_what, code, details, cause, sentence) => {
    const given = facts(code, 'x', { details });
    expect(analyseByRules(given).rootCause).toMatch(cause);
    expect(said(given)).toContain(sentence);
    expect(said(given)).not.toContain('no right');
  });

  test('details of any form do no harm', () => {
    for (const details of [
      null,
      [],
      'x',
      { response: 7, certificate: [], traceroute: [1, 'x', null], network: 3 },
    ]) {
      expect(() =>
        analyseByRules(facts('TIMEOUT', 'x', { details, assertions: 7, artifacts: {} })),
      ).not.toThrow();
    }
  });
});
