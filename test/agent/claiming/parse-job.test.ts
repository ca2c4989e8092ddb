import { describe, expect, test } from 'vitest';
import { parseJob } from '../../../src/agent/claiming/parse-job.ts';
import { retryStrategy, tcpJob } from '../link/protocol-peer.ts';

test('a job is itself, unknown fields included', () => {
  const job = tcpJob(80, { retryStrategy: retryStrategy(), aFieldOfTomorrow: { x: 1 } });
  expect(parseJob(job)).toEqual({ job });
});

test('fields that have a default may be missing', () => {
  const { runSource: _runSource, ...job } = tcpJob(80);
  const parsed = parseJob(job);
  expect(parsed.job).toMatchObject({ jobId: job.jobId, runSource: 'SCHEDULER' });
  expect(job).not.toHaveProperty('runSource');
});

describe('a malformed job is rejected with the field name', () => {
  test.each([
    [{ request: { port: 70_000 } }, /request\.port must be <= 65535/],
    [{ request: { port: '80' } }, /request\.port must be integer/],
    [{ deadline: 'tomorrow' }, /deadline must match/],
    [{ deadline: '2026-13-01T00:00:00Z' }, /deadline must match/],
    [{ retryStrategy: { type: 'SOMETIMES' } }, /retryStrategy/],
    [{ environmentVariables: 'none' }, /environmentVariables must be array/],
  ])('%j', (more, message) => {
    const job = tcpJob(80, more);
    const parsed = parseJob(job);
    expect(parsed).toMatchObject({
      job: null,
      envelope: { jobId: job.jobId },
      error: { code: 'INVALID_JOB' },
    });
    expect(parsed.job === null && parsed.error.message).toMatch(message);
  });
});

test.each(['BROWSER', 'NO_SUCH_TYPE', 'toString', '__proto__'])(
  'type %s is answered with the available types',
  (checkType) => {
    const job = tcpJob(80, { checkType });
    expect(parseJob(job, ['URL', 'TCP'])).toMatchObject({
      job: null,
      envelope: { jobId: job.jobId },
      error: {
        code: 'TYPE_UNAVAILABLE',
        message: `this agent cannot run checks of type "${checkType}"; it runs URL, TCP`,
      },
    });
  },
);

test('a type that this agent has not is unavailable even if the protocol knows it', () => {
  expect(parseJob(tcpJob(80), ['URL'])).toMatchObject({ job: null, error: { code: 'TYPE_UNAVAILABLE' } });
});

test.each([
  ['null', null],
  ['a number', 7],
  ['a text', 'job'],
  ['a list', []],
  ['an empty object', {}],
  ['no token', { jobId: tcpJob(1).jobId, attempt: 1, checkType: 'TCP' }],
  ['ids that are none', { jobId: '../..', leaseToken: 'x', attempt: 1, checkType: 'TCP' }],
])('%s cannot be answered', (_name, raw) => {
  expect(parseJob(raw)).toMatchObject({ job: null, envelope: null, error: { code: 'INVALID_JOB' } });
});
