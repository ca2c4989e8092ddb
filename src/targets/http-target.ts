import { createServer as createHttpServer } from 'node:http';
import { createSecureServer } from 'node:http2';
import { httpRoutes } from './http-routes.ts';
import type { Certificate } from './certificates.ts';
import type { Exchange, Route, TargetRequest, TargetResponse } from './route.ts';
import { closer, listen } from './tcp-target.ts';

export type HttpTargetOptions = {
  host?: string;
  port?: number;
  /** If set, the server uses HTTPS: HTTP/2 and HTTP/1.1 by ALPN. */
  certificate?: Certificate;
  /** Routes by the path's first part ("ok" serves /ok and /ok/x), before the built-in ones. */
  routes?: { readonly [name: string]: Route };
};

export type HttpTarget = {
  port: number;
  /** Without a trailing slash. */
  url: string;
  /** Number of requests that have started so far. */
  requests: () => number;
  close: () => Promise<void>;
};

/** An HTTP or HTTPS server with the sample endpoints (http-routes.ts) and `options.routes`. */
export async function startHttpTarget(options: HttpTargetOptions = {}): Promise<HttpTarget> {
  const host = options.host ?? '127.0.0.1';
  const routes: { readonly [name: string]: Route | undefined } = { ...httpRoutes, ...options.routes };
  const counts = new Map<string, number>();
  let total = 0;

  const answer = (request: TargetRequest, response: TargetResponse): void => {
    total += 1;
    const url = new URL(request.url ?? '/', 'http://target');
    const [, name = '', argument = ''] = url.pathname.split('/');
    const key = url.pathname + url.search;
    const count = (counts.get(key) ?? 0) + 1;
    // Limited: a client that requests ever new paths resets the counts.
    if (counts.size >= 10_000) counts.clear();
    counts.set(key, count);
    request.on('error', () => response.destroy());
    response.on('error', () => undefined);
    const route = routes[name] ?? routes['status'];
    const exchange: Exchange = {
      request,
      response,
      url,
      argument: routes[name] === undefined ? '404' : argument,
      count,
      wait: (ms) => waitOrGone(response, ms),
    };
    Promise.resolve(route?.(exchange)).catch(() => response.destroy());
  };

  const server =
    options.certificate === undefined
      ? createHttpServer((request, response) => answer(request, response))
      : createSecureServer({ ...options.certificate, allowHTTP1: true }, (request, response) =>
          answer(request, response),
        );
  const close = closer(server);
  const port = await listen(server, { ...options, host });
  const scheme = options.certificate === undefined ? 'http' : 'https';
  return {
    port,
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    requests: () => total,
    close,
  };
}

function waitOrGone(response: TargetResponse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, ms);
    response.once('close', finish);
    function finish(): void {
      clearTimeout(timer);
      response.removeListener('close', finish);
      resolve();
    }
  });
}
