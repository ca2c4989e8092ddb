import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptsEncoding } from '../http/answers/page-files.ts';

/** The help: every document as a site, rendered by scripts/docs.mjs, under `/help/`. It is open to everybody. */

/** Next to the compiled sources, or in build/ of the checkout for sources that run uncompiled. */
const folders = ['help/', '../../../build/help/'].map((path) => new URL(path, import.meta.url));

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
};

const types: { readonly [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

const notBuilt = `<!doctype html>
<html lang="en">
<title>The help is not here</title>
<h1>The help is not here</h1>
<p>This installation was built without it. In a clone, run <code>npm run docs</code> and load this page again.</p>
<p>The same pages are Markdown files in the folder <code>docs</code> of the package.</p>
</html>
`;

type Site = { folder: URL; names: ReadonlySet<string> };

function findSite(): Site | null {
  const folder = folders.find((candidate) => existsSync(new URL('index.html', candidate)));
  if (folder === undefined) return null;
  return { folder, names: new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' })) };
}

/** Serves `/help/…`. A site that is built later is found without a restart. */
export function serveHelp(app: FastifyInstance): void {
  let site: Site | null = null;
  const schema = { hide: true };
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    // The server ignores a slash at the end, but the site's relative addresses need it.
    if (/^\/help(?:\?|$)/.test(request.url)) return reply.redirect('/help/');
    site ??= findSite();
    if (site === null)
      return reply.code(404).headers(headers).type('text/html; charset=utf-8').send(notBuilt);
    const name = (request.params as { '*'?: string })['*'] || 'index.html';
    const type = types[extname(name)];
    if (type === undefined || !site.names.has(name)) return reply.callNotFound();
    // Only names in assets/ have a hash of their content.
    const isHashed = name.startsWith('assets/');
    const isSmall = site.names.has(`${name}.gz`) && acceptsEncoding(request, 'gzip');
    const content = readFileSync(new URL(isSmall ? `${name}.gz` : name, site.folder));
    void reply.headers(headers);
    if (isHashed) void reply.header('cache-control', 'public, max-age=31536000, immutable');
    else {
      const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
      void reply.headers({ etag, 'cache-control': 'no-cache' });
      if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    }
    if (isSmall) void reply.header('content-encoding', 'gzip');
    return reply.type(type).send(content);
  };
  app.get('/help', { schema }, answer);
  app.get('/help/*', { schema }, answer);
}
