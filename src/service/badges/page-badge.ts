import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { createAddressLimit } from '../http/address-limit.ts';
import { notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { createPageCache } from '../public-pages/page-cache.ts';
import { readPage, type PageView } from '../public-pages/page-view.ts';
import { stateWord, type State } from '../public-pages/states.ts';
import { findStatusPageByUrl } from '../status-pages/statements.ts';
import type { Badge, BadgeState } from './badge.ts';
import { sendBadge, styleFields, svg } from './image.ts';

/** The badge of a status page: the worst state of its services, and their mean uptime. */

const colours: { readonly [S in State]: BadgeState } = {
  operational: 'passing',
  maintenance: 'inactive',
  minor: 'degraded',
  medium: 'degraded',
  major: 'failing',
  critical: 'failing',
};

function badgeOf({ page, state, cards }: PageView, { hasUptime }: { hasUptime: boolean }): Badge {
  const known = cards.flatMap(({ services }) =>
    services.flatMap(({ uptime }) => (uptime === null ? [] : [uptime])),
  );
  const mean = known.reduce((sum, uptime) => sum + uptime, 0) / known.length;
  return {
    name: page.title ?? page.name,
    state: colours[state],
    word: stateWord(state).toLowerCase(),
    responseTime: null,
    availability: hasUptime && known.length > 0 ? Math.floor(mean * 100 + 1e-7) / 100 : null,
  };
}

const { style, theme } = styleFields;

/** Registers the route of the image. `accountOf`: the account of the request's API key; null = there was none. */
export function registerPageBadge(
  routes: PublicApi,
  { db, now, publicPages }: ApiDeps,
  { accountOf }: { accountOf: (request: FastifyRequest) => string | null },
): void {
  const { perMinute, cacheMs } = publicPages ?? { perMinute: 0, cacheMs: 0 };
  const cache = createPageCache({ cacheMs, now });
  routes.get(
    '/v1/badges/status-pages/:url',
    {
      schema: {
        operationId: 'getStatusPageBadge',
        tags: ['Badges'],
        summary: 'Badge of a status page: its worst state, and its uptime in percent',
        description: 'Needs no API key, unless the status page is private.',
        security: [{ apiKey: [] }, {}],
        params: Type.Object({ url: Type.String() }),
        querystring: strict(
          Type.Object({
            style,
            theme,
            uptime: Type.Boolean({ default: true, description: 'Show the mean uptime of its services.' }),
          }),
        ),
        response: {
          200: svg,
          304: Type.Null({ description: 'Not changed' }),
          ...errorResponses(400, 404, 429),
        },
      },
      onRequest: createAddressLimit({ perMinute, now }),
    },
    async (request, reply) => {
      const { url } = request.params;
      const isName = /^[a-z0-9-]{1,63}$/.test(url);
      const page = isName ? await cache.page(url, () => findStatusPageByUrl(db, url)) : undefined;
      if (page === undefined || (page.isPrivate && accountOf(request) !== page.accountId))
        throw notFound('status page', url, 'url');
      const view = await cache.view(page, () => readPage(db, { page, now: now() }));
      return sendBadge(request, reply, badgeOf(view, { hasUptime: request.query.uptime }), {
        style: request.query.style,
        theme: request.query.theme,
      });
    },
  );
}
