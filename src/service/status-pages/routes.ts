import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import type { Db, Queryable } from '../db/database.ts';
import {
  cardsOfPages,
  deleteStatusPage,
  findStatusPage,
  insertStatusPage,
  listStatusPages,
  lockStatusPage,
  lockStatusPageCount,
  setCards,
  takenNames,
  themes,
  updateStatusPage,
  type StatusPageRow,
  type StatusPageWrite,
} from './statements.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { anyId, CursorQuery, pageOf, PageOf } from '../http/fields/cursor.ts';
import { dateTime } from '../http/fields/dates.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { checkServices } from './named-services.ts';
import { ignored } from '../http/fields/ignored-fields.ts';

/** Limit per account. */
export const maxPages = 100;
/** Limit per page. */
const maxOnPage = 500;

const Link = Nullable(
  Type.String({
    maxLength: 2048,
    pattern: '^https?://[^\\s"\'<>\\\\]+$',
    description: 'a URL that begins with http:// or https://',
  }),
  { default: null },
);

const settable = {
  name: Type.String({ minLength: 1, maxLength: 255 }),
  url: Type.String({
    pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
    description:
      '1 to 63 lower-case letters, digits or hyphens: the page is /status/<url>. No two pages have the same one',
  }),
  customDomain: Nullable(
    Type.String({
      maxLength: 253,
      pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$',
      description: 'a host name in lower-case letters: requests for its / are answered with the page',
    }),
    { default: null },
  ),
  description: Nullable(Type.String({ maxLength: 4096 }), { default: null }),
  defaultTheme: StringEnum(themes, { default: 'AUTO', description: 'AUTO = as the reader has it.' }),
  logo: Link,
  favicon: Link,
  redirectTo: {
    ...Link,
    description: 'a URL that begins with http:// or https://: where the logo and the name of the page lead',
  },
  isPrivate: Type.Boolean({ default: false, description: 'Who reads the page must have an API key.' }),
};

export const StatusPage = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      accountId: Type.String({ format: 'uuid' }),
      ...settable,
      cards: Type.Array(
        Type.Object({
          name: Type.String(),
          services: Type.Array(
            Type.Object({ serviceId: Type.String({ format: 'uuid' }), name: Type.String() }),
          ),
        }),
      ),
      created_at: dateTime,
      updated_at: Nullable(dateTime),
    },
    { $id: 'StatusPage', title: 'StatusPage' },
  ),
);
export const StatusPagePage = PageOf('StatusPage', 'StatusPagePage');

const fields = Type.Object({
  ...settable,
  cards: Type.Array(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 255 }),
      services: Type.Array(Type.Object({ serviceId: anyId, name: ignored }), {
        maxItems: maxOnPage,
        default: [],
      }),
    }),
    { maxItems: 50, default: [] },
  ),
  id: ignored,
  accountId: ignored,
  created_at: ignored,
  updated_at: ignored,
});
const CreateBody = strict(fields);
const ChangeBody = strictPartial(fields);
type Cards = Static<typeof fields>['cards'];

