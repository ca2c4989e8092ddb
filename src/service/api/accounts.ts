import Type from 'typebox';
import { Nullable } from '../../protocol/schema.ts';
import { findAccount, type AccountRow } from '../db/accounts.ts';
import { notFound } from '../errors-http.ts';
import { open, strict } from '../strict-schema.ts';
import type { ApiDeps, PublicApi } from './public-api.ts';
import { errorResponses } from './api-errors.ts';
import { paginationFields } from './pagination.ts';

export const Account = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid', description: 'The value of x-service-account.' }),
      name: Type.String(),
      runtimeId: Type.String({ description: 'The runtime of scripts whose check and group name none.' }),
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
    },
    { $id: 'Account', title: 'Account' },
  ),
);

const presentAccount = ({ createdAt, updatedAt, ...row }: AccountRow) => ({
  ...row,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt?.toISOString() ?? null,
});

export function registerAccounts(api: PublicApi, { db }: ApiDeps): void {
  async function ownAccount(accountId: string) {
    const row = await findAccount(db, accountId);
    if (row === undefined) throw notFound('account', accountId);
    return presentAccount(row);
  }

  api.get(
    '/v1/accounts',
    {
      schema: {
        operationId: 'listAccounts',
        tags: ['Accounts'],
        summary: 'The accounts that the API key can use: its own',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('Account')), ...errorResponses(400) },
      },
    },
    async ({ accountId, query }) => (query.page === 1 ? [await ownAccount(accountId)] : []),
  );

  api.get(
    '/v1/accounts/me',
    {
      schema: {
        operationId: 'getOwnAccount',
        tags: ['Accounts'],
        summary: "The API key's account",
        response: { 200: Type.Ref('Account'), ...errorResponses() },
      },
    },
    async ({ accountId }) => ownAccount(accountId),
  );
}
