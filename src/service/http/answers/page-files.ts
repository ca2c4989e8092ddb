import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The files that browsers load: built by scripts/build-pages.mjs, served compressed and kept for ever by browsers. */

/** Next to the compiled sources, or in build/ of the checkout for sources that run uncompiled. */
const folders = ['../../pages/browser/', '../../../../build/pages/'].map(
  (path) => new URL(path, import.meta.url),
);

function builtFolder(): URL {
  // The source folder has an index.html too, but no names.json.
  const folder = folders.find((candidate) => existsSync(new URL('names.json', candidate)));
  if (folder === undefined)
    throw new Error('the package is incomplete: the pages are not built; run `npm run build`');
  return folder;
}

type AssetNames = {
  readonly main: string;
  readonly style: string;
  readonly status: string;
  readonly icon: string;
};

let names: AssetNames | undefined;
/** The names, with their hashes, of the files that documents link. */
export function assetNames(): AssetNames {
  names ??= JSON.parse(readFileSync(new URL('names.json', builtFolder()), 'utf8')) as AssetNames; // written by the build
  return names;
}

const types: { readonly [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const encodings = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

/** True if the client accepts a body in this encoding. */
export function acceptsEncoding({ headers }: FastifyRequest, name: 'br' | 'gzip'): boolean {
  const accepted = String(headers['accept-encoding'] ?? '');
  return new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(?:\\.0*)?(?:,|$))`).test(accepted);
}

/** Serves `/assets/…`. A name has a hash of its content, so a browser never asks for it again. */
export function serveAssets(app: FastifyInstance): void {
  const folder = new URL('assets/', builtFolder());
  const names = new Set(readdirSync(folder));
  // All of them are 2 MB, and a first visit reads a dozen and a half.
  const kept = new Map<string, Buffer>();
  const contentOf = (file: string): Buffer => {
    const content = kept.get(file) ?? readFileSync(new URL(file, folder));
    kept.set(file, content);
    return content;
  };
  app.get('/assets/:name', { schema: { hide: true } }, async (request, reply) => {
    const { name } = request.params as { name: string };
    const type = types[extname(name)];
    if (type === undefined || !names.has(name)) return reply.callNotFound();
    const encoding = encodings.find(
      (one) => acceptsEncoding(request, one.name) && names.has(name + one.suffix),
    );
    void reply.headers({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    });
    if (encoding !== undefined) void reply.header('content-encoding', encoding.name);
    return reply.type(type).send(contentOf(name + (encoding?.suffix ?? '')));
  });
}

/** Returns a handler that sends a document of the pages with these headers, or 304 to a browser that has it. */
export function pageDocument(
  name: 'index.html' | 'home.html' | 'check.html' | 'run.html',
  headers: { readonly [name: string]: string },
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const content = readFileSync(new URL(name, builtFolder()), 'utf8');
  const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  return async (request, reply) => {
    void reply.headers({ ...headers, etag });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type('text/html; charset=utf-8').send(content);
  };
}
