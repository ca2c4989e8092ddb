import type { FastifyInstance, preHandlerAsyncHookHandler } from 'fastify';
import { pageDocument, serveAssets } from '../http/answers/page-files.ts';
import { serveDocument } from './api-document.ts';
import { serveHelp } from './help.ts';
import { serveTraceViewer } from './trace-viewer.ts';

/**
 * The pages for people: one document for all addresses, whose code is in browser/. It uses the public API only, with the
 * cookie of POST /v1/sign-in.
 */

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "frame-src 'self'",
  "font-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const securityHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
};

/** A cookie of a session, with or without TLS; its token is judged where data is read. */
const mayBeSignedIn = /(^|;\s*)(__Host-)?session=/;

/** Where pages are; each address below is one too. The table of single pages is browser/page-table.ts. */
const areas = [
  'checks',
  'groups',
  'alerts',
  'channels',
  'notifications',
  'incidents',
  'maintenance',
  'status-pages',
  'services',
  'locations',
  'reports',
  'projects',
  'settings',
  'variables',
  'snippets',
  'keys',
];

/** Registers the pages and their files. `signInOnce` takes addresses with a token that signs in once. */
export function registerWeb(
  app: FastifyInstance,
  { signInOnce }: { signInOnce: preHandlerAsyncHookHandler },
): void {
  serveAssets(app);
  serveTraceViewer(app);
  serveHelp(app);
  serveDocument(app);
  const document = pageDocument('index.html', securityHeaders);
  const home = pageDocument('home.html', { ...securityHeaders, vary: 'cookie' });
  const check = pageDocument('check.html', securityHeaders);
  const run = pageDocument('run.html', securityHeaders);
  const schema = { hide: true };
  // Its data is read at once, which others than signed-in users are refused, and which an address with a filter has no use for.
  app.get('/', { schema }, (request, reply) =>
    request.url === '/' && mayBeSignedIn.test(request.headers.cookie ?? '')
      ? home(request, reply)
      : document(request, reply),
  );
  app.get('/sign-in', { schema, preHandler: signInOnce }, document);
  app.get('/checks/new', { schema }, document);
  app.get('/checks/:id', { schema }, check);
  for (const area of areas) {
    for (const path of [`/${area}`, `/${area}/:id`, `/${area}/:id/edit`])
      if (path !== '/checks/:id') app.get(path, { schema }, document);
  }
  app.get('/checks/:id/runs/:resultId', { schema }, run);
  app.get('/docs', { schema }, document);
}
