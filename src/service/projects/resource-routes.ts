import Type from 'typebox';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { inventory, type Choice } from './inventory.ts';
import type { Replay } from './replay.ts';
import { ResourcesQuery } from './schema.ts';
import { findProject } from './statements.ts';

/** The route that describes what an account has, for files. */

/** Registers `GET /v1/resources`. */
export function registerResources(
  api: PublicApi,
  { db }: Pick<ApiDeps, 'db'>,
  routes: () => Promise<Replay>,
): void {
  api.get(
    '/v1/resources',
    {
      // Other keys do not see the values of locked variables and headers, so their files would lack them.
      config: { access: 'READ_WRITE' },
      schema: {
        operationId: 'describeResources',
        tags: ['Projects'],
        summary: 'All resources of the account, in the form that a deployment takes',
        description:
          'Fields with default values are left out, references are written by logical id, and secret values are masked.',
        querystring: ResourcesQuery,
        response: { 200: Type.Ref('ProjectResources'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, role, query: { project, unowned } }) => {
      if (project !== undefined && unowned)
        throw badRequest({ unowned: ['cannot be combined with project: leave one of them out'] });
      if (project !== undefined && (await findProject(db, { accountId, logicalId: project })) === undefined)
        throw notFound('project', project, 'project');
      const choice: Choice = project !== undefined ? { project } : unowned ? { project: null } : {};
      const replay = await routes();
      return {
        accountId,
        resources: await db.tx((tx) => inventory(replay, { tx, accountId, role }, choice)),
      };
    },
  );
}
