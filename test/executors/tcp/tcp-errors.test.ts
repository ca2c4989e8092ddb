import { describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/errors.ts';
import { exchangeReason, tlsError } from '../../../src/executors/dns/errors.ts';
import { DnsMalformed } from '../../../src/executors/dns/message.ts';
import { ResolveError } from '../../../src/executors/interface/network.ts';
import { connectionReason } from '../../../src/executors/tcp/errors.ts';

const socketError = (code: string, fields: object = { syscall: 'connect', address: '192.0.2.1', port: 1 }) =>
  Object.assign(new Error(`connect ${code}`), { code, ...fields });

describe('connectionReason', () => {
  test.each([
    ['ECONNREFUSED', 'ECONNREFUSED'],
    ['EHOSTUNREACH', 'EHOSTUNREACH'],
    ['ENETDOWN', 'ENETUNREACH'],
    ['EPERM', 'EACCES'],
    ['EINVAL', 'EHOSTUNREACH'],
  ])("%s is the target's", (code, reason) => {
    expect(connectionReason(socketError(code))).toEqual({
      code: reason,
      owner: 'target',
      message: `connect ${code}`,
    });
  });

  test("a look-up's own code", () => {
    expect(connectionReason(new ResolveError('EAI_AGAIN', 'why'))).toEqual({
      code: 'EAI_AGAIN',
      owner: 'target',
      message: 'why',
    });
  });

  test('no IPv6 address to connect from is no route', () => {
    expect(connectionReason(socketError('EADDRNOTAVAIL', { address: '2001:db8::1' })).code).toBe(
      'ENETUNREACH',
    );
  });

  test.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'EADDRNOTAVAIL'])('%s is ours', (code) => {
    expect(() => connectionReason(socketError(code))).toThrow(
      expect.objectContaining({ name: 'AgentError', code: 'NETWORK_UNAVAILABLE' }),
    );
  });

  test.each([
    new TypeError('x is not a function'),
    new AgentError('DISK_FULL', 'full'),
    socketError('ERR_X', {}),
  ])('errors other than failed connections are thrown: %s', (error) => {
    expect(() => connectionReason(error)).toThrow(error);
    expect(() => exchangeReason(error)).toThrow(error);
  });
});

test.each([
  [new DnsMalformed('bad'), 'DNS_MALFORMED'],
  [socketError('UND_ERR_SOCKET', {}), 'CONNECTION_CLOSED'],
  [socketError('HPE_INVALID_CONSTANT', {}), 'HTTP_PROTOCOL_ERROR'],
  [socketError('ERR_HTTP2_STREAM_ERROR', {}), 'HTTP_PROTOCOL_ERROR'],
  [tlsError(socketError('CERT_HAS_EXPIRED', {})), 'CERT_HAS_EXPIRED'],
  [tlsError(socketError('CRL_HAS_EXPIRED', {})), 'CERT_REJECTED'],
  [tlsError(socketError('ERR_SSL_WRONG_VERSION_NUMBER', {})), 'TLS_ERROR'],
  [tlsError(socketError('EPROTO', { syscall: 'write' })), 'TLS_ERROR'],
  [tlsError(socketError('ECONNRESET', { syscall: 'read' })), 'ECONNRESET'],
])('exchangeReason of %s', (error, code) => {
  expect(exchangeReason(error).code).toBe(code);
});
