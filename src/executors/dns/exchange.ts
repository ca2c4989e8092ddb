import { isIP, isIPv6, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { DnsProtocol } from '../../protocol/requests.ts';
import { tlsError } from './errors.ts';
import type { DnsMessage, DnsQuery } from './message.ts';
import { exchangeStream } from './stream.ts';
import { enterPhase, type Trace } from './trace.ts';
import { exchangeUdp, type DnsServer } from './udp.ts';
import { connectTcp } from '../tcp/connect.ts';

/** Times after the first UDP query at which it is sent again. */
const resendAtMs = [1000, 3000, 7000, 15_000];

export type ExchangeTarget = {
  server: DnsServer;
  protocol: DnsProtocol;
  /** Name or address that the certificate must match. */
  host: string;
  path: string;
  skipSSL: boolean;
};

/**
 * Queries one server once, by the target's protocol; repeats a truncated UDP answer by TCP. Rejects with the
 * underlying error (see `exchangeReason`) or `signal.reason`; `trace` shows how far it got.
 */
export async function askServer(
  target: ExchangeTarget,
  query: DnsQuery,
  { trace, signal }: { trace: Trace; signal: AbortSignal },
): Promise<DnsMessage> {
  try {
    if (target.protocol === 'UDP') {
      enterPhase(trace, 'firstByte');
      const answer = await exchangeUdp(target.server, query, { signal, resendAtMs, progress: trace.udp });
      if (!answer.flags.tc) return answer;
      trace.truncatedRetry = true;
    }
    return await askByConnection(target, query, { trace, signal });
  } finally {
    enterPhase(trace, null);
  }
}

async function askByConnection(
  target: ExchangeTarget,
  query: DnsQuery,
  { trace, signal }: { trace: Trace; signal: AbortSignal },
): Promise<DnsMessage> {
  const { server, protocol } = target;
  enterPhase(trace, 'connect');
  const addresses = [
    { address: server.address, family: isIPv6(server.address) ? (6 as const) : (4 as const) },
  ];
  const socket = await connectTcp({ addresses, port: server.port }, { signal, attempts: [] });
  socket.on('error', () => {}); // nobody else listens after the exchange
  try {
    if (protocol === 'UDP' || protocol === 'TCP') return await converse(socket, query, { trace, signal });
    enterPhase(trace, 'tls');
    const secure = await handshake(socket, target, { trace, signal });
    if (protocol === 'DOT') return await converse(secure, query, { trace, signal });
    // undici is large, so it is loaded only where it is needed.
    const { askByHttps } = await import('./https.ts');
    const { host, path } = target;
    return await askByHttps(secure, { host, port: server.port, path, query }, { trace, signal });
  } finally {
    socket.destroy();
  }
}

async function converse(
  stream: Socket,
  query: DnsQuery,
  { trace, signal }: { trace: Trace; signal: AbortSignal },
): Promise<DnsMessage> {
  trace.streamTries += 1;
  enterPhase(trace, 'firstByte');
  const { answer, firstByteAt } = await exchangeStream(stream, query, signal);
  enterPhase(trace, null);
  const download = performance.now() - firstByteAt;
  trace.phases.firstByte = (trace.phases.firstByte ?? 0) - download;
  trace.phases.download = download;
  return answer;
}

/** Created once, because building a context costs more than the rest of a handshake. */
let sharedContext: SecureContext | null = null;

function handshake(
  socket: Socket,
  { host, protocol, skipSSL }: ExchangeTarget,
  { trace, signal }: { trace: Trace; signal: AbortSignal },
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const secure = connectTls({
      socket,
      host,
      // An address cannot be a server name (RFC 6066 section 3); the certificate is still checked against `host`.
      servername: isIP(host) === 0 ? host : '',
      // DoT servers need no ALPN, and some refuse a protocol name that they do not recognise.
      ...(protocol === 'DOH' ? { ALPNProtocols: ['h2', 'http/1.1'] } : {}),
      secureContext: (sharedContext ??= createSecureContext()),
      rejectUnauthorized: !skipSSL,
    });
    const onAbort = () => {
      secure.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const done = () => signal.removeEventListener('abort', onAbort);
    secure.once('secureConnect', () => {
      done();
      trace.tls = {
        protocol: secure.getProtocol(),
        cipher: secure.getCipher().name,
        authorized: secure.authorized,
        error: secure.authorized ? null : String(secure.authorizationError),
      };
      resolve(secure);
    });
    secure.on('error', (error: NodeJS.ErrnoException) => {
      done();
      reject(tlsError(error));
    });
    secure.once('close', () => {
      done();
      reject(
        tlsError(
          Object.assign(new Error('the server closed the connection during the TLS handshake'), {
            code: 'CONNECTION_CLOSED',
          }),
        ),
      );
    });
  });
}
