import type { TLSSocket } from 'node:tls';
import { Client } from 'undici';
import { ExchangeError } from './errors.ts';
import { decodeAnswer, DnsMalformed, type DnsMessage, type DnsQuery } from './message.ts';
import { enterPhase, type Trace } from './trace.ts';
import { shortened } from '../../shortened.ts';

const mediaType = 'application/dns-message';
const maxHeaderBytes = 16 * 1024;
/** Maximum length of a DNS message, which its two-byte length field sets. */
const maxMessageBytes = 65_535;
/** Time for undici to deliver data that it had received when the connection closed. */
const afterCloseMs = 50;

/** `host`: the name or address of the server, for the certificate and the URL; `path`: the URL path for queries. */
type HttpsQuery = { host: string; port: number; path: string; query: DnsQuery };

/**
 * One query by HTTPS POST (RFC 8484) over an established TLS connection, by HTTP/2 if the server chose it. Redirects
 * are not followed. Rejects with ExchangeError (HTTP_STATUS), DnsMalformed, undici's errors or `signal.reason`.
 */
export async function askByHttps(
  socket: TLSSocket,
  { host, port, path, query }: HttpsQuery,
  { trace, signal }: { trace: Trace; signal: AbortSignal },
): Promise<DnsMessage> {
  const authority = host.includes(':') ? `[${host}]` : host;
  let connected = false;
  // undici would reconnect if the connection closed before the request was sent.
  const closedEarly = new ExchangeError(
    'CONNECTION_CLOSED',
    'the server closed the connection without an answer',
  );
  const client = new Client(`https://${authority}:${port}`, {
    // Deferred: with HTTP/1.1, undici resumes its queue only if the connection arrives after the request.
    connect: (_options, callback) => {
      const first = !connected;
      connected = true;
      queueMicrotask(() => (first ? callback(null, socket) : callback(closedEarly, null)));
    },
    pingInterval: 0,
    allowH2: true,
    pipelining: 1,
    // The signal limits the total time.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: maxHeaderBytes,
  });
  const interruption = interruptionOf(socket, signal, closedEarly);
  try {
    trace.streamTries += 1;
    trace.httpVersion = socket.alpnProtocol === 'h2' ? '2' : '1.1';
    return await Promise.race([post(client, { path, query }, { trace, signal }), interruption.promise]);
  } catch (error) {
    // undici sometimes wraps or replaces the reason.
    throw signal.aborted ? signal.reason : error;
  } finally {
    interruption.clear();
    // Rejects with the same error as the request.
    client.destroy().catch(() => {});
  }
}

async function post(
  client: Client,
  { path, query }: Pick<HttpsQuery, 'path' | 'query'>,
  { trace, signal }: { trace: Trace; signal: AbortSignal },
): Promise<DnsMessage> {
  enterPhase(trace, 'firstByte');
  const response = await client.request({
    path,
    method: 'POST',
    headers: { accept: mediaType, 'content-type': mediaType },
    body: query.bytes,
    signal,
  });
  enterPhase(trace, 'download');
  if (response.statusCode !== 200) {
    throw new ExchangeError('HTTP_STATUS', `the server answered with HTTP status ${response.statusCode}`);
  }
  const contentType = String(response.headers['content-type'] ?? 'nothing');
  if (contentType.split(';', 1)[0]?.trim().toLowerCase() !== mediaType) {
    throw new DnsMalformed(`the answer is ${shortened(contentType, 100)}, not ${mediaType}`);
  }
  const decoded = decodeAnswer(await messageOf(response.body), query);
  if ('mismatch' in decoded) throw new DnsMalformed(`the answer is ${decoded.mismatch}`);
  return decoded.answer;
}

/** The complete body. undici's own limit applies only to HTTP/1.1. */
async function messageOf(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxMessageBytes) throw new DnsMalformed(`the answer is longer than ${maxMessageBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Rejects when the signal fires, or shortly after the connection has closed. undici does neither while a request
 * waits for a connection that closed before undici got it.
 */
function interruptionOf(
  socket: TLSSocket,
  signal: AbortSignal,
  closed: Error,
): { promise: Promise<never>; clear: () => void } {
  let timer: NodeJS.Timeout | null = null;
  let onAbort = () => {};
  let onClose = () => {};
  const promise = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    onClose = () => {
      timer = setTimeout(() => reject(closed), afterCloseMs);
    };
  });
  promise.catch(() => {}); // it may reject after the race has ended
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once('close', onClose);
  if (signal.aborted) onAbort();
  else if (socket.destroyed) onClose();
  const clear = () => {
    if (timer !== null) clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    socket.off('close', onClose);
  };
  return { promise, clear };
}
