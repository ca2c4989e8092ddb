import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { Nullable } from '../../../protocol/schema.ts';
import {
  deleteVariable,
  findVariable,
  insertVariable,
  listVariables,
  lockVariable,
  lockVariableTotals,
  updateVariable,
  type AccountVariableRow,
} from './statements.ts';
import { countOfAccount } from '../../db/count-rows.ts';
import type { Db } from '../../db/database.ts';
import { isSecretVariable, type Encryption } from '../../engine/encryption.ts';
import { badRequest, conflict, notFound } from '../../http/errors.ts';
import { mayAct, type Role } from '../../http/fields/roles.ts';
import { open, strict, strictPartial } from '../../http/fields/strict-schema.ts';
import { errorResponses } from '../../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../../http/fields/pagination.ts';
import type { ApiDeps, PublicApi } from '../../http/api.ts';
import { ignored } from '../../http/fields/ignored-fields.ts';

/** Limits per account. Every run gets all variables. */
export const variableLimits = { count: 500, length: 1024 * 1024 };

const settable = {
  value: Type.String({
    maxLength: 131_072,
    description: 'Never returned when secret; when locked, only to keys that may write.',
  }),
  locked: Type.Boolean({ default: false }),
  secret: Type.Boolean({
    default: false,
    description: 'Write-only and scrubbed from results; can not be taken back. SERVICE_SECRET_* always are.',
  }),
};
const key = Type.String({ minLength: 1, maxLength: 256 });

export const Variable = open(
  Type.Object(
    {
      key,
      ...settable,
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
    },
    { $id: 'Variable', title: 'Variable' },
  ),
);

/** The body that creates a variable. */
export const CreateVariable = strict(Type.Object({ key, ...settable }));
const ChangeBody = strictPartial(Type.Object({ key, ...settable, created_at: ignored, updated_at: ignored }));
const KeyParams = strict(Type.Object({ key: Type.String() }));

const presentVariable = (row: AccountVariableRow, role: Role) => ({
  key: row.key,
  value: isSecretVariable(row) || (row.locked && !mayAct(role, 'READ_WRITE')) ? '' : row.value,
  locked: row.locked,
  secret: isSecretVariable(row),
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt?.toISOString() ?? null,
});

async function checkTotals(
  tx: Db,
  { accountId, without, value }: { accountId: string; without: string | null; value: string },
): Promise<void> {
  const { count, length } = await lockVariableTotals(tx, { accountId, without });
  if (count >= variableLimits.count) {
    throw badRequest({ key: [`an account has at most ${variableLimits.count} variables`] });
  }
  if (length + value.length > variableLimits.length) {
    const max = variableLimits.length;
    throw badRequest({ value: [`all variables of an account have at most ${max} characters together`] });
  }
}

const tags = ['Variables'];

const sealed = (encryption: Encryption, variable: { key: string; value: string; secret: boolean }) =>
  isSecretVariable(variable) ? encryption.seal(variable.value) : variable.value;

async function present(
  db: Db,
  { accountId, role }: Pick<FastifyRequest, 'accountId' | 'role'>,
  name: string,
) {
  const row = await findVariable(db, { accountId, key: name });
  if (row === undefined) throw notFound('variable', name, 'key');
  return presentVariable(row, role);
}

/** Variables of the account. Every run gets them, unless its group or check has a variable with the same key. */
export function registerVariables(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerCreate(api, deps);
  registerRead(api, deps);
  registerChange(api, deps);
  registerDelete(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/variables',
    {
      schema: {
        operationId: 'listVariables',
        tags,
        summary: "The account's variables, by key",
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('Variable')), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countOfAccount(db, 'account_variables', accountId) },
    },
    async ({ accountId, query, role }) => {
      const { limit } = query;
      const rows = await listVariables(db, { accountId, limit, offset: offsetOf(query) });
      return rows.map((row) => presentVariable(row, role));
    },
  );
}

function registerCreate(api: PublicApi, { db, now, encryption }: ApiDeps): void {
  api.post(
    '/v1/variables',
    {
      schema: {
        operationId: 'createVariable',
        tags,
        summary: 'Create a variable that all runs of the account see',
        body: CreateVariable,
        response: { 201: Type.Ref('Variable'), ...errorResponses(400, 409, 413, 415) },
      },
    },
    async ({ accountId, body, role }, reply) => {
      const secret = isSecretVariable(body);
      const value = sealed(encryption, body);
      const variable = await db.tx(async (tx) => {
        await checkTotals(tx, { accountId, without: null, value });
        const created = await insertVariable(tx, {
          accountId,
          key: body.key,
          value,
          locked: body.locked,
          secret,
          now: new Date(now()),
        });
        if (!created) {
          throw conflict(`This account already has a variable ${body.key}.`, { key: ['is taken'] });
        }
        return present(tx, { accountId, role }, body.key);
      });
      return reply.code(201).send(variable);
    },
  );
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/variables/:key',
    {
      schema: {
        operationId: 'getVariable',
        tags,
        summary: 'One variable',
        params: KeyParams,
        response: { 200: Type.Ref('Variable'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params, role }) => present(db, { accountId, role }, params.key),
  );
}

function registerChange(api: PublicApi, { db, now, encryption }: ApiDeps): void {
  api.put(
    '/v1/variables/:key',
    {
      schema: {
        operationId: 'updateVariable',
        tags,
        summary: 'Change a variable: fields that are left out stay as they are',
        params: KeyParams,
        body: ChangeBody,
        response: { 200: Type.Ref('Variable'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, body, params, role }) =>
      db.tx(async (tx) => {
        if (body.key !== undefined && body.key !== params.key) {
          throw badRequest({ key: ['cannot be changed: delete the variable and create another one'] });
        }
        const length = { accountId, without: params.key, value: body.value ?? '' };
        if (body.value !== undefined) await checkTotals(tx, length);
        const row = await lockVariable(tx, { accountId, key: params.key });
        if (row === undefined) throw notFound('variable', params.key, 'key');
        const wasSecret = isSecretVariable(row);
        if (wasSecret && body.secret === false) {
          throw badRequest({
            secret: ['cannot be set to false: delete the variable and create it again with its value'],
          });
        }
        const secret = wasSecret || body.secret === true;
        // The stored value is never returned, so an empty value means: keep it.
        const keeps = body.value === undefined || (wasSecret && body.value === '');
        const plain = keeps ? (wasSecret ? encryption.open(row.value) : row.value) : (body.value ?? '');
        await updateVariable(tx, {
          accountId,
          key: row.key,
          value: sealed(encryption, { key: row.key, value: plain, secret }),
          locked: body.locked ?? row.locked,
          secret,
          now: new Date(now()),
        });
        return present(tx, { accountId, role }, row.key);
      }),
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/variables/:key',
    {
      schema: {
        operationId: 'deleteVariable',
        tags,
        summary: 'Delete a variable',
        params: KeyParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }, reply) => {
      const deleted = await deleteVariable(db, { accountId, key: params.key });
      if (!deleted) throw notFound('variable', params.key, 'key');
      return reply.code(204).send(null);
    },
  );
}
