import { toError } from '../../errors.ts';
import { reasonOf, reasonOwner, type Reason, type ReasonCode } from '../../protocol/reasons.ts';
import { DnsMalformed } from './message.ts';
import { connectionReason } from '../tcp/errors.ts';

/** An exchange that failed because of the protocol around the DNS message. */
export class ExchangeError extends Error {
  readonly code: ReasonCode;
  constructor(code: ReasonCode, message: string) {
    super(message);
    this.name = 'ExchangeError';
    this.code = code;
  }
}

/** Codes of undici and node:http2 with their own reason; their other codes become HTTP_PROTOCOL_ERROR. */
const httpCodes: { readonly [code: string]: ReasonCode } = {
  UND_ERR_SOCKET: 'CONNECTION_CLOSED',
  // A closing HTTP/2 connection.
  UND_ERR_INFO: 'CONNECTION_CLOSED',
  UND_ERR_HEADERS_OVERFLOW: 'HTTP_HEADERS_TOO_LARGE',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'HTTP_BODY_INCOMPLETE',
  HPE_HEADER_OVERFLOW: 'HTTP_HEADERS_TOO_LARGE',
};

/** An error of a TLS handshake with a code that is a reason. Socket errors are returned unchanged. */
export function tlsError(error: NodeJS.ErrnoException & { reason?: string }): Error {
  // OpenSSL's own message contains addresses and build paths.
  const { code = '', message, reason = message, syscall } = error;
  if (Object.hasOwn(reasonOwner, code) || (syscall !== undefined && code !== 'EPROTO')) return error;
  // OpenSSL's verification codes are words; Node's own begin with ERR_.
  const isVerification = /^[A-Z_]+$/.test(code) && !code.startsWith('E');
  return isVerification
    ? new ExchangeError('CERT_REJECTED', `${message} (${code})`)
    : new ExchangeError('TLS_ERROR', reason);
}

/** Reason of a failed exchange. Throws AgentError if this host is at fault. */
export function exchangeReason(thrown: unknown): Reason {
  const error = toError(thrown) as NodeJS.ErrnoException; // net, tls, http2 and undici errors have a code
  if (error instanceof DnsMalformed) return reasonOf('DNS_MALFORMED', error.message);
  if (error instanceof ExchangeError) return reasonOf(error.code, error.message);
  const { code = '' } = error;
  if (/^(UND_|HPE_|ERR_HTTP2_)/.test(code)) {
    return reasonOf(httpCodes[code] ?? 'HTTP_PROTOCOL_ERROR', error.message);
  }
  return connectionReason(error);
}
