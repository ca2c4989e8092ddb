import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';

/**
 * Playwright's trace viewer, served from the installed package under `/trace-viewer/` and shown in a frame of a run's page. It
 * reads the trace from this service with the user's session. A trace comes from a customer's script, so nothing in it may run
 * as a script of this origin: Playwright gives its snapshots a policy with a nonce, and all else that its service worker
 * answers gets a policy that runs nothing.
 */

const types: { readonly [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.webmanifest': 'application/manifest+json',
};

/**
 * Put before the code of the service worker. It gives its own answers a plain object as headers, and recorded answers a
 * `Headers` with whatever a target has sent: a recorded policy is not trusted.
 */
export const guard = `{
  const Plain = self.Response;
  self.Response = class Response extends Plain {
    constructor(body, init) {
      const given = init && init.headers;
      const headers = new Headers(given);
      if (given instanceof Headers || !headers.has('content-security-policy'))
        headers.set('content-security-policy', "default-src 'none'; sandbox");
      super(body, { ...init, headers });
    }
  };
}
`;

/** Registers the viewer's files. */
export function serveTraceViewer(app: FastifyInstance): void {
  const folder = viewerFolder();
  // The user interface of a test runner is not part of the viewer.
  const names = new Set(
    ['', 'assets'].flatMap((below) =>
      readdirSync(join(folder, below))
        .map((name) => (below === '' ? name : `${below}/${name}`))
        .filter((name) => types[extname(name)] !== undefined && !name.startsWith('uiMode.')),
    ),
  );
  const policy = policyOf(readFileSync(join(folder, 'index.html'), 'utf8'));
  app.get('/trace-viewer/*', { schema: { hide: true } }, async (request, reply) => {
    const name = (request.params as { '*': string })['*'] || 'index.html';
    const type = types[extname(name)];
    if (type === undefined || !names.has(name)) return reply.callNotFound();
    const content = readFileSync(join(folder, name));
    void reply.headers({
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    });
    return reply
      .type(type)
      .send(name === 'sw.bundle.js' ? Buffer.concat([Buffer.from(guard), content]) : content);
  });
}

/** The package playwright brings playwright-core, and only one of them is a dependency of this package. */
function viewerFolder(): string {
  const playwright = createRequire(import.meta.url).resolve('playwright/package.json');
  const core = createRequire(playwright).resolve('playwright-core/package.json');
  return join(dirname(core), 'lib', 'vite', 'traceViewer');
}

/** The viewer's own inline scripts are allowed by their hashes, and no others. */
function policyOf(html: string): string {
  const hashes = [...html.matchAll(/<script>([^]*?)<\/script>/g)].map(
    ([, code = '']) => `'sha256-${createHash('sha256').update(code).digest('base64')}'`,
  );
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(' ')}`.trim(),
    // Its editor and its terminal write style elements.
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self' blob:",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' blob:",
    "worker-src 'self'",
    // A snapshot that is still to come is an empty data: document.
    "frame-src 'self' data:",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ');
}
