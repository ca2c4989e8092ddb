import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDeps } from '../http/api.ts';
import {
  findStatusPageByDomain,
  findStatusPageByUrl,
  type StatusPageRow,
} from '../status-pages/statements.ts';
import { HttpError } from '../http/errors.ts';
import { createApiKeyLookup } from '../accounts/keys/lookup.ts';
import { createPageCache } from './page-cache.ts';
import { noticeHtml } from './document-html.ts';
import { pageHtml } from './page-html.ts';
import { readPage } from './page-view.ts';

/** Headers of all answers of status pages. Only the service's own pages show one in a frame, as a preview. */
export const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src http: https: data:; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'self'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
const htmlType = 'text/html; charset=utf-8';

type Params = { url: string };

/** 404 for an address without a status page. */
export const unknownPage = () => new HttpError(404, 'This status page does not exist.');

export type Site = ReturnType<typeof createSite>;

/** The answer to the link of a mail whose subscription is not there any more. */
const unknownLink = {
  code: 404,
  title: 'This link is no longer valid',
  text: 'This subscription has expired or was never confirmed. You can subscribe again on the page.',
};

/** Finds and sends status pages, for all routes. */
export function createSite(deps: ApiDeps, cacheMs: number) {
  const { db, now, wrongKeys } = deps;
  const cache = createPageCache({ cacheMs, now });
  const accountOf = createApiKeyLookup({
    db,
    refuse: (reason) =>
      new HttpError(401, `This status page is private, and the API key ${reason}.`, {
        authorization: [reason],
      }),
    now,
    wrongKeys,
  });

  /**
   * Checks access to a private page: an API key of its account, as a bearer token or as the password in the browser's
   * prompt.
   */
  async function checkReader(
    request: FastifyRequest,
    reply: FastifyReply,
    page: StatusPageRow,
  ): Promise<void> {
    if (!page.isPrivate) return;
    const { authorization } = request.headers;
    const basic = /^Basic +([A-Za-z0-9+/=]{1,2000}) *$/i.exec(authorization ?? '')?.[1];
    const password =
      basic === undefined
        ? null
        : Buffer.from(basic, 'base64')
            .toString()
            .replace(/^[^:]*:/, '');
    void reply.header('www-authenticate', 'Basic realm="Status page: any name, an API key as the password"');
    const reader = await accountOf(password === null ? authorization : `Bearer ${password}`, request.ip);
    // A key of another account is refused like an invalid key.
    if (reader.accountId !== page.accountId) {
      throw new HttpError(401, 'This status page is private, and the API key is not valid.', {
        authorization: ['is not valid'],
      });
    }
    void reply.removeHeader('www-authenticate');
  }

  async function pageOf(request: FastifyRequest, { isFresh = false } = {}): Promise<StatusPageRow> {
    const { url } = request.params as Params; // of each of these routes
    const isName = url.length <= 63 && /^[a-z0-9-]+$/.test(url);
    const find = () => findStatusPageByUrl(db, url);
    const page = !isName ? undefined : await (isFresh ? find() : cache.page(url, find));
    if (page === undefined) throw unknownPage();
    return page;
  }

  const viewOf = (page: StatusPageRow) => cache.view(page, () => readPage(db, { page, now: now() }));

  async function sendPage(request: FastifyRequest, reply: FastifyReply, page: StatusPageRow) {
    await checkReader(request, reply, page);
    const view = await viewOf(page);
    const { text, etag } = cache.html(view, () => pageHtml(view, { canSubscribe: deps.canMail !== false }));
    void reply.headers({
      ...headers,
      'cache-control': page.isPrivate ? 'private, no-cache' : 'public, max-age=15',
      etag,
    });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type(htmlType).send(text);
  }

  const sendNotice = (
    reply: FastifyReply,
    page: StatusPageRow,
    notice: Parameters<typeof noticeHtml>[1] & { code?: number },
  ) =>
    reply
      .code(notice.code ?? 200)
      .headers({ ...headers, 'cache-control': 'no-store' })
      .type(htmlType)
      .send(noticeHtml(page, notice));

  /** The name of a private page is shown only to its readers and subscribers. */
  async function sendUnknownLink(request: FastifyRequest, reply: FastifyReply, page: StatusPageRow) {
    await checkReader(request, reply, page);
    return sendNotice(reply, page, unknownLink);
  }

  const pageAtDomain = (host: string) => cache.page(`at ${host}`, () => findStatusPageByDomain(db, host));

  return { checkReader, pageOf, pageAtDomain, viewOf, sendPage, sendNotice, sendUnknownLink };
}
