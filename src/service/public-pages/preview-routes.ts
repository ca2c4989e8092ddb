import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { fieldsOf, parsedJson } from '../../json-values.ts';
import { rolledBack } from '../db/rolled-back.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { badRequest, HttpError } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { dateTime } from '../http/fields/dates.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { statusPageOf, writeCards } from '../status-pages/routes.ts';
import { CreateBody } from '../status-pages/schema.ts';
import {
  findStatusPage,
  insertStatusPage,
  type PageColors,
  type StatusPageWrite,
} from '../status-pages/statements.ts';
import type { Cards } from '../status-pages/schema.ts';
import { pageHtml } from './page-html.ts';
import { readPage, type PageView } from './page-view.ts';
import { headers } from './site.ts';
import { themeCss } from './theme-css.ts';

/**
 * Previews of status pages that are not saved. The address of a preview holds its sealed body, so that every replica can
 * show it and nothing is stored. It is shown only to API keys and sessions of the account, for some minutes.
 */

const lifetimeMs = 10 * 60_000;
/** Node refuses longer request lines and headers. */
const maxToken = 12_000;
const path = '/v1/status-pages/previews';
const themePath = '/status-previews/theme.css';

type Body = StatusPageWrite & { cards: Cards };
type Sealed = { accountId: string; id: string | null; until: number; body: Body };

const tags = ['Status pages'];
const PreviewQuery = strict(
  Type.Object({
    id: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'The stored page that the body would replace; its incidents are shown.',
      }),
    ),
  }),
);

/** The page as it would be. Throws 400 and 404. */
async function previewOf(
  { db, now }: ApiDeps,
  { accountId, id, body }: Pick<Sealed, 'accountId' | 'id' | 'body'>,
): Promise<PageView> {
  const { cards, ...page } = body;
  const time = now();
  return rolledBack(db, async (tx) => {
    const stored =
      id === null ? null : await statusPageOf((named) => findStatusPage(tx, named), { accountId, id });
    const pageId = stored?.id ?? uuidv7(time);
    const created = new Date(time);
    if (stored === null) {
      // Its own address may be taken, and is not needed.
      const unnamed = { ...page, url: `preview-${pageId}`, customDomain: null };
      await insertStatusPage(tx, { id: pageId, accountId, page: unnamed, now: created });
    }
    await writeCards(tx, { accountId, pageId, cards, now: time });
    const row = { ...page, id: pageId, accountId, createdAt: created, updatedAt: null };
    return readPage(tx, { page: row, now: time });
  });
}

const colorNames = ['accent', 'background', 'card', 'text'] as const;

/** The address of a style sheet with these colours, which holds all of them. */
function themeOf(colors: PageColors): string {
  const part = (theme: 'light' | 'dark') =>
    colorNames.map((name) => (colors[theme][name] ?? '').replace('#', '')).join('.');
  return `${themePath}?light=${part('light')}&dark=${part('dark')}`;
}

function colorsOf(text: string | undefined): PageColors['light'] {
  const [accent, background, card, text_] = (text ?? '').split('.').map((color) => `#${color}`);
  return { accent: accent ?? null, background: background ?? null, card: card ?? null, text: text_ ?? null };
}

/** Registers the style sheet of previews, which needs no authentication: it has only the colours of its address. */
export function registerPreviewTheme(app: FastifyInstance): void {
  app.get(themePath, { schema: { hide: true } }, async (request, reply) => {
    const query = fieldsOf(request.query);
    const part = (name: string) => (typeof query[name] === 'string' ? query[name] : undefined);
    return reply
      .headers({ ...headers, 'cache-control': 'public, max-age=3600' })
      .type('text/css; charset=utf-8')
      .send(themeCss({ light: colorsOf(part('light')), dark: colorsOf(part('dark')) }));
  });
}

/** Null = not sealed by `seal` of this service. */
function opened(encryption: ApiDeps['encryption'], token: string): Sealed | null {
  try {
    const text = inflateRawSync(Buffer.from(encryption.open(token), 'base64url')).toString();
    return fieldsOf(parsedJson(text)) as Sealed; // its own format
  } catch {
    // Other sealed texts have no compressed body.
    return null;
  }
}

/** Registers the routes that make and show a preview. */
export function registerStatusPagePreviews(api: PublicApi, deps: ApiDeps): void {
  const { encryption, now } = deps;

  const seal = (sealed: Sealed) =>
    encryption.seal(deflateRawSync(JSON.stringify(sealed)).toString('base64url'));

  /** Throws 404. */
  function open(token: string, accountId: string): Sealed {
    const sealed = opened(encryption, token);
    if (sealed?.accountId === accountId && sealed.until > now()) return sealed;
    throw new HttpError(404, 'This preview has expired, or it never existed.');
  }

  api.post(
    path,
    {
      config: { access: 'READ_ONLY' },
      schema: {
        operationId: 'previewStatusPage',
        tags,
        summary: 'Make a preview of a status page that is not saved',
        description:
          'Nothing is stored. The preview is also possible for private pages. Its address works for ten minutes, with a key or a ' +
          'session of the same account.',
        querystring: PreviewQuery,
        body: CreateBody,
        response: {
          201: Type.Object(
            {
              url: Type.String({ description: 'Path of the preview, relative to the service.' }),
              expiresAt: dateTime,
            },
            { description: 'The preview can be read' },
          ),
          ...errorResponses(400, 404, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { accountId } = request;
      const { id = null } = request.query;
      const {
        id: _id,
        accountId: _account,
        created_at: _created,
        updated_at: _updated,
        ...body
      } = request.body;
      const until = now() + lifetimeMs;
      const token = seal({ accountId, id, until, body });
      if (token.length > maxToken)
        throw badRequest({ cards: ['hold too much for a preview: save the page to see it'] });
      await previewOf(deps, { accountId, id, body });
      return reply.code(201).send({
        url: `${path}/page?token=${encodeURIComponent(token)}`,
        expiresAt: new Date(until).toISOString(),
      });
    },
  );

  api.get(
    `${path}/page`,
    {
      schema: {
        operationId: 'getStatusPagePreview',
        tags,
        summary: 'A preview of a status page, as HTML',
        description:
          'Use the address that previewStatusPage returns. The document has no scripts and runs none.',
        querystring: strict(Type.Object({ token: Type.String({ maxLength: maxToken }) })),
        response: {
          200: { description: 'The page', content: { 'text/html': { schema: Type.String() } } },
          ...errorResponses(400, 404),
        },
      },
    },
    async ({ accountId, query }, reply) => {
      const { id, body } = open(query.token, accountId);
      const view = await previewOf(deps, { accountId, id, body });
      const theme = body.colors === null ? undefined : themeOf(body.colors);
      const text = pageHtml(view, {
        canSubscribe: deps.canMail !== false,
        ...(theme === undefined ? {} : { theme }),
      });
      return reply
        .headers({
          ...headers,
          'content-security-policy': `${headers['content-security-policy']}; sandbox`,
          'cache-control': 'no-store',
        })
        .type('text/html; charset=utf-8')
        .send(text);
    },
  );
}
