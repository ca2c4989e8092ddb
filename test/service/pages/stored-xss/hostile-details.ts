import type { CheckType } from '../../../../src/protocol/check-types.ts';
import { hostileTexts, payload } from './hostile.ts';

/** Details of runs of every type, with each text that their pages show, and all of them hostile. */

const certificate = {
  subject: 'x',
  issuer: 'x',
  validFrom: 'x',
  validTo: 'x',
  altNames: ['x', 'x'],
  authorized: false,
  authorizationError: 'x',
  protocol: 'x',
  cipher: 'x',
  alpn: 'x',
  serial: 'x',
  fingerprint256: 'x',
  chain: [{ subject: 'x', issuer: 'x', validTo: 'x' }],
};
const attempts = [
  { address: 'x', ms: 1 },
  { address: 'x', ms: 2, error: 'x' },
];
const http = {
  request: { method: 'x', url: 'x', headers: { 'x-own': 'x' }, body: 'x' },
  requestError: 'x',
  response: {
    status: 200,
    statusText: 'x',
    httpVersion: 'x',
    href: 'x',
    headers: { [payload]: 'x', several: ['x', 'x'] },
    body: 'x',
  },
  hops: [
    { url: 'x', status: 301, timings: { dns: 1, total: 1 }, address: 'x' },
    { url: 'x', status: 200, timings: { dns: 1, total: 1 }, address: 'x' },
  ],
  addresses: attempts,
  certificate,
  clientCertificate: { host: 'x', subject: 'x', issuer: 'x', validTo: 'x', daysRemaining: 4 },
  traceroute: {
    address: 'x',
    port: 443,
    way: 'x',
    unavailable: 'x',
    hops: [{ hop: 1, address: 'x', name: 'x', error: 'x' }],
  },
  packetCapture: { summary: { [payload]: 'x' }, unavailable: 'x' },
};
const link = {
  subject: 'x',
  issuer: 'x',
  subjectCN: 'x',
  issuerCN: 'x',
  serialNumber: 'x',
  notBefore: 'x',
  notAfter: 'x',
  sans: ['x'],
  fingerprintSha256: 'x',
  signatureAlgorithm: 'x',
  keyAlgorithm: 'x',
  keySizeBits: 2048,
  curve: 'x',
  ocspUrls: ['x'],
  crlUrls: ['x'],
};
const step = { title: 'x', durationMs: 1, error: 'x', steps: [{ title: 'x', error: { message: 'x' } }] };
const test = { title: 'x', status: 'x', durationMs: 1, errors: ['x', { message: 'x' }], steps: [step] };

