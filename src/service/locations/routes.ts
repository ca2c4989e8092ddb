import Type from 'typebox';
import { dataCenterLocations } from '../../protocol/check-types.ts';
import type { Db } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';
import {
  deleteLocationKey,
  ensureDataCenters,
  keysOfLocations,
  listLocations,
  lockDataCenter,
} from './statements.ts';
import { notFound } from '../http/errors.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { agentFields, agentsByLocation } from './agents.ts';
import { addLocationKey, LocationKey, presentKey } from './keys.ts';
import { isUuid } from '../http/fields/path-params.ts';
import { dataCenterNames } from './names.ts';

/** The data-centre codes of the specification. Agents join them with a key, as they join a private location. */
export const DataCenter = open(
  Type.Object(
    {
      region: Type.String({ description: "A value of a check's locations." }),
      name: Type.String({ description: 'The place in words, like "Ireland".' }),
      code: Type.String({ description: 'The same as region.' }),
      ...agentFields,
      keys: Type.Array(LocationKey),
    },
    { $id: 'Location', title: 'Location' },
  ),
);

const codes: readonly string[] = dataCenterLocations;

const CodeParams = strict(Type.Object({ code: Type.String() }));

/** Creates rows for these data-centre codes if the account has none yet. */
export async function ensureDataCenterRows(
  db: Db,
  { accountId, codes: used, now }: { accountId: string; codes: readonly string[]; now: number },
): Promise<void> {
  const known = ensured.get(db) ?? new Set();
  const codes = used.filter((code) => !known.has(`${accountId} ${code}`));
  if (codes.length === 0) return;
  await ensureDataCenters(db, { accountId, ids: codes.map(() => uuidv7(now)), codes, now: new Date(now) });
  for (const code of codes) known.add(`${accountId} ${code}`);
  ensured.set(db, known);
}

/** Rows that a transaction has made sure of. One that deploys a project does so for thousands of checks. */
const ensured = new WeakMap<Db, Set<string>>();

/** Registers the routes of data-centre locations and their keys. */
export function registerLocations(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerListKeys(api, deps);
  registerCreateKey(api, deps);
  registerDeleteKey(api, deps);
}

function registerList(api: PublicApi, { db, now }: ApiDeps): void {
  api.get(
    '/v1/locations',
    {
      schema: {
        operationId: 'listLocations',
        tags: ['Locations'],
        summary: 'Data-centre locations, with the agents that have joined them',
        response: { 200: Type.Array(Type.Ref('Location')), ...errorResponses() },
      },
    },
    async ({ accountId }) => {
      const rows = await listLocations(db, {
        accountId,
        kind: 'data-center',
        limit: codes.length,
        offset: 0,
      });
      const locationIds = rows.map(({ id }) => id);
      const agentsOf = await agentsByLocation(db, { locationIds, now: now() });
      const keys = await keysOfLocations(db, locationIds);
      return dataCenterLocations.map((code) => {
        const id = rows.find((row) => row.slugName === code)?.id ?? '';
        const name = dataCenterNames[code];
        return {
          region: code,
          name,
          code,
          ...agentsOf(id),
          keys: keys.filter((key) => key.locationId === id).map(presentKey),
        };
      });
    },
  );
}

function registerListKeys(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/locations/:code/keys',
    {
      schema: {
        operationId: 'listLocationKeys',
        tags: ['Locations'],
        summary: 'Keys of a data-centre location, masked',
        params: CodeParams,
        response: { 200: Type.Array(LocationKey), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { code } }) => {
      if (!codes.includes(code)) throw notFound('location', code, 'code');
      const rows = await listLocations(db, {
        accountId,
        kind: 'data-center',
        limit: codes.length,
        offset: 0,
      });
      const keys = await keysOfLocations(
        db,
        rows.filter(({ slugName }) => slugName === code).map(({ id }) => id),
      );
      return keys.map(presentKey);
    },
  );
}

function registerCreateKey(api: PublicApi, { db, now }: ApiDeps): void {
  api.post(
    '/v1/locations/:code/keys',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'createLocationKey',
        tags: ['Locations'],
        summary: 'Add a key to a data-centre location; a location has at most two',
        params: CodeParams,
        response: { 201: Type.Ref('NewLocationKey'), ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, params: { code } }, reply) => {
      if (!codes.includes(code)) throw notFound('location', code, 'code');
      const key = await db.tx(async (tx) => {
        await ensureDataCenterRows(tx, { accountId, codes: [code], now: now() });
        const row = await lockDataCenter(tx, { accountId, code });
        if (row === undefined) throw notFound('location', code, 'code');
        return addLocationKey(tx, { locationId: row.id, now: now() });
      });
      return reply.code(201).send(key);
    },
  );
}

function registerDeleteKey(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/locations/:code/keys/:keyId',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'deleteLocationKey',
        tags: ['Locations'],
        summary: 'Delete a key of a data-centre location: agents that use it are refused from now on',
        params: strict(Type.Object({ code: Type.String(), keyId: Type.String() })),
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { code, keyId } }, reply) => {
      if (!codes.includes(code)) throw notFound('location', code, 'code');
      const deleted = await db.tx(async (tx) => {
        const row = await lockDataCenter(tx, { accountId, code });
        return row !== undefined && isUuid(keyId) && deleteLocationKey(tx, { locationId: row.id, keyId });
      });
      if (!deleted) throw notFound('key', keyId, 'keyId');
      return reply.code(204).send(null);
    },
  );
}
