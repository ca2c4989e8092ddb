import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from '../http/api.ts';
import { createAddressLimit } from '../http/address-limit.ts';
import { createCallLimit } from '../http/call-limit.ts';
import { feedXml } from './feed.ts';
import { acceptForms, field } from './forms.ts';
import { registerMailLinks } from './mail-links.ts';
import { registerPreviewTheme } from './preview-routes.ts';
import { sendProblemPages } from './problem-pages.ts';
import { createSite, headers, unknownPage, type Site } from './site.ts';
import { mailAddress, subscribe } from './subscriptions.ts';
import { themeCss } from './theme-css.ts';

/** Routes of public status pages. They need no authentication unless a page is private. */

/** Subscription requests per minute and page, because each may send a mail to someone else's address. */
const subscriptionsPerMinute = 30;

const schema = { hide: true };

type CountAddress = ReturnType<typeof createAddressLimit>;

export function registerStatusPagesInPublic(app: FastifyInstance, deps: ApiDeps): void {
  const { now } = deps;
  const { perMinute, cacheMs } = deps.publicPages ?? { perMinute: 0, cacheMs: 0 };
  const countAddress = createAddressLimit({ perMinute, now });
  const site = createSite(deps, cacheMs);
  serveCustomDomains(app, { site, countAddress, ownHost: hostOf(deps.publicUrl) });
  void app.register(async (instance) => {
    instance.removeAllContentTypeParsers();
    instance.addHook('onRequest', countAddress);
    acceptForms(instance);
    sendProblemPages(instance, headers);
    instance.get('/status/*', { schema }, async () => {
      throw unknownPage();
    });
    instance.get('/status/:url', { schema }, async (request, reply) =>
      site.sendPage(request, reply, await site.pageOf(request)),
    );
    registerPreviewTheme(instance);
    registerFeed(instance, deps, site);
    registerTheme(instance, site);
    registerSubscribe(instance, deps, site);
    registerMailLinks(instance, deps, site);
  });
}

const hostOf = (url: string | null | undefined) => (url ? new URL(url).hostname.toLowerCase() : null);

/** Serves the / of a custom domain; on other hosts, and on the service's own, it is the service's own page. */
function serveCustomDomains(
  app: FastifyInstance,
  { site, countAddress, ownHost }: { site: Site; countAddress: CountAddress; ownHost: string | null },
): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.url !== '/' || !/^(GET|HEAD)$/.test(request.method)) return;
    const host = request.hostname.toLowerCase();
    if (host === ownHost || !/^(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]+$/.test(host)) return;
    // Not counted towards the limit: usually it is the service's own page.
    const page = await site.pageAtDomain(host);
    if (page === undefined) return;
    await countAddress(request);
    return site.sendPage(request, reply, page);
  });
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

function registerTheme(instance: FastifyInstance, site: Site): void {
  instance.get('/status/:url/theme.css', { schema }, async (request, reply) => {
    const page = await site.pageOf(request);
    await site.checkReader(request, reply, page);
    return reply
      .headers({ ...headers, 'cache-control': page.isPrivate ? 'private, no-cache' : 'public, max-age=15' })
      .type('text/css; charset=utf-8')
      .send(themeCss(page.colors));
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
