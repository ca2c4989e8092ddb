import Type from 'typebox';
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
  updateStatusPage,
  type StatusPageRow,
  type StatusPageWrite,
} from './statements.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { countListed } from '../db/count-rows.ts';
import { CursorQuery, pageOf } from '../http/fields/cursor.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { checkServices } from './named-services.ts';
import { ChangeBody, CreateBody, maxOnPage, type Cards } from './schema.ts';

/** Limit per account. */
export const maxPages = 100;
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
export async function writeCards(
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

const tags = ['Status pages'];

async function present(db: Queryable, accountId: string, id: string) {
  const row = await statusPageOf((named) => findStatusPage(db, named), { accountId, id });
  const [shown] = await presentPages(db, [row]);
  if (shown === undefined) throw notFound('status page', id);
  return shown;
}

/** Routes of status pages, as the account edits them. */
export function registerStatusPages(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerCreate(api, deps);
  registerRead(api, deps);
  registerChange(api, deps);
  registerDelete(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/status-pages',
    {
      config: { isByCursor: true },
      schema: {
        operationId: 'listStatusPages',
        tags,
        summary: 'Status pages, oldest first',
        querystring: CursorQuery,
        response: { 200: Type.Ref('StatusPagePage'), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      request.countAll = () =>
        countListed(db, (counting, { limit }) =>
          listStatusPages(counting, { accountId, after: null, limit }),
        );
      return pageOf(
        query,
        (page) => listStatusPages(db, { accountId, ...page }),
        (rows) => presentPages(db, rows),
      );
    },
  );
}

function registerCreate(api: PublicApi, { db, now }: ApiDeps): void {
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
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
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
}

function registerChange(api: PublicApi, { db, now }: ApiDeps): void {
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
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
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
