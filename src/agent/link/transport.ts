import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { ProxyConfig } from '../../config.ts';
import { ServiceError, toError } from '../../errors.ts';
import { trusting } from './authorities.ts';
import { destination, proxyFor } from './proxy-choice.ts';
import { proxyAuthorization, throughSocks, tunnelThrough } from './proxy-tunnel.ts';
import { isSocks } from './socks.ts';

/**
 * Bytes to and from the service over a few kept-alive connections, through a proxy if one is set. It uses node:http:
 * the agent makes few calls, and a small client keeps an idle agent small.
 */
export type Transport = {
  /** Posts JSON. Rejects with ServiceError SERVICE_UNREACHABLE, or with the signal's reason. */
  post: (path: string, body: Buffer | string, options: PostOptions) => Promise<Answer>;
  /** Makes a streamed call; rejects as `post` does. A stream body is sent once and destroyed at the end. */
  send: (call: StreamedCall) => Promise<Answer>;
  close: () => void;
};

export type PostOptions = {
  /** For the complete call, from connection to last byte. */
  timeoutMs: number;
  /** Maximum length of an answer that is read. */
  answerBytes: number;
  signal?: AbortSignal;
};

export type StreamedCall = {
  method: 'PUT' | 'HEAD' | 'GET' | 'POST';
  path: string;
  headers: OutgoingHttpHeaders;
  /** Null = none. */
  body: Readable | null;
  /** Maximum time without any progress. */
  idleMs: number;
  answerBytes: number;
  /** Receives the body of an answer as a stream; null = the body is collected, up to `answerBytes`. */
  receive?: (answer: Omit<Answer, 'body'>, body: Readable) => Promise<void> | null;
  signal: AbortSignal;
};

export type Answer = { status: number; headers: IncomingMessage['headers']; body: Buffer };

const maxConnectMs = 15_000;

/** Calls carry the key: NODE_TLS_REJECT_UNAUTHORIZED=0, which is for targets, does not apply to them. */
const verified = { rejectUnauthorized: true };

export type TransportOptions = {
  serviceUrl: URL;
  proxy: ProxyConfig;
  extraCaFile: string | null;
  headers: OutgoingHttpHeaders;
  /** Limit of each of the two steps through a proxy: its answer to CONNECT, and the TLS handshake inside. */
  connectTimeoutMs?: number;
};

/** How calls reach the service: the request function, its base options, and what precedes each path. */
type Route = {
  request: typeof http.request;
  base: RequestOptions & { hostname: string };
  headers: OutgoingHttpHeaders;
  pathPrefix: string;
};

/** Creates the transport. Throws FatalError (78) if the file of extra certificates cannot be read. */
export async function createTransport(options: TransportOptions): Promise<Transport> {
  const route = await openRoute(options);
  return {
    post: (path, body, call) => post(route, path, body, { ...call, retriesStale: true }),
    send: (call) => stream(route, call),
    close: () => {
      if (route.base.agent instanceof http.Agent) route.base.agent.destroy();
    },
  };
}

/** Chooses between a direct connection, a tunnel and a plain http proxy. */
async function openRoute(options: TransportOptions): Promise<Route> {
  const { serviceUrl } = options;
  const secure = serviceUrl.protocol === 'https:';
  const proxy = proxyFor(serviceUrl, options.proxy);
  const prefix = serviceUrl.pathname.replace(/\/+$/, '');
  const base: RequestOptions & { hostname: string } = { method: 'POST', ...destination(serviceUrl) };
  let headers: OutgoingHttpHeaders = { ...options.headers, host: serviceUrl.host };
  let request: typeof http.request = http.request;
  let absolute = '';
  const connectTimeoutMs = options.connectTimeoutMs ?? maxConnectMs;

  if (secure) {
    const https = await import('node:https');
    request = https.request;
    const trust = options.extraCaFile === null ? {} : { secureContext: await trusting(options.extraCaFile) };
    base.agent = new https.Agent({ keepAlive: true, ...verified, ...trust });
    if (proxy !== null) {
      const tls = await import('node:tls');
      const connectInside = (socket: Socket) =>
        tls.connect({
          socket,
          servername: isIP(base.hostname) === 0 ? base.hostname : '',
          ...verified,
          ...trust,
        });
      // The types do not include the callback of `createConnection` (documented under "agent.createConnection").
      Object.assign(base.agent, {
        createConnection: tunnelThrough({ proxy, target: serviceUrl, connectInside, connectTimeoutMs }),
      });
    }
  } else if (proxy === null || isSocks(proxy)) {
    base.agent = new http.Agent({ keepAlive: true });
    if (proxy !== null) {
      Object.assign(base.agent, {
        createConnection: throughSocks({ proxy, target: serviceUrl, connectTimeoutMs }),
      });
    }
  } else {
    const client = proxy.protocol === 'https:' ? await import('node:https') : http;
    request = client.request;
    base.agent = new client.Agent({ keepAlive: true, ...verified });
    const proxyAddress = destination(proxy);
    // TLS must verify the proxy's name; node:https would use the Host header, which names the service.
    Object.assign(base, proxyAddress, {
      servername: isIP(proxyAddress.hostname) === 0 ? proxyAddress.hostname : '',
    });
    headers = { ...headers, ...proxyAuthorization(proxy) };
    absolute = serviceUrl.origin;
  }
  return { request, base, headers, pathPrefix: absolute + prefix };
}

