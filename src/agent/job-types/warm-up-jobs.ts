import type { Lane } from '../../protocol/check-types.ts';
import type { Job, JobOf } from '../../protocol/job.ts';

/** Jobs that warm up the executors, each against our own server on loopback (see warm-up.ts). */
export type WarmUp = {
  /** `http` also loads the TLS roots; `stream` answers the first bytes; `dns` has no records. */
  peer: 'http' | 'stream' | 'dns';
  job: (port: number) => Job;
};

export const warmUpUrl: WarmUp = {
  peer: 'http',
  job: (port) => ({ ...common, checkType: 'URL', request: pageAt(port) }),
};

export const warmUpApi: WarmUp = {
  peer: 'http',
  job: (port) => ({
    ...common,
    checkType: 'API',
    clientCertificates: [],
    request: {
      ...pageAt(port),
      body: '',
      bodyType: 'NONE',
      headers: [],
      queryParameters: [],
      basicAuth: null,
    },
  }),
};

export const warmUpTcp: WarmUp = {
  peer: 'stream',
  job: (port) => ({
    ...common,
    checkType: 'TCP',
    request: { hostname: 'localhost', port, data: 'warm', ipFamily: 'IPv4', assertions: [] },
  }),
};

export const warmUpDns: WarmUp = {
  peer: 'dns',
  job: (port) => ({
    ...common,
    checkType: 'DNS',
    request: {
      query: 'warm.invalid',
      recordType: 'A',
      nameServer: '127.0.0.1',
      port,
      protocol: 'UDP',
      skipSSL: false,
      assertions: [],
    },
  }),
};

function pageAt(port: number): JobOf<'URL'>['request'] {
  return {
    method: 'GET',
    url: `http://localhost:${port}/`,
    followRedirects: true,
    skipSSL: false,
    ipFamily: 'IPv4',
    assertions: [],
  };
}

const nobody = '00000000-0000-0000-0000-000000000000';
const lane: Lane = 'uptime';
const common = {
  jobId: nobody,
  runId: nobody,
  sequenceId: nobody,
  checkId: nobody,
  checkName: 'warm-up',
  lane,
  runLocation: 'here',
  runSource: 'SCHEDULER',
  dueAt: '1970-01-01T00:00:00.000Z',
  attempt: 1,
  firstAttemptAt: null,
  leaseToken: nobody,
  leaseExpiresAt: '1970-01-01T00:00:00.000Z',
  deadline: '1970-01-01T00:00:00.000Z',
  shouldFail: false,
  degradedResponseTime: null,
  maxResponseTime: null,
  retryStrategy: null,
  environmentVariables: [],
  proxyUrl: null,
};
