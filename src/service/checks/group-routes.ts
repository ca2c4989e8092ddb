import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import {
  deleteCheckGroup,
  findCheckGroup,
  insertCheckGroup,
  listCheckGroups,
  lockCheckGroup,
  updateCheckGroup,
  type CheckGroupRow,
  type CheckGroupWrite,
} from './storage/group-statements.ts';
import { countOfAccount } from '../db/count-rows.ts';
import { namesOfGroupChecks } from './storage/statements.ts';
import type { Db } from '../db/database.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { replaceSubscriptions, subscribeToAll } from '../alert-channels/subscription-statements.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { checkSubscriptions, assignsAlerts, autoAssignAlerts } from './rules/channels.ts';
import { groupSchemas, type GroupBody, type GroupChange } from './fields/group-schema.ts';
import { groupFromRow, hasPhases, presentGroup, settleGroup, toGroupDefinition } from './storage/group.ts';
import { createProblems } from '../http/problems.ts';
import { keepSecretValues } from './storage/check.ts';
import { warningsOf } from './warnings.ts';
import { checkPrivateLocations, checkSnippets } from './writes.ts';
import { ensureDataCenterRows } from '../locations/routes.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, numberId } from '../http/fields/path-params.ts';
import type { ApiDeps } from '../http/api.ts';

/** Routes of check groups. Both generations address the same groups; they differ in the defaults of a create. */
export function registerCheckGroups(app: FastifyInstance, deps: ApiDeps): void {
  for (const generation of ['v1', 'v2'] as const) {
    registerList(app, deps, generation);
    registerRead(app, deps, generation);
    registerCreate(app, deps, generation);
    registerChange(app, deps, generation);
    registerDelete(app, deps, generation);
  }
}

/** Validates a complete group and returns the row to write. */
async function prepareGroup(
  tx: Db,
  deps: ApiDeps,
  { body, accountId }: { body: GroupBody; accountId: string },
): Promise<CheckGroupWrite> {
  const problems = createProblems();
  const settled = settleGroup(body, problems);
  await checkSnippets(tx, { accountId, phases: settled, problems });
  await checkSubscriptions(tx, { accountId, subscriptions: body.alertChannelSubscriptions, problems });
  await checkPrivateLocations(tx, { accountId, slugs: settled.privateLocations, problems });
  const attributes = problems.attributes();
  if (attributes !== null) throw badRequest(attributes);
  await ensureDataCenterRows(tx, { accountId, codes: settled.locations, now: deps.now() });
  const { name, activated, muted, tags, locations, privateLocations, runParallel, runtimeId } = settled;
  return {
    accountId,
    name,
    activated,
    muted,
    tags,
    locations,
    privateLocations,
    runParallel,
    runtimeId,
    hasScripts: hasPhases(settled),
    definition: toGroupDefinition(settled, deps.encryption),
    now: new Date(deps.now()),
  };
}

/** The stored group with a change merged into it. */
function mergedGroup(
  { encryption }: ApiDeps,
  row: CheckGroupRow,
  { changes, generation }: { changes: GroupChange; generation: Generation },
): GroupBody {
  const stored = groupFromRow(row, encryption);
  const { id: _id, created_at: _created, updated_at: _updated, warnings: _warnings, ...given } = changes;
  const body = {
    ...stored,
    ...given,
    // A group without the setting is shown with false, which clients may send back. In v2, false leaves retries to each
    // check; a false that v1 has stored switches them off and stays.
    ...(given.doubleCheck === false &&
    (stored.doubleCheck === null || (generation === 'v2' && stored.doubleCheck))
      ? { doubleCheck: null }
      : {}),
    environmentVariables: keepSecretValues(
      given.environmentVariables ?? (given.environmentVariables === null ? [] : stored.environmentVariables),
      stored.environmentVariables,
    ),
  };
  return body as GroupBody; // a stored group, every changed field validated
}

/** Reads a group. `parameter` is the path parameter with its id. Throws 404. */
export async function groupRow(
  db: Db,
  accountId: string,
  id: string,
  parameter = 'id',
): Promise<CheckGroupRow> {
  const number = numberId(id);
  const row = number === null ? undefined : await findCheckGroup(db, { accountId, id: number });
  if (row === undefined) throw notFound('check group', id, parameter);
  return row;
}

type Generation = 'v1' | 'v2';

const tags = ['Check groups'];
const group = { 200: Type.Ref('CheckGroup') };
const pathOf = (generation: Generation) => `/${generation}/check-groups`;
/** Suffix of the operation ids. */
const suffixOf = (generation: Generation) => (generation === 'v1' ? '' : 'V2');
const idOf = (request: { params: unknown }) => (request.params as { id: string }).id; // IdParams

/** Locks a group until the transaction ends. Throws 404. */
async function locked(tx: Db, accountId: string, id: string): Promise<CheckGroupRow> {
  const number = numberId(id);
  const row = number === null ? undefined : await lockCheckGroup(tx, { accountId, id: number }, 'update');
  if (row === undefined) throw notFound('check group', id);
  return row;
}

