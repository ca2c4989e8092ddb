import Type from 'typebox';
import { Nullable } from '../../protocol/schema.ts';
import { RuntimeId } from '../../protocol/script.ts';
import { filledAlertSettings, AlertSettings } from './alert-settings.ts';
import { findAccount, lockAccount, updateAccount, type AccountRow } from './statements.ts';
import { notFound } from '../http/errors.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { paginationFields } from '../http/fields/pagination.ts';
import { ignoredStamps } from '../http/fields/ignored-fields.ts';

const settable = {
  name: Type.String({ minLength: 1, maxLength: 1024 }),
  runtimeId: RuntimeId,
  alertSettings: Type.Object(AlertSettings.properties, {
    description: 'Of all checks and groups whose useGlobalAlertSettings is true.',
  }),
};

export const Account = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid', description: 'The value of x-service-account.' }),
      name: Type.String(),
      runtimeId: Type.String({ description: 'The runtime of scripts whose check and group name none.' }),
      alertSettings: settable.alertSettings,
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
    },
    { $id: 'Account', title: 'Account' },
  ),
);

const ChangeBody = strictPartial(Type.Object({ ...settable, ...ignoredStamps }));

const presentAccount = ({ id, name, runtimeId, alertSettings, createdAt, updatedAt }: AccountRow) => ({
  id,
  name,
  runtimeId,
  alertSettings: filledAlertSettings(alertSettings),
  created_at: createdAt.toISOString(),
  updated_at: updatedAt?.toISOString() ?? null,
});

/** Registers the routes of accounts. */
export function registerAccounts(api: PublicApi, { db, now }: ApiDeps): void {
  const tags = ['Accounts'];

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
        tags,
        summary: 'The accounts that the API key can use: its own',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('Account')), ...errorResponses(400) },
      },
      config: { countAll: async () => 1 },
    },
    async ({ accountId, query }) => (query.page === 1 ? [await ownAccount(accountId)] : []),
  );

  api.get(
    '/v1/accounts/me',
    {
      schema: {
        operationId: 'getOwnAccount',
        tags,
        summary: "The API key's account",
        response: { 200: Type.Ref('Account'), ...errorResponses() },
      },
    },
    async ({ accountId }) => ownAccount(accountId),
  );

  api.put(
    '/v1/accounts/me',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'updateOwnAccount',
        tags,
        summary: "Change the API key's account: fields that are left out stay as they are",
        body: ChangeBody,
        response: { 200: Type.Ref('Account'), ...errorResponses(400, 413, 415) },
      },
    },
    async ({ accountId, body }) =>
      db.tx(async (tx) => {
        const row = await lockAccount(tx, accountId);
        if (row === undefined) throw notFound('account', accountId);
        const changed = {
          ...row,
          name: body.name ?? row.name,
          runtimeId: body.runtimeId ?? row.runtimeId,
          alertSettings: body.alertSettings ?? row.alertSettings,
          updatedAt: new Date(now()),
        };
        await updateAccount(tx, changed);
        return presentAccount(changed);
      }),
  );
}
