import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { checkTypes, type CheckType } from '../../protocol/check-types.ts';
import { checkSchemas, checkTitles, type CreateBody } from '../checks/fields/schema.ts';
import { checkPaths } from '../checks/fields/paths.ts';
import { fromRow, keepSecretValues } from '../checks/storage/check.ts';
import { findCheck, insertCheck } from '../checks/storage/statements.ts';
import { serviceCheckTypes } from '../checks/types/table.ts';
import { prepareCheck } from '../checks/writes.ts';
import { rolledBack } from '../db/rolled-back.ts';
import { uuidv7 } from '../engine/ids.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { isUuid } from '../http/fields/path-params.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { findTargetChecks } from '../sessions/target-statements.ts';
import type { SessionDeps } from '../sessions/shared-routes.ts';
import { presentTestSession } from '../sessions/test-session-routes.ts';
import { buildDrafts, startDrafts, type DraftOptions, type Drafts } from './drafts.ts';

/** Routes that run one check before it is saved. */

const TryQuery = strict(
  Type.Object({
    id: Type.Optional(
      Type.String({
        maxLength: 64,
        description:
          'The stored check that the body would replace. Secret variables without a value have their stored values.',
      }),
    ),
    runLocation: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'A location code or slug name; absent = where the first scheduled run would be.',
      }),
    ),
  }),
);

/** Registers `POST /v1/checks/{type}/try` for every type that runs. */
export function registerTries(api: FastifyInstance, deps: SessionDeps): void {
  for (const type of checkTypes) if (serviceCheckTypes[type].runBy !== 'nobody') registerTry(api, deps, type);
}

function registerTry(api: FastifyInstance, deps: SessionDeps, type: CheckType): void {
  const { db, encryption, now } = deps;

  /** The body with the secret values that its stored check has. Throws 404. */
  async function withStored(
    body: CreateBody<CheckType>,
    { accountId, id }: { accountId: string; id: string | undefined },
  ): Promise<CreateBody<CheckType>> {
    if (id === undefined) return body;
    const row = isUuid(id) ? await findCheck(db, { accountId, id }) : undefined;
    if (row === undefined || row.checkType !== type) throw notFound(`${type} check`, id);
    const stored = fromRow(row, encryption).environmentVariables;
    return { ...body, environmentVariables: keepSecretValues(body.environmentVariables ?? [], stored) };
  }

  api.post(
    `/v1/checks/${checkPaths[type]}/try`,
    {
      schema: {
        operationId: `try${checkTitles[type]}`,
        tags: ['Checks'],
        summary: `Run a check of type ${type} once, without storing it`,
        description:
          'The body is that of a new check, and errors are the same. The run is a test session of its own: it changes no ' +
          'status and sends no alert, and the check is in no list. Variables, snippets and the group of the account count. ' +
          'A definition can send secrets of the account anywhere, so it needs the role that saves checks.',
        querystring: TryQuery,
        body: checkSchemas[type].create,
        response: {
          201: Type.Ref('TestSession', { description: 'The test session has begun' }),
          ...errorResponses(400, 404, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      const { accountId } = request;
      const query = request.query as { id?: string; runLocation?: string }; // validated by TryQuery
      const given = request.body as CreateBody<CheckType>; // validated by `create`
      const body = await withStored(given, { accountId, id: query.id });
      const options: DraftOptions = {
        accountId,
        runLocation: query.runLocation ?? null,
        variables: [],
        retries: null,
        refreshCache: false,
      };
      const { ready, skipped } = await draftOf(body, options);
      const started = ready.length === 0 ? null : (await startIt(ready, body.name, options)).started;
      if (started === null) {
        const reason = skipped[0]?.reason ?? 'has a location that no agent has joined yet';
        throw badRequest({ locations: [reason] }, `The check cannot be run: it ${reason}.`);
      }
      return reply.code(201).send(await presentTestSession(deps, started, request));
    },
  );

  /** Builds the run of the check in a transaction that is rolled back. Throws 400. */
  async function draftOf(body: CreateBody<CheckType>, options: DraftOptions): Promise<Drafts> {
    const { accountId } = options;
    return rolledBack(db, async (tx) => {
      const id = uuidv7(now());
      await insertCheck(tx, await prepareCheck(tx, deps, { type, body, id, accountId }));
      const targets = await findTargetChecks(tx, { accountId, ids: [id], alsoDeactivated: true });
      return buildDrafts(tx, deps, targets, options);
    });
  }

  const startIt = (ready: Drafts['ready'], name: string, options: DraftOptions) =>
    startDrafts(deps, ready, { name: `Test run of ${name}`.slice(0, 256), options });
}
