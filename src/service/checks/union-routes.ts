import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { checkTypes, isCheckType, type CheckType } from '../../protocol/check-types.ts';
import { StringEnum } from '../../protocol/schema.ts';
import { isFields } from '../../json-values.ts';
import type { ApiDeps } from '../http/api.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { validationAttributes } from '../http/validation-errors.ts';
import { autoAssignAlerts } from './rules/channels.ts';
import { typeOf } from './storage/check.ts';
import { findCheck } from './storage/statements.ts';

/** Routes that create and change a check of any type: its body names the type. */

/** What the routes of one type do, and the schemas of their bodies. */
export type CheckWriter = {
  create: object;
  change: object;
  createOne: (request: FastifyRequest) => Promise<object>;
  changeOne: (request: FastifyRequest) => Promise<object>;
};

const bodyOf = (required: boolean) => {
  const checkType = StringEnum(checkTypes);
  return Type.Object(
    { checkType: required ? checkType : Type.Optional(checkType) },
    { additionalProperties: true, description: 'The body of the route of this type.' },
  );
};

/** Registers `POST /v1/checks` and `PUT /v1/checks/{id}`. */
export function registerUnion(
  api: FastifyInstance,
  { db }: Pick<ApiDeps, 'db'>,
  writers: ReadonlyMap<CheckType, CheckWriter>,
): void {
  const writerOf = (type: CheckType): CheckWriter => {
    const writer = writers.get(type);
    if (writer === undefined) throw new Error(`no routes write checks of type ${type}`);
    return writer;
  };

  api.post(
    '/v1/checks',
    {
      schema: {
        operationId: 'createCheck',
        tags: ['Checks'],
        summary: 'Create a check of the type that its body names',
        description: 'Use the route of the type: its body is described in full.',
        deprecated: true,
        querystring: autoAssignAlerts.newCheck,
        body: bodyOf(true),
        response: { 201: Type.Ref('Check'), ...errorResponses(400, 413, 415) },
      },
    },
    async (request, reply) => {
      const { checkType } = request.body as { checkType: CheckType }; // validated by its schema
      const writer = writerOf(checkType);
      validate(request, writer.create);
      return reply.code(201).send(await writer.createOne(request));
    },
  );

  api.put(
    '/v1/checks/:id',
    {
      schema: {
        operationId: 'updateCheck',
        tags: ['Checks'],
        summary: 'Change a check of any type: fields that are left out stay as they are',
        description: 'Use the route of the type: its body is described in full.',
        deprecated: true,
        params: IdParams,
        querystring: autoAssignAlerts.onDemand,
        body: bodyOf(false),
        response: { 200: Type.Ref('Check'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async (request) => {
      const { id } = request.params as { id: string }; // IdParams
      const row = isUuid(id) ? await findCheck(db, { accountId: request.accountId, id }) : undefined;
      const type = row === undefined ? null : typeOf(row);
      if (type === null) throw notFound('check', id);
      const named = isFields(request.body) ? request.body['checkType'] : undefined;
      if (typeof named === 'string' && isCheckType(named) && named !== type)
        throw badRequest({ checkType: [`is ${type} and cannot be changed`] });
      const writer = writerOf(type);
      validate(request, writer.change);
      return writer.changeOne(request);
    },
  );
}

/** Validates a body by the schema of its type, as the route of the type does. Throws 400. */
function validate(request: FastifyRequest, schema: object): void {
  const check = request.compileValidationSchema(schema);
  if (check(request.body)) return;
  throw badRequest(validationAttributes(check.errors ?? [], 'body', request.body));
}
