import { ChangeBody, checkAllowedNetworks, checkProxyUrl, CreateBody, masked } from './private-schema.ts';
import Type from 'typebox';
import type { Db, Queryable } from '../db/database.ts';
import type { Encryption } from '../engine/encryption.ts';
import { uuidv7 } from '../engine/ids.ts';
import {
  deleteLocation,
  countPrivateLocations,
  deleteLocationKey,
  findPrivateLocation,
  insertPrivateLocation,
  keysOfLocations,
  listLocations,
  lockPrivateLocation,
  updatePrivateLocation,
  type LocationRow,
} from './statements.ts';
import { conflict, notFound } from '../http/errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { agentsByLocation } from './agents.ts';
import { addLocationKey, presentKey } from './keys.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';

const slugTaken = (slugName: string) =>
  conflict(`This account already has a location ${slugName}.`, { slugName: ['is taken'] });

/** Resources that name private locations by their slugs. */
export type LocationUse = {
  /** The resources in the plural, for the error message. */
  resources: string;
  /** Introduces the names in the error message. */
  introduction: string;
  /** Names of at most `limit` resources at a location. */
  at: (
    tx: Queryable,
    options: { accountId: string; slugName: string; limit: number },
  ) => Promise<readonly string[]>;
  /** Updates the resources after a location's slug has changed. */
  rename: (tx: Queryable, options: { accountId: string; from: string; to: string }) => Promise<void>;
};

const tags = ['Locations'];

const sealed = (encryption: Encryption, proxyUrl: string | null) =>
  proxyUrl === null ? null : Buffer.from(encryption.seal(proxyUrl));
const opened = (encryption: Encryption, row: LocationRow) =>
  row.proxyUrl === null ? null : encryption.open(row.proxyUrl.toString());

async function present(db: Db, { encryption, now }: ApiDeps, rows: readonly LocationRow[]) {
  const locationIds = rows.map(({ id }) => id);
  const agentsOf = await agentsByLocation(db, { locationIds, now: now() });
  const keys = await keysOfLocations(db, locationIds);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    slugName: row.slugName,
    icon: row.icon,
    proxyUrl: masked(opened(encryption, row)),
    allowedNetworks: row.allowedNetworks,
    stopsInOutages: row.stopsInOutages,
    keys: keys.filter(({ locationId }) => locationId === row.id).map(presentKey),
    ...agentsOf(row.id),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt?.toISOString() ?? null,
  }));
}

async function presentOne(db: Db, deps: ApiDeps, { accountId, id }: { accountId: string; id: string }) {
  const row = isUuid(id) ? await findPrivateLocation(db, { accountId, id }) : undefined;
  if (row === undefined) throw notFound('private location', id);
  const [location] = await present(db, deps, [row]);
  return location;
}

/** Locks a private location until the transaction ends. Throws 404. */
async function locked(tx: Db, accountId: string, id: string): Promise<LocationRow> {
  const row = isUuid(id) ? await lockPrivateLocation(tx, { accountId, id }) : undefined;
  if (row === undefined) throw notFound('private location', id);
  return row;
}

/** Registers the routes of private locations. A location that one of `uses` names cannot be deleted. */
export function registerPrivateLocations(
  api: PublicApi,
  deps: ApiDeps,
  { uses }: { uses: readonly LocationUse[] },
): void {
  registerList(api, deps);
  registerCreate(api, deps);
  registerRead(api, deps);
  registerChange(api, deps, uses);
  registerDelete(api, deps, uses);
  registerCreateKey(api, deps);
  registerDeleteKey(api, deps);
}

function registerList(api: PublicApi, deps: ApiDeps): void {
  const { db } = deps;
  api.get(
    '/v1/private-locations',
    {
      schema: {
        operationId: 'listPrivateLocations',
        tags,
        summary: 'Private locations, oldest first',
        querystring: strict(
          Type.Object({
            ...paginationFields,
            versions: Type.Boolean({ default: true, description: 'Accepted; versions are always shown.' }),
          }),
        ),
        response: { 200: Type.Array(Type.Ref('PrivateLocation')), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countPrivateLocations(db, accountId) },
    },
    async ({ accountId, query }) => {
      return present(
        db,
        deps,
        await listLocations(db, { accountId, kind: 'private', limit: query.limit, offset: offsetOf(query) }),
      );
    },
  );
}

function registerCreate(api: PublicApi, deps: ApiDeps): void {
  const { db, now, encryption } = deps;

  api.post(
    '/v1/private-locations',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'createPrivateLocation',
        tags,
        summary: 'Create a private location; its agents need a key of it',
        body: CreateBody,
        response: { 201: Type.Ref('PrivateLocation'), ...errorResponses(400, 409, 413, 415) },
      },
    },
    async ({ accountId, body }, reply) => {
      checkProxyUrl(body.proxyUrl);
      checkAllowedNetworks(body.allowedNetworks);
      const id = uuidv7(now());
      const created = await insertPrivateLocation(db, {
        id,
        accountId,
        ...body,
        proxyUrl: sealed(encryption, body.proxyUrl),
        now: new Date(now()),
      });
      if (!created) throw slugTaken(body.slugName);
      return reply.code(201).send(await presentOne(db, deps, { accountId, id }));
    },
  );
}