/** Posts JSON. With `retriesStale`, repeats a call once that failed because a kept-alive connection was closed. */
function post(
  route: Route,
  path: string,
  body: Buffer | string,
  call: PostOptions & { retriesStale: boolean },
): Promise<Answer> {
  return new Promise<Answer>((resolve, reject) => {
    if (call.signal?.aborted) return reject(toError(call.signal.reason));
    const request = route.request({
      ...route.base,
      path: route.pathPrefix + path,
      headers: {
        ...route.headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    let hasAnswer = false;
    // A request that still waits for its connection closes only when the connection is made or has failed.
    const cut = (error: Error) => {
      request.destroy(error);
      fail(error);
    };
    const timer = setTimeout(
      () => cut(new Error(`no complete answer within ${call.timeoutMs} ms`)),
      call.timeoutMs,
    );
    const abort = () => cut(toError(call.signal?.reason));
    call.signal?.addEventListener('abort', abort);
    const settle = () => {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', abort);
    };
    const fail = (error: NodeJS.ErrnoException) => {
      settle();
      if (call.signal?.aborted) return reject(toError(call.signal.reason));
      // The other side just closed a kept-alive connection, so the call never arrived.
      const stale =
        request.reusedSocket && !hasAnswer && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      if (stale && call.retriesStale)
        return resolve(post(route, path, body, { ...call, retriesStale: false }));
      return reject(unreachable(error));
    };
    request.on('error', fail);
    request.on('response', (response) => {
      hasAnswer = true;
      collect(response, call.answerBytes).then((received) => {
        settle();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received });
      }, fail);
    });
    request.end(body);
  });
}

/** Makes a streamed call. */
function stream(route: Route, call: StreamedCall): Promise<Answer> {
  return new Promise<Answer>((resolve, reject) => {
    if (call.signal.aborted) {
      call.body?.destroy();
      return reject(toError(call.signal.reason));
    }
    const request = route.request({
      ...route.base,
      method: call.method,
      path: route.pathPrefix + call.path,
      headers: { ...route.headers, ...call.headers },
    });
    const abort = () => {
      request.destroy(toError(call.signal.reason));
      fail(toError(call.signal.reason));
    };
    call.signal.addEventListener('abort', abort);
    const settle = () => {
      call.signal.removeEventListener('abort', abort);
      call.body?.destroy();
    };
    const fail = (error: NodeJS.ErrnoException) => {
      settle();
      reject(call.signal.aborted ? toError(call.signal.reason) : unreachable(error));
    };
    request.setTimeout(call.idleMs, () => request.destroy(new Error(`no progress for ${call.idleMs} ms`)));
    request.on('error', fail);
    request.on('response', (response) => {
      const answer = { status: response.statusCode ?? 0, headers: response.headers };
      const received = call.receive?.(answer, response)?.then(() => Buffer.alloc(0));
      (received ?? collect(response, call.answerBytes)).then((body) => {
        settle();
        // Answered before everything was sent: stop sending, and do not reuse the connection.
        if (!request.writableFinished) request.destroy();
        resolve({ ...answer, body });
      }, fail);
    });
    if (call.body === null) return request.end();
    call.body.on('error', (error) => request.destroy(error));
    call.body.pipe(request);
  });
}

function unreachable(error: NodeJS.ErrnoException): ServiceError {
  const message = error.message === '' ? (error.code ?? 'no connection') : error.message;
  return new ServiceError('SERVICE_UNREACHABLE', message, { retryable: true, cause: error });
}

function collect(response: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limit) response.destroy(new Error(`the answer is longer than ${limit} bytes`));
    });
    response.on('end', () => resolve(Buffer.concat(chunks, size)));
    response.on('error', reject);
    response.on('close', () => reject(new Error('the answer is incomplete')));
  });
}
