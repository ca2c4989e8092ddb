import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { ProxyConfig } from '../../config.ts';
import { ServiceError, toError } from '../../errors.ts';
import { makeCall } from '../service-call.ts';
import { openServicePool } from '../service-pool.ts';

/** Bytes to and from the service over a few kept-alive connections, through the proxy where there is one. */
export type Transport = {
  /** Posts JSON. Rejects with ServiceError SERVICE_UNREACHABLE, or with the signal's reason. */
  post: (path: string, body: Buffer | string, options: PostOptions) => Promise<Answer>;
  /** Makes a call of another kind; rejects as `post` does. A body that is a stream is sent once, and destroyed at the end. */
  send: (call: StreamedCall) => Promise<Answer>;
  close: () => void;
};

export type PostOptions = {
  /** For the whole call, connection to last byte. */
  timeoutMs: number;
  /** Longest answer that is read. */
  answerBytes: number;
  signal?: AbortSignal;
};

export type StreamedCall = {
  method: 'PUT' | 'HEAD' | 'GET' | 'POST';
  path: string;
  headers: OutgoingHttpHeaders;
  /** Null = none. Nobody else may read it: bytes that flow before the connection is there would be lost. */
  body: Readable | null;
  /** Hears of each part of the body on its way, and of each part of the answer. */
  onProgress?: () => void;
  /** Longest time in which nothing moves. */
  idleMs: number;
  answerBytes: number;
  /** Takes the body of an answer as it comes; null = it is collected, at most `answerBytes` of it. */
  receive?: (answer: Omit<Answer, 'body'>, body: Readable) => Promise<void> | null;
  signal: AbortSignal;
};

export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

const longestConnectMs = 15_000;

/** Makes the transport. Throws FatalError (78) when the file of extra certificates cannot be read. */
export async function createTransport(options: {
  serviceUrl: URL;
  proxy: ProxyConfig;
  extraCaFile: string | null;
  headers: OutgoingHttpHeaders;
  /** For each step of a connection: to the proxy or the service, the proxy's answer to CONNECT, and the handshake inside. */
  connectTimeoutMs?: number;
}): Promise<Transport> {
  const pool = await openServicePool({
    ...options,
    connectTimeoutMs: options.connectTimeoutMs ?? longestConnectMs,
  });
  const base = options.serviceUrl.pathname.replace(/\/+$/, '');
  const own = listed(options.headers);

  const attempt = async (
    path: string,
    body: Buffer | string,
    post: PostOptions,
    again: boolean,
  ): Promise<Answer> => {
    const limit = limitOf(post.timeoutMs, `no complete answer within ${post.timeoutMs} ms`, post.signal);
    let isReused = false;
    let answered = false;
    try {
      const answer = await makeCall(pool, {
        method: 'POST',
        path: base + path,
        headers: [...own, 'content-type', 'application/json'],
        body,
        signal: limit.signal,
        onStart: (reused) => (isReused = reused),
        onMoved: () => (answered = true),
      });
      return { ...answer, body: await collect(answer.body, post.answerBytes) };
    } catch (error) {
      if (post.signal?.aborted) throw toError(post.signal.reason);
      // A kept-alive connection that the other side closed just now: the call never arrived.
      if (again && isReused && !answered && isLost(error)) return await attempt(path, body, post, false);
      throw unreachable(toError(error));
    } finally {
      limit.end();
    }
  };

  const send = async (call: StreamedCall): Promise<Answer> => {
    const limit = limitOf(call.idleMs, `nothing moved for ${call.idleMs} ms`, call.signal);
    let rest: Readable | null = null;
    try {
      const { body, ...head } = await makeCall(pool, {
        method: call.method,
        path: base + call.path,
        headers: [...own, ...listed(call.headers)],
        body: call.body,
        signal: limit.signal,
        onStart: limit.extend,
        onMoved: () => {
          limit.extend();
          call.onProgress?.();
        },
      });
      rest = body;
      const received = call.receive?.(head, body)?.then(() => Buffer.alloc(0));
      return { ...head, body: await (received ?? collect(body, call.answerBytes)) };
    } catch (error) {
      throw call.signal.aborted ? toError(call.signal.reason) : unreachable(toError(error));
    } finally {
      limit.end();
      call.body?.destroy();
      rest?.destroy();
    }
  };

  return { post: (path, body, post) => attempt(path, body, post, true), send, close: pool.close };
}

/** A signal that fires with `outer`, or `ms` after the last call of `extend`. `end` must be called. */
function limitOf(ms: number, message: string, outer: AbortSignal | undefined) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(message)), ms);
  const abort = () => controller.abort(toError(outer?.reason));
  if (outer?.aborted) abort();
  outer?.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    extend: () => void timer.refresh(),
    end: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', abort);
    },
  };
}

function listed(headers: OutgoingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [name, String(value)],
  );
}

function isLost(error: unknown): boolean {
  const { code } = toError(error) as NodeJS.ErrnoException; // the errors of sockets and of undici have a code
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
}

function unreachable(error: NodeJS.ErrnoException): ServiceError {
  const message = error.message === '' ? (error.code ?? 'no connection') : error.message;
  return new ServiceError('SERVICE_UNREACHABLE', message, { retryable: true, cause: error });
}

async function collect(body: Readable, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk as Buffer); // an answer's body has no encoding
    size += (chunk as Buffer).length;
    if (size > limit) throw new Error(`the answer is longer than ${limit} bytes`);
  }
  return Buffer.concat(chunks, size);
}
