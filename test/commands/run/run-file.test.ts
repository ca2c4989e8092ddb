import { expect, test } from 'vitest';
import { parseRunBody } from '../../../src/commands/run/file.ts';
import Schema from 'typebox/schema';
import { jobSchemas } from '../../../src/protocol/job.ts';

const now = Date.parse('2026-05-06T07:08:09.000Z');

function jobFrom(body: unknown) {
  const parsed = parseRunBody(body, now);
  if ('errors' in parsed) throw new Error(JSON.stringify(parsed.errors));
  return parsed.job;
}

function errorsOf(body: unknown) {
  const parsed = parseRunBody(body, now);
  return 'errors' in parsed ? parsed.errors : null;
}

test.each([
  { checkType: 'URL', request: { url: 'http://127.0.0.1/' } },
  {
    checkType: 'API',
    request: {
      url: 'http://127.0.0.1/',
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
    },
  },
  { checkType: 'TCP', request: { hostname: '127.0.0.1', port: 25 } },
  { checkType: 'DNS', request: { query: 'sample.test' } },
  { checkType: 'ICMP', request: { hostname: '127.0.0.1' } },
] as const)('the least $checkType file is a whole job', (body) => {
  const job = jobFrom(body);
  expect(Schema.Errors(jobSchemas[body.checkType], job)).toEqual([true, []]);
  expect(job).toMatchObject({
    checkType: body.checkType,
    checkName: `${body.checkType} check`,
    lane: 'uptime',
    runLocation: 'local',
    attempt: 1,
    dueAt: '2026-05-06T07:08:09.000Z',
    shouldFail: false,
    // doubleCheck is true by default: one retry at once.
    retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1 },
  });
});

test('fields of the file reach the job', () => {
  expect(
    jobFrom({
      checkType: 'TCP',
      name: 'mail',
      shouldFail: true,
      doubleCheck: false,
      degradedResponseTime: 10,
      maxResponseTime: null,
      privateLocations: ['elsewhere'],
      frequency: 5,
      environmentVariables: [{ key: 'TOKEN', value: 'abcdef', secret: true }],
      request: { url: '::1', port: 25, body: 'NOOP', ipFamily: 'IPv6' },
    }),
  ).toMatchObject({
    checkName: 'mail',
    shouldFail: true,
    retryStrategy: null,
    degradedResponseTime: 10,
    maxResponseTime: null,
    environmentVariables: [{ key: 'TOKEN', value: 'abcdef', secret: true, locked: false }],
    request: { hostname: '::1', port: 25, data: 'NOOP', ipFamily: 'IPv6', assertions: [] },
  });
  expect(
    jobFrom({
      checkType: 'ICMP',
      maxPacketLossThreshold: 50,
      retryStrategy: { type: 'LINEAR', sameRegion: false },
      request: { hostname: 'a.test' },
    }),
  ).toMatchObject({
    degradedPacketLossThreshold: 10,
    maxPacketLossThreshold: 50,
    retryStrategy: {
      type: 'LINEAR',
      baseBackoffSeconds: 60,
      maxRetries: 2,
      maxDurationSeconds: 600,
      sameRegion: true,
    },
  });
});

test('several mistakes are reported at once, each by its field', () => {
  expect(
    errorsOf({
      checkType: 'TCP',
      nmae: 'typo',
      description: 3,
      degradedResponseTime: 9000,
      request: {
        hostname: '127.0.0.1',
        port: 70_000,
        prot: 1,
        assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS' }],
      },
    }),
  ).toEqual({
    nmae: ['is not a known field'],
    description: ['must be a string or null'],
    degradedResponseTime: ['must be from 0 to 5000'],
    'request.prot': ['is not a known field'],
    'request.port': ['must be from 1 to 65535'],
    'request.assertions.0.source': ['must be one of RESPONSE_DATA, RESPONSE_TIME'],
  });
});

test('rules beyond the schema are reported too', () => {
  expect(
    errorsOf({
      checkType: 'URL',
      degradedResponseTime: 900,
      maxResponseTime: 500,
      request: { url: 'ftp://a' },
    }),
  ).toEqual({
    'request.url': ['must begin with http:// or https://'],
    degradedResponseTime: ['must not be above maxResponseTime (900 is above 500)'],
  });
  expect(errorsOf({ checkType: 'TCP', request: { port: 1 } })).toEqual({
    'request.hostname': ['is required'],
  });
  expect(errorsOf({ checkType: 'URL' })).toEqual({ request: ['is required'] });
});

test('a file without a known type names the types', () => {
  const types = 'must be one of URL, API, TCP, DNS, ICMP, SSL, GRPC, TRACEROUTE';
  expect(errorsOf({ checkType: 'HEARTBEAT' })).toEqual({ checkType: [types] });
  expect(errorsOf({})).toEqual({ checkType: [`is required: it ${types}`] });
  expect(errorsOf({ checkType: 'BROWSER', script: 'x' })).toEqual({
    checkType: ['is BROWSER: give run the path of the script file'],
  });
  expect(errorsOf([])).toEqual({ file: ['must hold one object: a create body plus checkType'] });
});
