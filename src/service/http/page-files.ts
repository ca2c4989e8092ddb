import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { FastifyInstance, preHandlerAsyncHookHandler } from 'fastify';

/**
 * Next to the compiled sources, or in build/ of the checkout for sources that run uncompiled; see
 * scripts/build-pages.mjs.
 */
const folders = ['../pages/browser/', '../../../build/pages/'].map((path) => new URL(path, import.meta.url));

type PageFile = 'app.js' | 'page.html' | 'status.css' | 'style.css';

/** The text of a file that scripts/build-pages.mjs has built. Throws if the files are not built. */
function pageFile(name: PageFile): string {
  // The source folder contains files of the same names, but no app.js.
  const folder = folders.find((candidate) => existsSync(new URL('app.js', candidate)));
  if (folder === undefined)
    throw new Error('the package is incomplete: the pages are not built; run `npm run build`');
  return readFileSync(new URL(name, folder), 'utf8');
}

const types = { css: 'text/css', html: 'text/html', js: 'text/javascript' } as const;

/**
 * Serves a built file at `path` with these headers and an ETag. A browser that has the file gets 304. `preHandler` may
 * answer instead.
 */
export function servePageFile(
  app: FastifyInstance,
  {
    path,
    name,
    headers,
    preHandler = [],
  }: {
    path: string;
    name: PageFile;
    headers: { readonly [name: string]: string };
    preHandler?: preHandlerAsyncHookHandler | [];
  },
): void {
  const content = pageFile(name);
  const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  const type = `${types[name.endsWith('.js') ? 'js' : name.endsWith('.css') ? 'css' : 'html']}; charset=utf-8`;
  app.get(path, { schema: { hide: true }, preHandler }, async (request, reply) => {
    void reply.headers({ ...headers, etag });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type(type).send(content);
  });
}
