import type { FastifyRequest } from 'fastify';
import Type, { type TSchema } from 'typebox';
import { runnableTypes } from '../../protocol/check-types.ts';
import { Nullable } from '../../protocol/schema.ts';
import { lockCheckGroup } from '../checks/storage/group-statements.ts';
import { lockCheck } from '../checks/storage/statements.ts';
import type { Db } from '../db/database.ts';
import {
  deleteTrigger,
  findTrigger,
  insertTrigger,
  listTriggers,
  type TriggerOf,
  type TriggerRow,
} from './statements.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { mayAct } from '../http/fields/roles.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { hashToken } from '../engine/keys.ts';
import { newToken, tokenLength } from './tokens.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { isUuid, numberId } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { baseUrl } from '../http/base-url.ts';
import { bodyOrNone } from '../http/optional-body.ts';
import { date, dayOf } from '../http/fields/dates.ts';

/** Triggers: each check and each group has at most one (specification, "Check trigger"). */

const notForReaders = 'Asterisks for keys with the role READ_ONLY.';

const trigger = <S extends TSchema>(title: string, name: string, id: S) =>
  open(
    Type.Object(
      {
        id: Type.Integer(),
        token: Type.String({
          minLength: tokenLength,
          maxLength: tokenLength,
          description: `Whoever knows it can run the check. ${notForReaders}`,
        }),
        [name]: id,
        url: Type.String({ description: `GET or POST it: no other authentication. ${notForReaders}` }),
        created_at: date,
        called_at: Nullable(date),
        updated_at: Nullable(date),
      },
      { $id: title, title },
    ),
  );
export const CheckTrigger = trigger('CheckTrigger', 'checkId', Type.String({ format: 'uuid' }));
export const CheckGroupTrigger = trigger('CheckGroupTrigger', 'groupId', Type.Integer());

type Kind = {
  path: 'checks' | 'check-groups';
  label: string;
  parameter: string;
  title: string;
  /** Parses the id; null = no check or group can have this id. */
  of: (id: string) => TriggerOf | null;
  /**
   * Locks the check or group; false = the account has none with this id. Throws HttpError if it cannot have a trigger.
   */
  lock: (tx: Db, accountId: string, of: TriggerOf) => Promise<boolean>;
};

const kinds: readonly Kind[] = [
  {
    path: 'checks',
    label: 'check',
    parameter: 'checkId',
    title: 'CheckTrigger',
    of: (id) => (isUuid(id) ? { checkId: id, groupId: null } : null),
    lock: async (tx, accountId, { checkId }) => {
      const row = checkId === null ? undefined : await lockCheck(tx, { accountId, id: checkId });
      if (row !== undefined && !runnableTypes.some((type) => type === row.checkType)) {
        throw badRequest({
          checkId: [
            `names a check of type ${row.checkType}, which waits for pings and cannot be run by a trigger`,
          ],
        });
      }
      return row !== undefined;
    },
  },
  {
    path: 'check-groups',
    label: 'check group',
    parameter: 'groupId',
    title: 'CheckGroupTrigger',
    of: (id) => {
      const groupId = numberId(id);
      return groupId === null ? null : { checkId: null, groupId };
    },
    lock: async (tx, accountId, { groupId }) =>
      groupId !== null && (await lockCheckGroup(tx, { accountId, id: groupId }, 'share')) !== undefined,
  },
];

export function registerTriggers(api: PublicApi, deps: ApiDeps): void {
  for (const kind of kinds) registerKind(api, deps, kind);
}

function registerKind(api: PublicApi, { db, encryption, now, publicUrl }: ApiDeps, kind: Kind): void {
  const { label, parameter, title } = kind;
  const path = `/v1/triggers/${kind.path}/:${parameter}`;
  const tags = ['Triggers'];
  const params = strict(Type.Object({ [parameter]: Type.String() }));
  const idOf = (request: { params: { [name: string]: string } }) => request.params[parameter] ?? '';
  const none = (id: string) => notFound(`trigger of a ${label}`, id, parameter);
  const response = Type.Ref(title);

  const present = (row: TriggerRow, request: FastifyRequest) => {
    const base = baseUrl(publicUrl, request);
    const id = row.checkId ?? row.groupId;
    const isShown = mayAct(request.role, 'READ_RUN');
    const token = isShown ? encryption.open(row.token) : '*'.repeat(tokenLength);
    return {
      id: row.id,
      token,
      [parameter]: id,
      url: `${base}/${kind.path}/${String(id)}/trigger/${token}`,
      created_at: dayOf(row.createdAt),
      called_at: dayOf(row.calledAt),
      updated_at: dayOf(row.updatedAt),
    };
  };

  api.get(
    `/v1/triggers/${kind.path}`,
    {
      schema: {
        operationId: `list${title}s`,
        tags,
        summary: `The triggers of ${label}s, oldest first`,
        querystring: strict(
          Type.Object({
            ...paginationFields,
            [parameter]: Type.Optional(
              Type.String({ maxLength: 64, description: `Only the trigger of this ${label}.` }),
            ),
          }),
        ),
        response: { 200: Type.Array(response), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      const id: unknown = Object.entries(query).find(([name]) => name === parameter)?.[1];
      const of = typeof id === 'string' ? kind.of(id) : null;
      // A text that is not an id matches nothing.
      if (id !== undefined && of === null) return [];
      const page = { limit: query.limit, offset: offsetOf(query) };
      const rows = await listTriggers(db, { accountId, kind: kind.path, of, ...page });
      return rows.map((row) => present(row, request));
    },
  );

  api.get(
    path,
    {
      schema: {
        operationId: `get${title}`,
        tags,
        summary: `The trigger of a ${label}`,
        params,
        response: { 200: response, ...errorResponses(404) },
      },
    },
    async (request) => {
      const of = kind.of(idOf(request));
      const row = of === null ? undefined : await findTrigger(db, { ...of, accountId: request.accountId });
      if (row === undefined) throw none(idOf(request));
      return present(row, request);
    },
  );

  api.post(
    path,
    {
      preValidation: bodyOrNone,
      schema: {
        operationId: `create${title}`,
        tags,
        summary: `Give a ${label} a trigger: a URL that runs it`,
        params,
        body: strict(Type.Object({})),
        response: { 201: response, ...errorResponses(400, 404, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { accountId } = request;
      const id = idOf(request);
      const of = kind.of(id);
      if (of === null) throw notFound(label, id, parameter);
      const token = newToken();
      const row = await db.tx(async (tx) => {
        if (!(await kind.lock(tx, accountId, of))) throw notFound(label, id, parameter);
        const isNew = await insertTrigger(tx, {
          ...of,
          accountId,
          token: encryption.seal(token),
          tokenHash: hashToken(token),
          now: new Date(now()),
        });
        if (!isNew) {
          throw conflict(
            `The ${label} already has a trigger. Read it with GET, or DELETE it first to get a new token.`,
            {
              [parameter]: ['already has a trigger'],
            },
          );
        }
        return findTrigger(tx, { ...of, accountId });
      });
      if (row === undefined) throw none(id);
      return reply.code(201).send(present(row, request));
    },
  );

  api.delete(
    path,
    {
      schema: {
        operationId: `delete${title}`,
        tags,
        summary: `Delete the trigger of a ${label}, whose URL then answers 404`,
        params,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async (request, reply) => {
      const of = kind.of(idOf(request));
      const deleted = of !== null && (await deleteTrigger(db, { ...of, accountId: request.accountId }));
      if (!deleted) throw none(idOf(request));
      return reply.code(204).send(null);
    },
  );
}
