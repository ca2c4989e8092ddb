import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDeps } from '../http/api.ts';
import { createAddressLimit } from '../http/address-limit.ts';
import { createCallLimit } from '../http/call-limit.ts';
import {
  findStatusPageByDomain,
  findStatusPageByUrl,
  type StatusPageRow,
} from '../status-pages/statements.ts';
import { HttpError } from '../http/errors.ts';
import { createApiKeyLookup } from '../accounts/keys/lookup.ts';
import { feedXml } from './feed.ts';
import { createPageCache } from './page-cache.ts';
import { noticeHtml, pageHtml } from './page-html.ts';
import { readPage } from './page-view.ts';
import { confirm, mailAddress, subscribe, subscriberOf, unsubscribe } from './subscriptions.ts';

/** Routes of public status pages. They need no authentication unless a page is private. */

const formBytes = 4096;
/** Subscription requests per minute and page, because each may send a mail to someone else's address. */
const subscriptionsPerMinute = 30;

const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src http: https: data:; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
const htmlType = 'text/html; charset=utf-8';

type Params = { url: string };

const unknownPage = () => new HttpError(404, 'This status page does not exist.');

const schema = { hide: true };

type Site = ReturnType<typeof createSite>;
type CountAddress = ReturnType<typeof createAddressLimit>;

export function registerStatusPagesInPublic(app: FastifyInstance, deps: ApiDeps): void {
  const { now } = deps;
  const { perMinute, cacheMs } = deps.publicPages ?? { perMinute: 0, cacheMs: 0 };
  const countAddress = createAddressLimit({ perMinute, now });
  const site = createSite(deps, cacheMs);
  serveCustomDomains(app, site, countAddress);
  void app.register(async (instance) => {
    instance.removeAllContentTypeParsers();
    instance.addHook('onRequest', countAddress);
    acceptForms(instance);
    instance.get('/status/:url', { schema }, async (request, reply) =>
      site.sendPage(request, reply, await site.pageOf(request)),
    );
    registerFeed(instance, deps, site);
    registerSubscribe(instance, deps, site);
    for (const link of mailLinks) registerMailLink(instance, deps, { site, link });
  });
}

const unknownLink = {
  code: 404,
  title: 'This link is no longer valid',
  text: 'This subscription has expired or was never confirmed. You can subscribe again on the page.',
};

/** Finds and sends status pages, for all routes. */
function createSite(deps: ApiDeps, cacheMs: number) {
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
    return reply
      .headers({ ...headers, 'cache-control': page.isPrivate ? 'private, no-cache' : 'public, max-age=15' })
      .type(htmlType)
      .send(cache.html(view, () => pageHtml(view, { canSubscribe: deps.canMail !== false })));
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

/** Serves the / of a custom domain; on other hosts it is the service's own page. */
function serveCustomDomains(app: FastifyInstance, site: Site, countAddress: CountAddress): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.url !== '/' || !/^(GET|HEAD)$/.test(request.method)) return;
    const host = request.hostname.toLowerCase();
    if (!/^(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]+$/.test(host)) return;
    // Not counted towards the limit: usually it is the service's own page.
    const page = await site.pageAtDomain(host);
    if (page === undefined) return;
    await countAddress(request);
    return site.sendPage(request, reply, page);
  });
}

function acceptForms(instance: FastifyInstance): void {
  instance.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytes },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
  // One-click unsubscribe from a mail program (RFC 8058).
  instance.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'string', bodyLimit: formBytes },
    (_request, body, done) => done(null, oneClickOf(String(body))),
  );
}

function registerFeed(instance: FastifyInstance, deps: ApiDeps, site: Site): void {
  instance.get('/status/:url/feed.atom', { schema }, async (request, reply) => {
    const page = await site.pageOf(request);
    await site.checkReader(request, reply, page);
    const view = await site.viewOf(page);
    // Never from the Host header: caches keep the answer. Readers resolve a relative link by the feed's own URL.
    const link = `${deps.publicUrl ?? ''}/status/${page.url}`;
    return reply
      .headers({ ...headers, 'cache-control': page.isPrivate ? 'private, no-cache' : 'public, max-age=60' })
      .type('application/atom+xml; charset=utf-8')
      .send(feedXml(view, link));
  });
}

