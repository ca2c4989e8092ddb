import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { enterPhase, type PhaseRecord } from './phases.ts';
import { finished, UndiciClient, withoutStacks } from './undici-client.ts';

/** One request as it is sent. */
export type WireRequest = {
  /** Scheme, host and port, from which Host (or :authority) is made. */
  origin: string;
  /** Path and query; for a plain http proxy the absolute URL. */
  path: string;
  method: string;
  /** Name, value, name, value … */
  headers: string[];
  body: Buffer | null;
};

export type ResponseHeaders = { [name: string]: string | string[] | undefined };

/** The response, filled in as it arrives, so that a failure keeps the received part. */
export type Received = {
  status: number;
  statusText: string;
  httpVersion: '1.1' | '2';
  /** Names in lower case. */
  headers: ResponseHeaders;
  /** The body's chunks as they were received; empty if they are not kept. */
  chunks: Buffer[];
  bytes: number;
  /** The rest of the body was not read. */
  cut: boolean;
};

/** How much of a response's body to read. */
export type Intake = {
  /** Number of received bytes after which reading stops. */
  limit: number;
  keep: boolean;
  /** Called with the head: false = the body is not needed, and the connection may close. */
  wantsBody: (received: Received) => boolean;
};

/** A TLS socket has the protocol that ALPN chose. */
type MaybeHttp2 = Socket & { alpnProtocol?: string | false | null };

const maxHeaderBytes = 65_536;

/** undici reports errors through these; nobody listens to a socket that is no longer used. */
const ignoreError = () => undefined;

/**
 * Sends `request` over a new connection, with HTTP/2 if ALPN chose it, and reads the answer into the object passed to
 * `onHead`. The socket is always destroyed at the end. Resolves when the body is complete, cut or not needed; rejects
 * with the library's or the socket's error, or `signal.reason`. The signal is the only time limit for headers and
 * body.
 */
export function exchange(
  socket: MaybeHttp2,
  request: WireRequest,
  io: { intake: Intake; record: PhaseRecord; signal: AbortSignal; onHead: (received: Received) => void },
): Promise<void> {
  const { intake, record, signal } = io;
  return new Promise((resolve, reject) => {
    let received: Received | null = null;
    let settled = false;
    let connected = false;
    const settle = (error: unknown) => {
      if (settled) return;
      settled = true;
      signal.removeEventListener('abort', onAbort);
      if (error === null) resolve();
      else reject(error);
      socket.destroy(finished);
    };
    const onAbort = () => settle(signal.reason);
    // undici never removes its own listeners, but adds them late.
    socket.on('error', ignoreError);

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStarted: () => {
        if (received === null && record.current === 'firstByte') enterPhase(record, 'download');
      },
      onResponseStart: (_controller, status, headers, statusText) => {
        // 1xx answers are received before the response (RFC 9110 section 15.2).
        if (status < 200 || settled) return;
        received = {
          status,
          statusText: statusText ?? '',
          httpVersion: socket.alpnProtocol === 'h2' ? '2' : '1.1',
          headers,
          chunks: [],
          bytes: 0,
          cut: false,
        };
        io.onHead(received);
        // These end after their head, whatever their Content-Length (RFC 9112 section 6.3); undici would wait for a
        // body.
        if (status === 204 || status === 304 || !intake.wantsBody(received)) settle(null);
      },
      onResponseData: (_controller, chunk) => {
        if (settled || received === null) return;
        const room = intake.limit - received.bytes;
        const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
        received.bytes += part.length;
        if (intake.keep) received.chunks.push(part);
        if (part.length === chunk.length) return;
        received.cut = true;
        settle(null);
      },
      onResponseEnd: () => {
        settle(null);
        withoutStacks();
      },
      onResponseError: (_controller, error) => settle(asProtocolError(error, socket)),
    };

    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    const client = new UndiciClient(request.origin, {
      // Asynchronous, because undici resumes a queue only if the connection arrives later. There is no second
      // connection.
      connect: (_options, callback) => {
        const first = !connected;
        connected = true;
        queueMicrotask(() => (first ? callback(null, socket) : callback(finished, null)));
      },
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      pingInterval: 0,
      maxHeaderSize: maxHeaderBytes,
    });
    enterPhase(record, 'firstByte');
    client.dispatch(
      {
        path: request.path,
        method: request.method,
        headers: request.headers,
        body: request.body,
        reset: true,
      },
      handler,
    );
  });
}

/**
 * undici has one code for a peer that closed the connection and, with HTTP/1.1, for one that sent unexpected data. An
 * HTTP/2 peer that closes may announce it first (GOAWAY).
 */
function asProtocolError(error: Error & { code?: unknown }, socket: MaybeHttp2): Error {
  if (error.code !== 'UND_ERR_SOCKET' || socket.readableEnded || socket.alpnProtocol === 'h2') return error;
  return Object.assign(new Error(`the answer is not valid HTTP: ${error.message}`), {
    code: 'HTTP_PROTOCOL_ERROR',
  });
}
