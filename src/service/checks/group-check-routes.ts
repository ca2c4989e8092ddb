import Type from 'typebox';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { baseUrl } from '../http/base-url.ts';
import { notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { groupRow } from './group-routes.ts';
import { loadChannels } from './rules/channels.ts';
import { typeOf } from './storage/check.ts';
import { presentCheck } from './storage/shown-check.ts';
import { groupFromRow } from './storage/group.ts';
import { countChecksOfGroup, findCheck, listChecksOfGroup } from './storage/statements.ts';

const tags = ['Check groups'];

/** Routes of the checks in a group, with the group's settings applied. */
export function registerGroupChecks(api: PublicApi, { db, encryption, publicUrl }: ApiDeps): void {
  api.get(
    '/v1/check-groups/:id/checks',
    {
      schema: {
        operationId: 'listChecksOfGroup',
        tags,
        summary: "A group's checks with its settings applied, in the order of the group",
        params: IdParams,
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('Check')), ...errorResponses(400, 404) },
      },
      config: {
        countAll: async ({ accountId, params }) =>
          countChecksOfGroup(db, { accountId, groupId: Number((params as { id: string }).id) }),
      },
    },
    async (request) => {
      const { accountId, params, query } = request;
      const base = baseUrl(publicUrl, request);
      const row = await groupRow(db, accountId, params.id);
      const group = groupFromRow(row, encryption);
      const { limit } = query;
      const checks = await listChecksOfGroup(db, {
        accountId,
        groupId: row.id,
        limit,
        offset: offsetOf(query),
      });
      const channels = await loadChannels(db, {
        accountId,
        role: request.role,
        of: [row, ...checks],
        isList: true,
      });
      return checks
        .filter((check) => typeOf(check) !== null)
        .map((check) => presentCheck(check, encryption, { base, role: request.role, channels, group }));
    },
  );

  api.get(
    '/v1/check-groups/:groupId/checks/:checkId',
    {
      schema: {
        operationId: 'getCheckOfGroup',
        tags,
        summary: "One of a group's checks with its settings applied",
        params: strict(Type.Object({ groupId: Type.String(), checkId: Type.String() })),
        response: { 200: Type.Ref('Check'), ...errorResponses(404) },
      },
    },
    async (request) => {
      const { accountId } = request;
      const { groupId, checkId } = request.params;
      const row = await groupRow(db, accountId, groupId, 'groupId');
      const check = isUuid(checkId) ? await findCheck(db, { accountId, id: checkId }) : undefined;
      if (check === undefined || check.groupId !== row.id) throw notFound('check', checkId, 'checkId');
      const base = baseUrl(publicUrl, request);
      const channels = await loadChannels(db, {
        accountId,
        role: request.role,
        of: [row, check],
        isList: false,
      });
      return presentCheck(check, encryption, {
        base,
        role: request.role,
        channels,
        group: groupFromRow(row, encryption),
      });
    },
  );
}