function registerSubscribe(instance: FastifyInstance, deps: ApiDeps, site: Site): void {
  const limit = createCallLimit({ perMinute: subscriptionsPerMinute, now: deps.now });
  instance.post('/status/:url/subscribe', { schema }, async (request, reply) => {
    const page = await site.pageOf(request, { isFresh: true });
    await site.checkReader(request, reply, page);
    if (deps.canMail === false) {
      return site.sendNotice(reply, page, {
        code: 404,
        title: 'Not subscribed',
        text: 'This page does not send mail.',
      });
    }
    const email = mailAddress(field(request, 'email'));
    if (email === null) {
      const text = 'This is not a valid email address.';
      return site.sendNotice(reply, page, { code: 400, title: 'Not subscribed', text });
    }
    if (!limit.take(page.id) || !(await subscribe(deps, { pageId: page.id, email }))) {
      void reply.header('retry-after', '60');
      const text = 'Too many subscription requests. Try again in a minute.';
      return site.sendNotice(reply, page, { code: 429, title: 'Not subscribed yet', text });
    }
    // The answer is the same for subscribed addresses, so that it does not reveal who is subscribed.
    return site.sendNotice(reply, page, {
      title: 'One more step',
      text: 'We sent you an email. Open its link to confirm your subscription.',
    });
  });
}

/** The links of mails; each asks for a confirmation before it acts. */
const mailLinks = [
  {
    path: 'confirm',
    ask: {
      title: 'Confirm',
      text: 'Do you want to receive emails about incidents and maintenance?',
      button: 'Yes, subscribe',
    },
    done: { title: 'You are subscribed', text: 'Each email has a link to unsubscribe.' },
    act: confirm,
  },
  {
    path: 'unsubscribe',
    ask: {
      title: 'Unsubscribe',
      text: 'Do you want to stop receiving emails about this page?',
      button: 'Unsubscribe',
    },
    done: { title: 'You are unsubscribed', text: 'You will receive no more emails about this page.' },
    act: unsubscribe,
  },
];

function registerMailLink(
  instance: FastifyInstance,
  deps: ApiDeps,
  { site, link }: { site: Site; link: (typeof mailLinks)[number] },
): void {
  const { path, ask, done, act } = link;
  // Opening a link has no effect, because programs that scan mails open links too.
  instance.get(`/status/:url/${path}`, { schema }, async (request, reply) => {
    const page = await site.pageOf(request);
    const token = inQuery(request);
    const known = await subscriberOf(deps, { pageUrl: page.url, token });
    if (known === undefined) return site.sendUnknownLink(request, reply, page);
    const button = { text: ask.button, action: path, token };
    return site.sendNotice(reply, page, { title: ask.title, text: ask.text, button });
  });
  instance.post(`/status/:url/${path}`, { schema }, async (request, reply) => {
    const page = await site.pageOf(request);
    const token =
      field(request, 'List-Unsubscribe') === 'One-Click' ? inQuery(request) : field(request, 'token');
    const known = await subscriberOf(deps, { pageUrl: page.url, token });
    if (known === undefined) return site.sendUnknownLink(request, reply, page);
    await act(deps, known);
    return site.sendNotice(reply, page, done);
  });
}

function field(request: FastifyRequest, name: string): string {
  return request.body instanceof URLSearchParams ? (request.body.get(name) ?? '') : '';
}

/** The token of a link. */
function inQuery(request: FastifyRequest): string {
  const { token } = request.query as { token?: unknown }; // of any shape
  return typeof token === 'string' ? token : '';
}

/** Reads the one relevant field of a multipart form. */
function oneClickOf(form: string): URLSearchParams {
  const isOneClick = /name="?List-Unsubscribe"?[^]{0,200}?\r?\n\r?\nOne-Click\r?\n/i.test(form);
  return new URLSearchParams(isOneClick ? { 'List-Unsubscribe': 'One-Click' } : {});
}
