import { Http2ServerResponse } from 'node:http2';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Route, TargetResponse } from './route.ts';
import { shopPage } from './shop-page.ts';

/** Maximum wait and body size that a query may request. */
const maxWaitMs = 120_000;
const maxBytes = 64 * 1024 * 1024;
const chunk = Buffer.alloc(64 * 1024, 'sample ');

/** Product list of /json and the compressed endpoints: a document for JSONPath assertions. */
export const sampleDocument = {
  name: 'sample',
  healthy: true,
  version: '1.4.2',
  items: [
    { id: 1, name: 'anvil', price: 19.5, tags: ['iron', 'heavy'] },
    { id: 2, name: 'feather', price: 0.25, tags: ['light'] },
    { id: 3, name: 'lamp', price: 12, tags: [] },
  ],
};

/**
 * The sample endpoints, by the path's first part:
 * /ok · /slow?ms= · /flaky?every= (each third request fails) · /status/{code} · /json · /echo · /redirect/{n} · /gzip ·
 * /deflate · /br · /drip?bytes=&ms= · /large?bytes= · /shop (a page) · /never · /reset. Anything else is 404.
 */
export const httpRoutes: { readonly [name: string]: Route } = {
  '': ({ response }) => text(response, 200, 'sample target'),
  ok: ({ response }) => text(response, 200, 'ok'),
  slow: async ({ response, url, wait }) => {
    await wait(number(url, 'ms', 1000, maxWaitMs));
    text(response, 200, 'slow');
  },
  flaky: ({ response, url, count }) =>
    count % number(url, 'every', 3, 1_000_000) === 0
      ? text(response, 503, 'not this time')
      : text(response, 200, 'ok'),
  status: ({ response, argument }) => {
    const code = /^[2-5]\d\d$/.test(argument) ? Number(argument) : 404;
    text(response, code, `status ${code}`);
  },
  json: ({ response }) => json(response, sampleDocument),
  echo: async ({ request, response, url }) => {
    const body: Buffer[] = [];
    let size = 0;
    for await (const part of request) {
      const bytes = Buffer.from(part as Uint8Array); // no encoding is set, so parts are bytes
      size += bytes.length;
      if (size > maxBytes) return void response.destroy();
      body.push(bytes);
    }
    json(response, {
      method: request.method,
      path: url.pathname + url.search,
      query: Object.fromEntries(url.searchParams),
      httpVersion: request.httpVersion,
      headers: request.headers,
      body: Buffer.concat(body).toString('utf8'),
    });
  },
  redirect: ({ response, argument }) => {
    const left = Math.min(Number(argument) || 0, 1000);
    response.writeHead(302, { location: left > 1 ? `/redirect/${left - 1}` : '/ok' });
    response.end();
  },
  gzip: ({ response }) => compressed(response, 'gzip', gzipSync),
  deflate: ({ response }) => compressed(response, 'deflate', deflateSync),
  br: ({ response }) => compressed(response, 'br', brotliCompressSync),
  drip: async ({ response, url, wait }) => {
    const bytes = number(url, 'bytes', 10, 10_000);
    const ms = number(url, 'ms', 1000, maxWaitMs);
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': bytes });
    for (let sent = 0; sent < bytes && !response.destroyed; sent += 1) {
      write(response, Buffer.from('.'));
      await wait(ms / bytes);
    }
    response.end();
  },
  large: async ({ response, url }) => {
    let left = number(url, 'bytes', 1024 * 1024, maxBytes);
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': left });
    while (left > 0 && !response.destroyed) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      if (!write(response, part)) await drained(response);
    }
    response.end();
  },
  shop: ({ response, url }) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(shopPage(url.searchParams.has('broken')));
  },
  never: () => undefined,
  reset: ({ request }) => void request.socket.destroy(),
};

function text(response: TargetResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(status === 204 || status === 304 ? '' : `${body}\n`);
}

function json(response: TargetResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function compressed(response: TargetResponse, encoding: string, compress: (body: Buffer) => Buffer): void {
  const body = compress(Buffer.from(JSON.stringify(sampleDocument)));
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-encoding': encoding,
    'content-length': String(body.length),
  });
  response.end(body);
}

/** The two response classes declare `write` differently, so TypeScript cannot call their union. */
function write(response: TargetResponse, part: Buffer): boolean {
  return response instanceof Http2ServerResponse ? response.write(part) : response.write(part);
}

function drained(response: TargetResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.removeListener('drain', done);
      response.removeListener('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

function number(url: URL, name: string, fallback: number, max: number): number {
  const value = Number(url.searchParams.get(name) ?? fallback);
  return Number.isFinite(value) && value >= 0 ? Math.min(value, max) : fallback;
}
