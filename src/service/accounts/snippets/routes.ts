import Type from 'typebox';
import { Nullable } from '../../../protocol/schema.ts';
import type { Db } from '../../db/database.ts';
import { countOfAccount } from '../../db/count-rows.ts';
import {
  deleteSnippet,
  findSnippet,
  insertSnippet,
  listSnippets,
  lockSnippet,
  lockSnippetTotals,
  updateSnippet,
  usersOfSnippet,
  type SnippetRow,
} from './statements.ts';
import { badRequest, conflict, notFound } from '../../http/errors.ts';
import { open, strict, strictPartial } from '../../http/fields/strict-schema.ts';
import { errorResponses } from '../../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../../http/fields/pagination.ts';
import { IdParams, numberId } from '../../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../../http/api.ts';
import { ignoredStamps } from '../../http/fields/ignored-fields.ts';

/** Limits per account. A run that requires snippets gets all of them. */
export const snippetLimits = { count: 200, length: 2 * 1024 * 1024 };

const writable = {
  name: Type.String({
    pattern: '^(?!.*\\.js$)[A-Za-z0-9_][A-Za-z0-9_ .-]{0,99}$',
    description:
      'the name of a file without ".js": 1 to 100 letters, digits, spaces, dots, hyphens or underscores. ' +
      'Scripts require it as ./snippets/<name>.js',
  }),
  script: Type.String({ maxLength: 1_048_576 }),
};

export const Snippet = open(
  Type.Object(
    {
      id: Type.Integer(),
      ...writable,
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
    },
    { $id: 'Snippet', title: 'Snippet' },
  ),
);

/** The body that creates a snippet. */
export const CreateSnippet = strict(Type.Object(writable));
const ChangeBody = strictPartial(Type.Object({ ...writable, ...ignoredStamps }));

const presentSnippet = ({ id, name, script, createdAt, updatedAt }: SnippetRow) => ({
  id,
  name,
  script,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt?.toISOString() ?? null,
});

const nameTaken = (name: string) =>
  conflict(`This account already has a snippet ${name}.`, { name: ['is taken'] });

async function checkTotals(
  tx: Db,
  { accountId, without, script }: { accountId: string; without: number | null; script: string },
): Promise<void> {
  const { count, length } = await lockSnippetTotals(tx, { accountId, without });
  if (count >= snippetLimits.count) {
    throw badRequest({ name: [`an account has at most ${snippetLimits.count} snippets`] });
  }
  if (length + script.length > snippetLimits.length) {
    const max = snippetLimits.length;
    throw badRequest({ script: [`all snippets of an account have at most ${max} characters together`] });
  }
}

const tags = ['Snippets'];

async function snippetRow(db: Db, accountId: string, id: string): Promise<SnippetRow> {
  const number = numberId(id);
  const row = number === null ? undefined : await findSnippet(db, { accountId, id: number });
  if (row === undefined) throw notFound('snippet', id);
  return row;
}

async function locked(tx: Db, accountId: string, id: string): Promise<SnippetRow> {
  const number = numberId(id);
  const row = number === null ? undefined : await lockSnippet(tx, { accountId, id: number });
  if (row === undefined) throw notFound('snippet', id);
  return row;
}

/** Registers the routes of snippets. */
export function registerSnippets(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerCreate(api, deps);
  registerRead(api, deps);
  registerChange(api, deps);
  registerDelete(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/snippets',
    {
      schema: {
        operationId: 'listSnippets',
        tags,
        summary: 'Snippets, oldest first',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('Snippet')), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countOfAccount(db, 'snippets', accountId) },
    },
    async ({ accountId, query }) => {
      const { limit } = query;
      return (await listSnippets(db, { accountId, limit, offset: offsetOf(query) })).map(presentSnippet);
    },
  );
}

function registerCreate(api: PublicApi, { db, now }: ApiDeps): void {
  api.post(
    '/v1/snippets',
    {
      schema: {
        operationId: 'createSnippet',
        tags,
        summary: 'Create a snippet: code that scripts share',
        body: CreateSnippet,
        response: { 201: Type.Ref('Snippet'), ...errorResponses(400, 409, 413, 415) },
      },
    },
    async ({ accountId, body }, reply) => {
      const row = await db.tx(async (tx) => {
        await checkTotals(tx, { accountId, without: null, script: body.script });
        const id = await insertSnippet(tx, { accountId, ...body, now: new Date(now()) });
        if (id === null) throw nameTaken(body.name);
        return snippetRow(tx, accountId, String(id));
      });
      return reply.code(201).send(presentSnippet(row));
    },
  );
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/snippets/:id',
    {
      schema: {
        operationId: 'getSnippet',
        tags,
        summary: 'One snippet',
        params: IdParams,
        response: { 200: Type.Ref('Snippet'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }) => presentSnippet(await snippetRow(db, accountId, id)),
  );
}

function registerChange(api: PublicApi, { db, now }: ApiDeps): void {
  api.put(
    '/v1/snippets/:id',
    {
      schema: {
        operationId: 'updateSnippet',
        tags,
        summary: 'Change a snippet: fields that are left out stay as they are',
        params: IdParams,
        body: ChangeBody,
        response: { 200: Type.Ref('Snippet'), ...errorResponses(400, 404, 409, 413, 415) },
      },
    },
    async ({ accountId, body, params }) =>
      db.tx(async (tx) => {
        // Locks the account first, as a create does. Otherwise two transactions could deadlock.
        const { id } = await snippetRow(tx, accountId, params.id);
        if (body.script !== undefined) await checkTotals(tx, { accountId, without: id, script: body.script });
        const row = await locked(tx, accountId, params.id);
        const { name = row.name, script = row.script } = body;
        const updated = await updateSnippet(tx, { accountId, id, name, script, now: new Date(now()) });
        if (!updated) throw nameTaken(name);
        return presentSnippet(await snippetRow(tx, accountId, params.id));
      }),
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/snippets/:id',
    {
      schema: {
        operationId: 'deleteSnippet',
        tags,
        summary: 'Delete a snippet that is no setup or teardown of a check or a group',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, params }, reply) => {
      await db.tx(async (tx) => {
        const { id } = await locked(tx, accountId, params.id);
        const users = await usersOfSnippet(tx, { accountId, id, limit: 3 });
        if (users.length > 0) {
          throw conflict('The snippet is still used.', {
            id: [`is setup or teardown of: ${users.join(', ')}${users.length === 3 ? ', …' : ''}`],
          });
        }
        await deleteSnippet(tx, { accountId, id });
      });
      return reply.code(204).send(null);
    },
  );
}
