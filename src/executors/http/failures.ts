import { AgentError } from '../../errors.ts';
import { reasonOf, reasonOwner, type Reason, type ReasonCode } from '../../protocol/reasons.ts';
import { ResolveError } from '../interface/network.ts';

/** A failed request, classified where the failure was detected. request.ts catches it and turns it into a value. */
export class HttpFailure extends Error {
  readonly code: ReasonCode;
  constructor(code: ReasonCode, message: string) {
    super(message);
    this.name = 'HttpFailure';
    this.code = code;
  }
}

/** How far the hop had got, for errors whose meaning depends on it. */
export type Progress = {
  /** "127.0.0.1:8080", or the host's name before an address is known. */
  peer: string;
  secure: boolean;
  /** The response's head had been read. */
  headers: boolean;
};

/** Errors for which the HTTP library and node:tls use their own names. */
const libraryCodes: { readonly [code: string]: ReasonCode | undefined } = {
  UND_ERR_HEADERS_OVERFLOW: 'HTTP_HEADERS_TOO_LARGE',
  HPE_HEADER_OVERFLOW: 'HTTP_HEADERS_TOO_LARGE',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'HTTP_BODY_INCOMPLETE',
  HPE_INVALID_EOF_STATE: 'HTTP_BODY_INCOMPLETE',
  HPE_CLOSED_CONNECTION: 'HTTP_PROTOCOL_ERROR',
  UND_ERR_INVALID_ARG: 'INVALID_REQUEST',
  UND_ERR_NOT_SUPPORTED: 'INVALID_REQUEST',
  EPROTO: 'TLS_ERROR',
};

/** Resource shortages of this machine, which are never the target's fault. */
const resourceShortages = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

/** The reason code of an errno or TLS code that the closed list contains under the platform's name. */
export function platformCode(code: string): ReasonCode | null {
  return Object.hasOwn(reasonOwner, code) ? (code as ReasonCode) : null; // hasOwn has confirmed it
}

/**
 * The reason for an error of a hop. Throws AgentError for resource shortages of this machine (no file descriptors, no
 * ports, no memory).
 */
export function reasonOfError(error: Error & { code?: unknown }, progress: Progress): Reason {
  const code = typeof error.code === 'string' ? error.code : '';
  if (error instanceof HttpFailure) return reasonOf(error.code, error.message);
  if (error instanceof ResolveError) return reasonOf(error.code, error.message);
  if (resourceShortages.has(code)) {
    throw new AgentError('NETWORK_UNAVAILABLE', `this machine cannot open the connection: ${error.message}`, {
      cause: error,
    });
  }
  const reasonCode = codeOf(error, code, progress);
  return reasonOf(reasonCode, `${progress.peer}: ${sentenceOf(reasonCode, error)}`);
}

function codeOf(error: Error, code: string, progress: Progress): ReasonCode {
  const known = platformCode(code) ?? libraryCodes[code];
  if (known !== undefined && known !== null) {
    if (known !== 'HTTP_BODY_INCOMPLETE' || progress.headers) return known;
    // Several different lengths are detected before the headers end.
    return code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' ? 'HTTP_PROTOCOL_ERROR' : 'CONNECTION_CLOSED';
  }
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code.startsWith('ERR_OSSL_'))
    return 'TLS_ERROR';
  if (code === 'UND_ERR_SOCKET' || code === 'UND_ERR_INFO') {
    return progress.headers ? 'HTTP_BODY_INCOMPLETE' : 'CONNECTION_CLOSED';
  }
  return error.name === 'HTTPParserError' ||
    code.startsWith('ERR_HTTP2_') ||
    progress.headers ||
    !progress.secure
    ? 'HTTP_PROTOCOL_ERROR'
    : 'TLS_ERROR';
}

function sentenceOf(code: ReasonCode, error: Error): string {
  switch (code) {
    case 'CONNECTION_CLOSED':
      return 'the connection was closed before a response was received';
    case 'HTTP_BODY_INCOMPLETE':
      return 'the connection was closed before the complete body was received';
    case 'HTTP_HEADERS_TOO_LARGE':
      return "the response's headers are larger than 64 KiB";
    case 'TLS_ERROR':
      // OpenSSL's own message contains addresses and build paths.
      return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
    default:
      // undici fails on a status below 100.
      return error.name === 'AssertionError'
        ? 'the status of the answer is not valid in HTTP'
        : error.message;
  }
}