const shown = {
  http: { type: 'API', details: http },
  dns: {
    type: 'DNS',
    details: {
      request: { recordType: 'x', query: 'x', protocol: 'x' },
      nameServerInfo: { name: 'x', host: 'x' },
      response: { returnCode: 'x', text: 'x', answer: [{ [payload]: 'x' }] },
      servers: attempts,
      tls: { protocol: 'x', cipher: 'x', authorized: false, error: 'x' },
      httpVersion: 'x',
    },
  },
  tcp: {
    type: 'TCP',
    details: {
      request: { hostname: 'x', port: 'x', data: 'x' },
      resolvedIp: 'x',
      ipFamily: 'x',
      attempts,
      response: { error: { code: 'x', syscall: 'x' }, data: 'x' },
      traceroute: { unavailable: 'x' },
    },
  },
  icmp: {
    type: 'ICMP',
    details: { hostname: 'x', resolvedIp: 'x', pingResults: [{ sequence: 'x', ttl: 'x' }] },
  },
  ssl: {
    type: 'SSL',
    details: {
      request: { hostname: 'x', port: 443, serverName: 'x', startTls: 'x' },
      failureCategory: 'x',
      requestError: 'x',
      resolvedIp: 'x',
      tlsVersion: 'x',
      cipherSuite: 'x',
      attempts,
      response: {
        chainTrustDetail: 'x',
        chainTrustReason: 'x',
        missingIntermediate: 'x',
        earliestExpiry: { subjectCN: 'x', daysUntilExpiry: 3 },
        accepted: { versions: ['x'], weakCiphers: ['x'], incomplete: 'x' },
        ocspStatus: 'x',
        revocation: {
          source: 'x',
          answers: [
            {
              source: 'x',
              url: 'x',
              status: 'x',
              revokedAt: 'x',
              thisUpdate: 'x',
              nextUpdate: 'x',
              problem: 'x',
            },
          ],
        },
        securityBaseline: {
          verdict: 'x',
          grade: 'x',
          [payload]: { violated: true, severity: 'x', reason: 'x' },
        },
        chain: [link, link],
      },
    },
  },
  traceroute: {
    type: 'TRACEROUTE',
    details: {
      hostname: 'x',
      resolvedIp: 'x',
      protocol: 'x',
      port: 'x',
      totalHops: 'x',
      truncationReason: 'x',
      loop: ['x', 'x'],
      requestError: 'x',
      traceroute: {
        address: 'x',
        port: 'x',
        way: 'x',
        hops: [
          {
            hop: 'x',
            address: 'x',
            name: 'x',
            others: ['x'],
            asn: 'x',
            asOrganization: 'x',
            error: 'x',
            lossPercent: 'x',
          },
        ],
      },
      routeChange: {
        // Only the address of a link has it.
        previousResultId: 1,
        previousStartedAt: 'x',
        hops: [{ hop: 'x', before: ['x'], after: ['x'] }],
      },
    },
  },
  grpc: {
    type: 'GRPC',
    details: {
      request: { url: 'x', port: 'x', method: 'x', message: 'x', metadata: [{ key: 'x', value: 'x' }] },
      requestError: 'x',
      attempts,
      certificate,
      response: {
        grpcMethod: 'x',
        host: 'x',
        port: 'x',
        resolvedIp: 'x',
        responseMessage: 'x',
        messages: 2,
        grpcStatusName: 'x',
        grpcStatusMessage: 'x',
        healthStatusLabel: 'x',
        metadata: [{ key: 'x', value: 'x' }],
        trailers: [{ key: 'x', value: 'x' }],
        discoveredMethods: ['x', 'x'],
      },
    },
  },
  suite: {
    type: 'PLAYWRIGHT',
    details: {
      errors: ['x', { message: 'x' }],
      tests: [
        { ...test, titlePath: ['x', 'x'], project: 'x' },
        { ...test, retries: 1 },
      ],
      totals: { passed: 1 },
      playwrightVersion: 'x',
      engine: { name: 'x', version: 'x' },
      packageManager: { name: 'x', version: 'x' },
      dependencyCache: 'x',
      stages: [{ name: 'x', durationMs: 1 }],
    },
  },
  browser: {
    type: 'BROWSER',
    details: {
      errors: ['x', { message: 'x' }],
      pages: [
        {
          url: 'x',
          consoleErrors: ['x'],
          networkErrors: ['x'],
          webVitals: { [payload]: { score: 'x', value: 1 } },
        },
      ],
      sslCheck: { host: 'x', certificate },
    },
  },
  browserTests: { type: 'BROWSER', details: { tests: [test] } },
  calls: {
    type: 'MULTI_STEP',
    details: {
      apiCalls: [
        {
          steps: ['x', 'x'],
          request: { method: 'x', url: 'x', headers: { [payload]: 'x' }, body: 'x' },
          response: { status: 'x', statusText: 'x', headers: { [payload]: 'x' }, body: 'x', bodyBytes: 5 },
          timingPhases: { [payload]: 1, dns: 1, total: 2 },
          error: 'x',
          assertions: [{ title: 'x', passed: false, error: 'x' }],
          durationMs: 4,
        },
      ],
    },
  },
  agentic: {
    type: 'AGENTIC',
    details: {
      summary: 'x',
      prompt: 'x',
      assertions: [{ condition: 'x', expected: 'x', actual: 'x', passed: false }],
      suggestions: [{ summary: 'x', prompt: 'x', promptReplacement: 'x', secrets: ['x'], category: 'x' }],
      steps: [{ type: 'x', name: 'x', input: { [payload]: 'x' }, output: 'x', timestamp: 'x' }],
      errors: ['x'],
    },
  },
} satisfies { readonly [kind: string]: { type: CheckType; details: object } };

export type HostileRun = {
  readonly type: CheckType;
  readonly details: object;
  /** The path of each text by the mark that it begins with. */
  readonly marks: ReadonlyMap<string, string>;
};

export const hostileRuns: ReadonlyMap<string, HostileRun> = new Map(
  Object.entries(shown).map(([kind, { type, details }]) => {
    const marks = new Map<string, string>();
    return [kind, { type, details: hostileTexts(details, marks) as object, marks }] as const; // as given
  }),
);