function registerList(api: FastifyInstance, { db, encryption }: ApiDeps, generation: Generation): void {
  api.get(
    pathOf(generation),
    {
      schema: {
        operationId: `listCheckGroups${suffixOf(generation)}`,
        tags,
        summary: 'Check groups, oldest first',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('CheckGroup')), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countOfAccount(db, 'check_groups', accountId) },
    },
    async ({ accountId, query, role }) => {
      const page = query as { limit: number; page: number }; // paginationFields
      const rows = await listCheckGroups(db, { accountId, limit: page.limit, offset: offsetOf(page) });
      return rows.map((row) => presentGroup(row, encryption, role));
    },
  );
}

function registerRead(api: FastifyInstance, { db, encryption }: ApiDeps, generation: Generation): void {
  api.get(
    `${pathOf(generation)}/:id`,
    {
      schema: {
        operationId: `getCheckGroup${suffixOf(generation)}`,
        tags,
        summary: 'One check group',
        params: IdParams,
        response: { ...group, ...errorResponses(404) },
      },
    },
    async (request) =>
      presentGroup(await groupRow(db, request.accountId, idOf(request)), encryption, request.role),
  );
}

function registerCreate(api: FastifyInstance, deps: ApiDeps, generation: Generation): void {
  const { db, encryption } = deps;

  api.post(
    pathOf(generation),
    {
      schema: {
        operationId: `createCheckGroup${suffixOf(generation)}`,
        tags,
        summary:
          generation === 'v1'
            ? 'Create a check group whose runParallel, retries and alert settings take the place of its checks’'
            : 'Create a check group; a setting that is null leaves its checks alone',
        querystring: autoAssignAlerts.onDemand,
        body: groupSchemas[generation].create,
        response: { 201: Type.Ref('CheckGroup'), ...errorResponses(400, 413, 415) },
      },
    },
    async (request, reply) => {
      const { accountId } = request;
      const given = request.body as GroupBody; // validated by the schema above
      // In the second generation, the default false leaves retries to the checks.
      const leavesRetries = generation === 'v2' && given.doubleCheck !== true;
      const body = leavesRetries ? { ...given, doubleCheck: null } : given;
      const [row, warnings] = await db.tx(async (tx) => {
        const written = await prepareGroup(tx, deps, { body, accountId });
        const id = await insertCheckGroup(tx, written);
        await replaceSubscriptions(tx, { checkId: null, groupId: id }, body.alertChannelSubscriptions);
        if (assignsAlerts(request)) await subscribeToAll(tx, { accountId, checkId: null, groupId: id });
        const warned = request.replaces ? {} : await warningsOf(tx, null, written);
        return [await groupRow(tx, accountId, String(id)), warned];
      });
      return reply.code(201).send({ ...presentGroup(row, encryption, request.role), ...warnings });
    },
  );
}

function registerChange(api: FastifyInstance, deps: ApiDeps, generation: Generation): void {
  const { db, encryption } = deps;

  api.put(
    `${pathOf(generation)}/:id`,
    {
      schema: {
        operationId: `updateCheckGroup${suffixOf(generation)}`,
        tags,
        summary: 'Change a check group: fields that are left out stay as they are',
        params: IdParams,
        querystring: autoAssignAlerts.onDemand,
        body: groupSchemas[generation].change,
        response: { ...group, ...errorResponses(400, 404, 413, 415) },
      },
    },
    async (request) => {
      const { accountId } = request;
      const changes = request.body as GroupChange; // validated by the schema above
      return db.tx(async (tx) => {
        const row = await locked(tx, accountId, idOf(request));
        const body = mergedGroup(deps, row, { changes, generation });
        const written = await prepareGroup(tx, deps, { body, accountId });
        await updateCheckGroup(tx, row.id, written);
        await replaceSubscriptions(tx, { checkId: null, groupId: row.id }, body.alertChannelSubscriptions);
        if (assignsAlerts(request)) await subscribeToAll(tx, { accountId, checkId: null, groupId: row.id });
        const warnings = request.replaces ? {} : await warningsOf(tx, null, written);
        const now = await groupRow(tx, accountId, String(row.id));
        return { ...presentGroup(now, encryption, request.role), ...warnings };
      });
    },
  );
}

function registerDelete(api: FastifyInstance, { db }: ApiDeps, generation: Generation): void {
  api.delete(
    `${pathOf(generation)}/:id`,
    {
      schema: {
        operationId: `deleteCheckGroup${suffixOf(generation)}`,
        tags,
        summary: 'Delete a check group that has no checks',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404, 409) },
      },
    },
    async (request, reply) => {
      const { accountId } = request;
      await db.tx(async (tx) => {
        const { id } = await locked(tx, accountId, idOf(request));
        const names = await namesOfGroupChecks(tx, { accountId, groupId: id, limit: 3 });
        if (names.length > 0) {
          throw conflict('The group still has checks: delete them, or set their groupId to null.', {
            id: [`has the checks: ${names.join(', ')}${names.length === 3 ? ', …' : ''}`],
          });
        }
        await deleteCheckGroup(tx, { accountId, id });
      });
      return reply.code(204).send(null);
    },
  );
}
