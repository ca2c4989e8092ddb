import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { toError } from '../errors.ts';
import type { ServicePool } from './service-pool.ts';

export type WireCall = {
  method: Dispatcher.HttpMethod;
  path: string;
  /** Name, value, name, value … */
  headers: readonly string[];
  body: Buffer | string | Readable | null;
  signal: AbortSignal;
  /** Hears whether the connection has carried a request before this one. */
  onStart: (isReused: boolean) => void;
  /** Hears of bytes that left or came. */
  onMoved: () => void;
};

/** The head of an answer, and its body as it comes. */
export type WireAnswer = { status: number; headers: IncomingHttpHeaders; body: Readable };

/**
 * Makes one call. Resolves with the head of the answer; rejects with the signal's reason, or with an error of undici or the socket.
 * After the head both of them destroy the body of the answer. Destroying that body ends the call.
 */
export function makeCall(pool: ServicePool, call: WireCall): Promise<WireAnswer> {
  const { signal } = call;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | null = null;
    let body: Readable | null = null;
    const over = (error: Error | null) => {
      signal.removeEventListener('abort', abort);
      if (error === null) return;
      reject(error);
      body?.destroy(error);
    };
    // While undici still connects there is no controller; the request is given up as soon as it starts.
    const abort = () => {
      const reason = toError(signal.reason);
      if (controller === null) over(reason);
      else controller.abort(reason);
    };
    if (signal.aborted) return reject(toError(signal.reason));
    signal.addEventListener('abort', abort);
    pool.dispatch(
      {
        method: call.method,
        path: pool.prefix + call.path,
        headers: [...pool.headers, ...call.headers],
        body: call.body instanceof Readable ? Readable.from(watched(call.body, call.onMoved)) : call.body,
        // undici would close the connection after HEAD.
        reset: false,
      },
      {
        onRequestStart: (started) => {
          controller = started;
          if (signal.aborted) return started.abort(toError(signal.reason));
          call.onStart(!pool.isOpening());
        },
        onResponseStart: (started, status, headers) => {
          if (status < 200) return;
          call.onMoved();
          body = answerBody(started);
          resolve({ status, headers, body });
        },
        onResponseData: (started, chunk) => {
          call.onMoved();
          if (body?.push(chunk) === false) started.pause();
        },
        onResponseEnd: () => {
          over(null);
          // undici hands the connection out again a turn later; a caller that goes on at once would open another one.
          queueMicrotask(() => setImmediate(() => body?.push(null)));
        },
        onResponseError: (_controller, error) => over(error),
      },
    );
  });
}

function answerBody(controller: Dispatcher.DispatchController): Readable {
  return new Readable({
    read: () => controller.resume(),
    destroy(error, done) {
      // Without effect when the answer is complete.
      controller.abort(error ?? new Error('the rest of the answer is not wanted'));
      done(error);
    },
  });
}

async function* watched(body: Readable, onMoved: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    onMoved();
    yield chunk as Buffer; // a body that is sent has no encoding
  }
}
