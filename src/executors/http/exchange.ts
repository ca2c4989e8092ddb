import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { enterPhase, type PhaseRecord } from './phases.ts';
import { finished, UndiciClient, withoutStacks } from './undici-client.ts';

/** One request as it goes over the wire. */
export type WireRequest = {
  /** Scheme, host and port: what Host (or :authority) is made of. */
  origin: string;
  /** Path and query; through a plain http proxy the absolute URL. */
  path: string;
  method: string;
  /** Name, value, name, value … */
  headers: string[];
  body: Buffer | null;
};

export type ResponseHeaders = { [name: string]: string | string[] | undefined };

/** What came back, filled in as it comes, so that a failure keeps what was there. */
export type Received = {
  status: number;
  statusText: string;
  httpVersion: '1.1' | '2';
  /** Names in lower case. */
  headers: ResponseHeaders;
  /** The body's chunks as they came over the wire; empty when they are not kept. */
  chunks: Buffer[];
  bytes: number;
  /** The rest of the body was not read. */
  cut: boolean;
};

/** How much of a response's body to take. */
export type Intake = {
  /** Bytes on the wire after which reading stops. */
  limit: number;
  keep: boolean;
  /** Looks at the head: false = the body is of no interest, the connection can go. */
  wantsBody: (received: Received) => boolean;
};

/** A TLS socket knows which protocol ALPN has chosen. */
type MaybeHttp2 = Socket & { alpnProtocol?: string | false | null };

const maxHeaderBytes = 65_536;

/** undici reports errors through these; a socket that is done with has nobody left to tell. */
const ignoreError = () => undefined;

/**
 * Sends `request` over a fresh connection, HTTP/2 if ALPN has chosen it, and reads the answer into what `onHead` was
 * given. The socket is destroyed in the end, whatever happens. Resolves when the body is complete, cut or unwanted;
 * rejects with the library's or the socket's error, or `signal.reason`. Neither headers nor body have a time limit of
 * their own but the signal.
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
    // undici removes its own listeners never, but adds them late.
    socket.on('error', ignoreError);

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStarted: () => {
        if (received === null && record.current === 'firstByte') enterPhase(record, 'download');
      },
      onResponseStart: (_controller, status, headers, statusText) => {
        // 1xx answers come before the response (RFC 9110 section 15.2).
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
        // These end with their head, whatever length it tells (RFC 9112 section 6.3); undici would wait for that.
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
      onResponseError: (_controller, error) => settle(described(error, socket)),
    };

    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    const client = new UndiciClient(request.origin, {
      // Asynchronous, for undici resumes a queue only when the connection comes later. There is no second connection.
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
 * undici has one code for a peer that went away and, by HTTP/1.1, for one that said what nobody asked for. An HTTP/2 peer
 * that goes away may say so first (GOAWAY).
 */
function described(error: Error & { code?: unknown }, socket: MaybeHttp2): Error {
  if (error.code !== 'UND_ERR_SOCKET' || socket.readableEnded || socket.alpnProtocol === 'h2') return error;
  return Object.assign(new Error(`the answer breaks the rules of HTTP: ${error.message}`), {
    code: 'HTTP_PROTOCOL_ERROR',
  });
}
