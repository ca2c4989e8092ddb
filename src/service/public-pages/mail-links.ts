import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from '../http/api.ts';
import { field, inQuery } from './forms.ts';
import type { Site } from './site.ts';
import { confirm, subscriberOf, unsubscribe } from './subscriptions.ts';

const schema = { hide: true };

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

/** Routes of the links in mails to subscribers. */
export function registerMailLinks(instance: FastifyInstance, deps: ApiDeps, site: Site): void {
  for (const link of mailLinks) registerMailLink(instance, deps, { site, link });
}