async function presentPages(db: Queryable, rows: readonly StatusPageRow[]) {
  const cards = await cardsOfPages(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map(({ createdAt, updatedAt, ...row }) => ({
    ...row,
    cards: cards.filter(({ pageId }) => pageId === row.id).map(({ name, services }) => ({ name, services })),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt?.toISOString() ?? null,
  }));
}

/** Throws 409 if another status page uses the URL or the custom domain. */
async function checkNames(tx: Db, { id, page }: { id: string; page: StatusPageWrite }): Promise<void> {
  const taken = await takenNames(tx, { ...page, id });
  if (!taken.url && !taken.customDomain) return;
  throw conflict('Another status page has this name.', {
    ...(taken.url ? { url: ['is taken'] } : {}),
    ...(taken.customDomain ? { customDomain: ['is taken'] } : {}),
  });
}

/** Replaces the page's cards. Throws 400. */
async function writeCards(
  tx: Db,
  options: { accountId: string; pageId: string; cards: Cards; now: number },
): Promise<void> {
  const { accountId, pageId, cards, now } = options;
  const named = cards.flatMap(({ services }, card) =>
    services.map(({ serviceId }, index) => ({
      serviceId,
      path: `cards.${card}.services.${index}.serviceId`,
    })),
  );
  if (named.length > maxOnPage)
    throw badRequest({ cards: [`must not have more than ${maxOnPage} services`] });
  await checkServices(tx, {
    accountId,
    ids: named.map(({ serviceId }) => serviceId),
    path: (index) => named[index]?.path ?? 'cards',
  });
  await setCards(tx, {
    pageId,
    cards: cards.map(({ name, services }) => ({
      id: uuidv7(now),
      name,
      serviceIds: services.map(({ serviceId }) => serviceId),
    })),
  });
}

/** Reads the status page that a path names. Throws 404. */
export async function statusPageOf(
  find: (named: { accountId: string; id: string }) => Promise<StatusPageRow | undefined>,
  { accountId, id }: { accountId: string; id: string },
): Promise<StatusPageRow> {
  const row = isUuid(id) ? await find({ accountId, id }) : undefined;
  if (row === undefined) throw notFound('status page', id);
  return row;
}

/** Routes of status pages, as the account edits them. */
export function registerStatusPages(api: PublicApi, { db, now }: ApiDeps): void {
  const tags = ['Status pages'];

  async function present(queryable: Queryable, accountId: string, id: string) {
    const row = await statusPageOf((named) => findStatusPage(queryable, named), { accountId, id });
    const [shown] = await presentPages(queryable, [row]);
    if (shown === undefined) throw notFound('status page', id);
    return shown;
  }

  api.get(
    '/v1/status-pages',
    {
      schema: {
        operationId: 'listStatusPages',
        tags,
        summary: 'Status pages, oldest first',
        querystring: CursorQuery,
        response: { 200: Type.Ref('StatusPagePage'), ...errorResponses(400) },
      },
    },
    async ({ accountId, query }) =>
      pageOf(
        query,
        (page) => listStatusPages(db, { accountId, ...page }),
        (rows) => presentPages(db, rows),
      ),
  );

  api.post(
    '/v1/status-pages',
    {
      schema: {
        operationId: 'createStatusPage',
        tags,
        summary: 'Create a status page',
        body: CreateBody,
        response: { 201: Type.Ref('StatusPage'), ...errorResponses(400, 409, 413, 415) },
      },
    },
    async ({ accountId, body }, reply) => {
      const created = await db.tx(async (tx) => {
        if ((await lockStatusPageCount(tx, accountId)) >= maxPages) {
          throw badRequest({ name: [`an account has at most ${maxPages} status pages`] });
        }
        const time = now();
        const id = uuidv7(time);
        await checkNames(tx, { id, page: body });
        await insertStatusPage(tx, { id, accountId, page: body, now: new Date(time) });
        await writeCards(tx, { accountId, pageId: id, cards: body.cards, now: time });
        return present(tx, accountId, id);
      });
      return reply.code(201).send(created);
    },
  );

  api.get(
    '/v1/status-pages/:id',
    {
      schema: {
        operationId: 'getStatusPage',
        tags,
        summary: 'One status page',
        params: IdParams,
        response: { 200: Type.Ref('StatusPage'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => present(db, accountId, params.id),
  );

  api.put(
    '/v1/status-pages/:id',
    {
      schema: {
        operationId: 'updateStatusPage',
        tags,
        summary: 'Change a status page: fields that are left out stay; cards are replaced as a whole',
        params: IdParams,
        body: ChangeBody,
        response: { 200: Type.Ref('StatusPage'), ...errorResponses(400, 404, 409, 413, 415) },
      },
    },
    async ({ accountId, body, params }) =>
      db.tx(async (tx) => {
        const stored = await statusPageOf((named) => lockStatusPage(tx, named), { accountId, id: params.id });
        const { id } = stored;
        const time = now();
        const page: StatusPageWrite = { ...stored, ...body };
        await checkNames(tx, { id, page });
        await updateStatusPage(tx, { id, page, now: new Date(time) });
        if (body.cards !== undefined) {
          // strictPartial removes defaults only at the top level.
          const cards = body.cards.map(({ name, services }) => ({ name, services: services ?? [] }));
          await writeCards(tx, { accountId, pageId: id, cards, now: time });
        }
        return present(tx, accountId, id);
      }),
  );

  api.delete(
    '/v1/status-pages/:id',
    {
      schema: {
        operationId: 'deleteStatusPage',
        tags,
        summary: 'Delete a status page, with its subscribers and the incidents whose dashboard it is',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      const deleted = isUuid(id) && (await deleteStatusPage(db, { accountId, id }));
      if (!deleted) throw notFound('status page', id);
      return reply.code(204).send(null);
    },
  );
}
