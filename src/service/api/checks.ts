import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { checkTypes, probeTypes, type ProbeType } from '../../protocol/check-types.ts';
import { StringEnum } from '../../protocol/schema.ts';
import {
  deleteCheck,
  findCheck,
  insertCheck,
  listChecks,
  lockCheck,
  updateCheck,
  type CheckRow,
  type CheckWrite,
} from '../db/checks.ts';
import type { Db } from '../db/database.ts';
import { uuidv7 } from '../ids.ts';
import { shareLockPrivateSlugs } from '../db/locations.ts';
import { badRequest, HttpError, notFound } from '../errors-http.ts';
import { intervalSeconds, nextDueAt, offsetProblem, offsetSeconds } from '../schedule-rules.ts';
import { strict } from '../strict-schema.ts';
import type { ApiDeps, PublicApi } from './public-api.ts';
import { errorResponses } from './api-errors.ts';
import { createProblems, settleCheck, type Problems, type SettledCheck } from './check-rules.ts';
import { checkSchemas, type ChangeBody, type CreateBody } from './check-schemas.ts';
import { fromRow, keepSecretValues, presentCheck, toDefinition, typeOf } from './check-storage.ts';
import { ensureDataCenterRows } from './locations.ts';
import { offsetOf, paginationFields } from './pagination.ts';
import { IdParams, isUuid } from './path-params.ts';

const responseNames: { readonly [T in ProbeType]: string } = {
  URL: 'UrlCheck',
  API: 'ApiCheck',
  TCP: 'TcpCheck',
  DNS: 'DnsCheck',
  ICMP: 'IcmpCheck',
};

const ListQuery = strict(
  Type.Object({
    ...paginationFields,
    checkType: Type.Optional(StringEnum(checkTypes)),
    activated: Type.Optional(Type.Boolean()),
    tag: Type.Optional(Type.String({ maxLength: 256, description: 'Checks with this tag.' })),
    location: Type.Optional(
      Type.String({ maxLength: 64, description: 'Checks that run at this location code or slug name.' }),
    ),
    search: Type.Optional(Type.String({ maxLength: 256, description: 'Part of the name, in any case.' })),
  }),
);

async function checkPrivateLocations(
  tx: Db,
  options: { accountId: string; slugs: readonly string[]; problems: Problems },
): Promise<void> {
  if (options.slugs.length === 0) return;
  const known = await shareLockPrivateSlugs(tx, options);
  for (const [index, slug] of options.slugs.entries()) {
    if (!known.includes(slug)) {
      options.problems.add(
        `privateLocations.${index}`,
        `names no private location of this account (${slug})`,
      );
    }
  }
}

function refuse(problems: Problems): void {
  const attributes = problems.attributes();
  if (attributes !== null) throw badRequest(attributes);
}

/** Routes of checks. `app` is `api` without types: the five types' routes are one piece of code. */
export function registerChecks(app: FastifyInstance, api: PublicApi, deps: ApiDeps): void {
  for (const type of probeTypes) registerType(app, deps, type);
  registerAnyType(api, deps);
}

/** Settles a whole check, refuses what is wrong with it, and gives the row to write. */
async function prepare(
  tx: Db,
  deps: ApiDeps,
  options: { type: ProbeType; body: CreateBody<ProbeType>; id: string; accountId: string },
): Promise<CheckWrite> {
  const { type, body, id, accountId } = options;
  const problems = createProblems();
  const settled: SettledCheck = settleCheck(type, body, problems);
  const offset = offsetProblem(settled);
  if (offset !== null) problems.add('frequencyOffset', offset);
  await checkPrivateLocations(tx, { accountId, slugs: settled.privateLocations, problems });
  refuse(problems);
  const now = deps.now();
  await ensureDataCenterRows(tx, { accountId, codes: settled.locations, now });
  const schedule = { intervalSeconds: intervalSeconds(settled), offsetSeconds: offsetSeconds(settled, id) };
  return {
    id,
    accountId,
    checkType: type,
    name: settled.name,
    activated: settled.activated,
    muted: settled.muted,
    tags: settled.tags,
    groupId: settled.groupId,
    locations: settled.locations,
    privateLocations: settled.privateLocations,
    runParallel: settled.runParallel,
    frequency: settled.frequency,
    frequencyOffset: settled.frequencyOffset ?? null,
    definition: toDefinition(settled, deps.encryption),
    ...schedule,
    nextDueAt: nextDueAt(schedule, now),
    now: new Date(now),
  };
}

