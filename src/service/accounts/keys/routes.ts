import { randomBytes } from 'node:crypto';
import Type from 'typebox';
import { Nullable, StringEnum } from '../../../protocol/schema.ts';
import { maskKey, hashToken } from '../../engine/keys.ts';
import {
  deleteApiKey,
  findApiKey,
  insertApiKey,
  listApiKeys,
  lockApiKeys,
  updateApiKey,
  type ApiKeyRow,
} from './statements.ts';
import { countOfAccount } from '../../db/count-rows.ts';
import type { Queryable } from '../../db/database.ts';
import { badRequest, conflict, notFound } from '../../http/errors.ts';
import { roles } from '../../http/fields/roles.ts';
import { open, strict, strictPartial } from '../../http/fields/strict-schema.ts';
import { uuidv7 } from '../../engine/ids.ts';
import { errorResponses } from '../../http/fields/api-errors.ts';
import { dateTime } from '../../http/fields/dates.ts';
import { offsetOf, paginationFields } from '../../http/fields/pagination.ts';
import { IdParams, isUuid } from '../../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../../http/api.ts';
import { ignored } from '../../http/fields/ignored-fields.ts';

/** API keys of the account. A key is shown once, when it is created, and stored as a hash. */

const maxKeys = 100;

const name = Type.String({ minLength: 1, maxLength: 256 });
const expiresAt = Nullable(Type.String({ format: 'date-time', description: 'When the key ends.' }), {
  default: null,
  description: 'Null: it does not end.',
});

const role = StringEnum(roles, {
  default: 'ADMIN',
  description: 'What the key may do: each role may do all that the roles after it may do.',
});

const shown = {
  id: Type.String({ format: 'uuid' }),
  name,
  role,
  maskedKey: Type.String({ examples: ['...6a1e'] }),
  expiresAt,
  lastUsedAt: Nullable(dateTime, { description: 'To the minute; null: not yet.' }),
  created_at: dateTime,
  updated_at: Nullable(dateTime),
};
export const ApiKey = open(Type.Object(shown, { $id: 'ApiKey', title: 'ApiKey' }));
/** The only answer that contains the key itself. */
export const NewApiKey = open(
  Type.Object(
    { ...shown, rawKey: Type.String({ description: 'The key. It is shown this once.' }) },
    { $id: 'NewApiKey', title: 'NewApiKey' },
  ),
);

const CreateBody = strict(Type.Object({ name, role, expiresAt }));
const ChangeBody = strictPartial(
  Type.Object({
    name,
    role,
    expiresAt,
    id: ignored,
    maskedKey: ignored,
    lastUsedAt: ignored,
    created_at: ignored,
    updated_at: ignored,
  }),
);

const presentKey = (row: ApiKeyRow) => ({
  id: row.id,
  name: row.name,
  role: row.role,
  maskedKey: row.maskedKey,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt?.toISOString() ?? null,
});

/** Parses the expiry in a body. The `stored` expiry is accepted even if it has passed. Throws 400. */
function readEnd(text: string | null, { now, stored }: { now: number; stored: Date | null }): Date | null {
  if (text === null) return null;
  const at = Date.parse(text);
  if (at === stored?.getTime()) return stored;
  if (!(at > now && at < Date.parse('9999-12-31T23:59:59Z'))) {
    throw badRequest({ expiresAt: ['must be later than now; delete the key to end it at once'] });
  }
  return new Date(at);
}

/** Whether a key can create other keys, now and later. */
const isLasting = (key: ApiKeyRow): boolean => key.expiresAt === null && key.role === 'ADMIN';

/**
 * Refuses a change that would leave the account without a non-expiring key of the role ADMIN, because then nobody could
 * create another one.
 */
function requireLastingKey(keys: readonly ApiKeyRow[], id: string, field: 'expiresAt' | 'role'): void {
  if (keys.some((key) => key.id !== id && isLasting(key))) return;
  throw conflict(
    'It is the only API key of the account with the role ADMIN that does not expire: create another one first.',
    {
      [field]: [
        `must stay ${field === 'role' ? 'ADMIN' : 'null'}: no other key with the role ADMIN lasts without expiry`,
      ],
    },
  );
}

const tags = ['API keys'];

async function keyOf(db: Queryable, accountId: string, id: string): Promise<ApiKeyRow> {
  const row = isUuid(id) ? await findApiKey(db, { accountId, id }) : undefined;
  if (row === undefined) throw notFound('API key', id);
  return row;
}