function registerRead(api: PublicApi, deps: ApiDeps): void {
  const { db } = deps;

  api.get(
    '/v1/private-locations/:id',
    {
      schema: {
        operationId: 'getPrivateLocation',
        tags,
        summary: 'One private location',
        params: IdParams,
        response: { 200: Type.Ref('PrivateLocation'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }) => presentOne(db, deps, { accountId, id }),
  );
}

function registerChange(api: PublicApi, deps: ApiDeps, uses: readonly LocationUse[]): void {
  const { db, now, encryption } = deps;

  api.put(
    '/v1/private-locations/:id',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'updatePrivateLocation',
        tags,
        summary: 'Change a private location: fields that are left out stay as they are',
        params: IdParams,
        body: ChangeBody,
        response: { 200: Type.Ref('PrivateLocation'), ...errorResponses(400, 404, 409, 413, 415) },
      },
    },
    async ({ accountId, body, params: { id } }) =>
      db.tx(async (tx) => {
        const row = await locked(tx, accountId, id);
        const before = opened(encryption, row);
        // A client may send back what it read: the masked form of the present URL changes nothing.
        const proxyUrl =
          body.proxyUrl === undefined || body.proxyUrl === masked(before) ? before : body.proxyUrl;
        checkProxyUrl(proxyUrl);
        const { allowedNetworks = row.allowedNetworks, slugName = row.slugName } = body;
        checkAllowedNetworks(allowedNetworks);
        const updated = await updatePrivateLocation(tx, {
          id,
          accountId,
          name: body.name ?? row.name,
          slugName,
          icon: body.icon ?? row.icon,
          proxyUrl: sealed(encryption, proxyUrl),
          allowedNetworks,
          stopsInOutages: body.stopsInOutages ?? row.stopsInOutages,
          now: new Date(now()),
        });
        if (!updated) throw slugTaken(slugName);
        if (slugName !== row.slugName) {
          for (const { rename } of uses) await rename(tx, { accountId, from: row.slugName, to: slugName });
        }
        return presentOne(tx, deps, { accountId, id });
      }),
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps, uses: readonly LocationUse[]): void {
  api.delete(
    '/v1/private-locations/:id',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'deletePrivateLocation',
        tags,
        summary: 'Delete a private location that no check uses',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      await db.tx(async (tx) => {
        const row = await locked(tx, accountId, id);
        for (const { resources, introduction, at } of uses) {
          const names = await at(tx, { accountId, slugName: row.slugName, limit: 3 });
          if (names.length === 0) continue;
          throw conflict(`The location is still assigned to ${resources}.`, {
            id: [`${introduction}: ${names.join(', ')}${names.length === 3 ? ', …' : ''}`],
          });
        }
        await deleteLocation(tx, id);
      });
      return reply.code(204).send(null);
    },
  );
}

function registerCreateKey(api: PublicApi, { db, now }: ApiDeps): void {
  api.post(
    '/v1/private-locations/:id/keys',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'createPrivateLocationKey',
        tags,
        summary: 'Add a key to a private location; a location has at most two',
        params: IdParams,
        response: { 201: Type.Ref('NewLocationKey'), ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      const key = await db.tx(async (tx) => {
        await locked(tx, accountId, id);
        return addLocationKey(tx, { locationId: id, now: now() });
      });
      return reply.code(201).send(key);
    },
  );
}

function registerDeleteKey(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/private-locations/:id/keys/:keyId',
    {
      config: { access: 'ADMIN' },
      schema: {
        operationId: 'deletePrivateLocationKey',
        tags,
        summary: 'Delete a key: agents that use it are refused from now on',
        params: strict(Type.Object({ id: Type.String(), keyId: Type.String() })),
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id, keyId } }, reply) => {
      const row = isUuid(id) ? await findPrivateLocation(db, { accountId, id }) : undefined;
      if (row === undefined) throw notFound('private location', id);
      if (!isUuid(keyId) || !(await deleteLocationKey(db, { locationId: id, keyId }))) {
        throw notFound('key', keyId, 'keyId');
      }
      return reply.code(204).send(null);
    },
  );
}