function registerType(api: FastifyInstance, deps: ApiDeps, type: ProbeType): void {
  const { db, encryption, now } = deps;
  const path = `/v1/checks/${type.toLowerCase()}`;
  const { create, change } = checkSchemas[type];
  const title = type.charAt(0) + type.slice(1).toLowerCase();

  async function present(queryable: Db, accountId: string, id: string) {
    const row = await findCheck(queryable, { accountId, id });
    if (row === undefined) throw notFound('check', id);
    return presentCheck(row, encryption);
  }

  api.post(
    path,
    {
      schema: {
        operationId: `create${title}Check`,
        tags: ['Checks'],
        summary: `Create a check of type ${type}`,
        querystring: strict(
          Type.Object({
            autoAssignAlerts: Type.Boolean({
              default: true,
              description: 'Subscribe the new check to all existing alert channels.',
            }),
          }),
        ),
        body: create,
        response: { 201: Type.Ref(responseNames[type]), ...errorResponses(400, 413, 415) },
      },
    },
    async (request, reply) => {
      const { accountId } = request;
      const body = request.body as CreateBody<ProbeType>; // validated by `create` above
      const id = uuidv7(now());
      const check = await db.tx(async (tx) => {
        await insertCheck(tx, await prepare(tx, deps, { type, body, id, accountId }));
        return present(tx, accountId, id);
      });
      return reply.code(201).send(check);
    },
  );

  api.put(
    `${path}/:id`,
    {
      schema: {
        operationId: `update${title}Check`,
        tags: ['Checks'],
        summary: `Change a check of type ${type}: fields that are left out stay as they are`,
        params: IdParams,
        body: change,
        response: { 200: Type.Ref(responseNames[type]), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async (request) => {
      const { accountId } = request;
      const { id } = request.params as { id: string }; // IdParams
      const changes = request.body as ChangeBody<ProbeType>; // validated by `change` above
      return db.tx(async (tx) => {
        const row = isUuid(id) ? await lockCheck(tx, { accountId, id }) : undefined;
        if (row === undefined) throw notFound('check', id);
        if (row.checkType !== type) {
          throw new HttpError(404, `The check ${id} is of type ${row.checkType}, not ${type}.`, {
            id: [
              `names a check of type ${row.checkType}: change it at /v1/checks/${row.checkType.toLowerCase()}/${id}`,
            ],
          });
        }
        await updateCheck(
          tx,
          await prepare(tx, deps, { type, body: merged(deps, row, changes), id, accountId }),
        );
        return present(tx, accountId, id);
      });
    },
  );
}

/** The stored check with a change laid over it. */
function merged(
  { encryption }: ApiDeps,
  row: CheckRow,
  changes: ChangeBody<ProbeType>,
): CreateBody<ProbeType> {
  const stored = fromRow(row, encryption);
  const {
    id: _id,
    checkType: _checkType,
    alertChannels: _alertChannels,
    created_at: _createdAt,
    updated_at: _updatedAt,
    ...given
  } = changes;
  const body = {
    ...stored,
    ...given,
    environmentVariables: keepSecretValues(
      given.environmentVariables ?? (given.environmentVariables === null ? [] : stored.environmentVariables),
      stored.environmentVariables,
    ),
  };
  // A new frequency with no offset of its own: the old offset was for the old frequency.
  if (
    given.frequency !== undefined &&
    given.frequency !== stored.frequency &&
    given.frequencyOffset === undefined
  ) {
    delete body.frequencyOffset;
  }
  return body as CreateBody<ProbeType>; // a stored check of the type, every changed field validated
}

function registerAnyType(api: PublicApi, { db, encryption }: ApiDeps): void {
  api.get(
    '/v1/checks',
    {
      schema: {
        operationId: 'listChecks',
        tags: ['Checks'],
        summary: 'Checks of every type, oldest first',
        querystring: ListQuery,
        response: { 200: Type.Array(Type.Ref('Check')), ...errorResponses(400) },
      },
    },
    async ({ accountId, query }) => {
      const rows = await listChecks(db, {
        accountId,
        checkType: query.checkType ?? null,
        activated: query.activated ?? null,
        tag: query.tag ?? null,
        location: query.location ?? null,
        search: query.search ?? null,
        limit: query.limit,
        offset: offsetOf(query),
      });
      return rows.filter((row) => typeOf(row) !== null).map((row) => presentCheck(row, encryption));
    },
  );

  api.get(
    '/v1/checks/:id',
    {
      schema: {
        operationId: 'getCheck',
        tags: ['Checks'],
        summary: 'One check of any type',
        params: IdParams,
        querystring: strict(
          Type.Object({
            includeDependencies: Type.Boolean({
              default: false,
              description: 'Include dependency files, which only checks with scripts have.',
            }),
            applyGroupSettings: Type.Boolean({
              default: false,
              description: 'Show a check of a group with the settings of its group applied.',
            }),
          }),
        ),
        response: { 200: Type.Ref('Check'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params: { id } }) => {
      const row = isUuid(id) ? await findCheck(db, { accountId, id }) : undefined;
      if (row === undefined) throw notFound('check', id);
      return presentCheck(row, encryption);
    },
  );

  api.delete(
    '/v1/checks/:id',
    {
      schema: {
        operationId: 'deleteCheck',
        tags: ['Checks'],
        summary: 'Delete a check; its results stay until they are too old',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      // A transaction, because one is tried again: results of the check's jobs lock the same rows in another order.
      const deleted = isUuid(id) && (await db.tx((tx) => deleteCheck(tx, { accountId, id })));
      if (!deleted) throw notFound('check', id);
      return reply.code(204).send(null);
    },
  );
}