/** Registers the routes of API keys. */
export function registerApiKeys(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerCreate(api, deps);
  registerRead(api, deps);
  registerChange(api, deps);
  registerDelete(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/api-keys',
    {
      schema: {
        operationId: 'listApiKeys',
        tags,
        summary: 'API keys of the account, oldest first, without the keys themselves',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('ApiKey')), ...errorResponses(400) },
      },
      config: { access: 'ADMIN', countAll: ({ accountId }) => countOfAccount(db, 'api_keys', accountId) },
    },
    async ({ accountId, query }) =>
      (await listApiKeys(db, { accountId, limit: query.limit, offset: offsetOf(query) })).map(presentKey),
  );
}

function registerCreate(api: PublicApi, { db, now }: ApiDeps): void {
  api.post(
    '/v1/api-keys',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'createApiKey',
        tags,
        summary: 'Create an API key: the answer alone holds it',
        body: CreateBody,
        response: { 201: Type.Ref('NewApiKey'), ...errorResponses(400, 409, 413, 415) },
      },
    },
    async ({ accountId, body }, reply) => {
      const time = now();
      const end = readEnd(body.expiresAt, { now: time, stored: null });
      const rawKey = `sk_${randomBytes(24).toString('hex')}`;
      const key = {
        id: uuidv7(time),
        accountId,
        name: body.name,
        role: body.role,
        maskedKey: maskKey(rawKey),
        expiresAt: end,
        createdAt: new Date(time),
      };
      await db.tx(async (tx) => {
        if ((await lockApiKeys(tx, accountId)).length >= maxKeys) {
          throw conflict(`An account has at most ${maxKeys} API keys: delete one that is not used.`);
        }
        await insertApiKey(tx, { ...key, keyHash: hashToken(rawKey) });
      });
      const row = { ...key, lastUsedAt: null, updatedAt: null };
      void reply.header('cache-control', 'no-store');
      return reply.code(201).send({ ...presentKey(row), rawKey });
    },
  );
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/api-keys/:id',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'getApiKey',
        tags,
        summary: 'One API key, without the key itself',
        params: IdParams,
        response: { 200: Type.Ref('ApiKey'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => presentKey(await keyOf(db, accountId, params.id)),
  );
}

function registerChange(api: PublicApi, { db, now }: ApiDeps): void {
  api.put(
    '/v1/api-keys/:id',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'updateApiKey',
        tags,
        summary: 'Change the name, role or end of an API key: fields that are left out stay as they are',
        params: IdParams,
        body: ChangeBody,
        response: { 200: Type.Ref('ApiKey'), ...errorResponses(400, 404, 409, 413, 415) },
      },
    },
    async ({ accountId, body, params }) => {
      await db.tx(async (tx) => {
        const keys = await lockApiKeys(tx, accountId);
        const row = keys.find(({ id }) => id === params.id);
        if (row === undefined) throw notFound('API key', params.id);
        const end =
          body.expiresAt === undefined
            ? row.expiresAt
            : readEnd(body.expiresAt, { now: now(), stored: row.expiresAt });
        const newRole = body.role ?? row.role;
        if (isLasting(row) && end !== null) requireLastingKey(keys, row.id, 'expiresAt');
        if (isLasting(row) && newRole !== 'ADMIN') requireLastingKey(keys, row.id, 'role');
        await updateApiKey(tx, {
          id: row.id,
          name: body.name ?? row.name,
          role: newRole,
          expiresAt: end,
          updatedAt: new Date(now()),
        });
      });
      return presentKey(await keyOf(db, accountId, params.id));
    },
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/api-keys/:id',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'deleteApiKey',
        tags,
        summary: 'Delete an API key: it stops working within five seconds',
        description:
          'Not the one of the request itself, nor the last one with the role ADMIN that does not expire. Sessions of the ' +
          'pages that began with the key end, too.',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, apiKeyId, params }, reply) => {
      await db.tx(async (tx) => {
        const keys = await lockApiKeys(tx, accountId);
        const row = keys.find(({ id }) => id === params.id);
        if (row === undefined) throw notFound('API key', params.id);
        if (row.id === apiKeyId) {
          throw conflict('It is the key of this request: delete it with another one.', {
            id: ['names the key of this request'],
          });
        }
        if (isLasting(row)) requireLastingKey(keys, row.id, 'expiresAt');
        await deleteApiKey(tx, row.id);
      });
      return reply.code(204).send(null);
    },
  );
}
