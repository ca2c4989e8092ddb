import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { countOfAccount } from '../db/count-rows.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorBody } from '../http/error-body.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { ErrorBody, errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { findDeployment, goingDeployment } from './deployment-statements.ts';
import { presentDeployment, registerDeployments } from './deployment-routes.ts';
import { createDeployments, type Deployments } from './deployments.ts';
import { createReplay, type Replay } from './replay.ts';
import { registerResources } from './resource-routes.ts';
import { registerProjectTests } from './test-routes.ts';
import { DeployError, type Deploying } from './transaction.ts';
import { checkResources, deployBytes, deployShape } from './body-rules.ts';
import { DeleteQuery, DeployBody, DeployQuery } from './schema.ts';
import { bindingsOf, findProject, listProjects, type ProjectRow } from './statements.ts';

const tags = ['Projects'];
const project = Type.Ref('Project');
export const ProjectParams = strict(Type.Object({ logicalId: Type.String() }));

const presentProject = ({ logicalId, name, repoUrl, resourceCount, createdAt, updatedAt }: ProjectRow) => ({
  logicalId,
  name,
  repoUrl,
  resourceCount,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt?.toISOString() ?? null,
});

/** Registers the routes of projects and of their deployments. */
export function registerProjects(app: FastifyInstance, api: PublicApi, deps: ApiDeps): void {
  // Made with the first request that needs them.
  let replay: Promise<Replay> | null = null;
  const routes = () => (replay ??= createReplay(deps, app.log));
  const deployments = createDeployments(deps, routes, app.log);
  // Runs before the server waits for active requests. A deployment that has not finished is rolled back.
  app.addHook('preClose', () => deployments.stop());
  registerReads(api, deps);
  registerDeploy(api, deps, deployments);
  registerDelete(api, deps, deployments);
  registerDeployments(app, api, { ...deps, deployments });
  registerResources(api, deps, routes);
  registerProjectTests(api, deps, deployments);
}

function registerReads(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/projects',
    {
      schema: {
        operationId: 'listProjects',
        tags,
        summary: 'Projects, by logical id',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(project), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countOfAccount(db, 'projects', accountId) },
    },
    async ({ accountId, query }) => {
      const rows = await listProjects(db, { accountId, limit: query.limit, offset: offsetOf(query) });
      return rows.map(presentProject);
    },
  );

  api.get(
    '/v1/projects/:logicalId',
    {
      schema: {
        operationId: 'getProject',
        tags,
        summary: 'One project, with its resources',
        params: ProjectParams,
        response: { 200: project, ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { logicalId } }) => {
      const row = await findProject(db, { accountId, logicalId });
      if (row === undefined) throw notFound('project', logicalId, 'logicalId');
      const bindings = await bindingsOf(db, row.id);
      const resources = bindings.map(({ type, logicalId: id, physicalId, isProtected, isDetached }) => ({
        type,
        logicalId: id,
        physicalId,
        protected: isProtected,
        detached: isDetached,
      }));
      return { ...presentProject(row), resources };
    },
  );
}

const conflictOfDeployment = Type.Object(
  {
    ...ErrorBody.properties,
    errorCode: Type.String(),
    deploymentId: Type.Optional(Type.String({ format: 'uuid' })),
  },
  {
    description:
      'Another deployment of the project is going on (DEPLOYMENT_IN_PROGRESS), or the plan is stale',
  },
);
const answers = {
  200: Type.Ref('ProjectPlan', { description: 'What would change (dryRun)' }),
  202: Type.Ref('ProjectDeployment', { description: 'The deployment has begun' }),
};

function registerDeploy(api: PublicApi, deps: ApiDeps, deployments: Deployments): void {
  api.post(
    '/v1/projects/deploy',
    {
      bodyLimit: deployBytes,
      config: { shape: deployShape },
      schema: {
        operationId: 'deployProject',
        tags,
        summary: 'Make the resources of a project what its files describe, in one transaction',
        description:
          'Resources that are new are created, others are replaced as a whole: fields that are left out get their defaults. ' +
          'Resources of the project that are left out are deleted. Rules are those of the routes of each resource.',
        querystring: DeployQuery,
        body: DeployBody,
        response: { ...answers, ...errorResponses(400, 413, 415), 409: conflictOfDeployment },
      },
    },
    async (request, reply) => {
      const { body, query, accountId, role } = request;
      checkResources(body);
      return answer(request, reply, {
        deps,
        deployments,
        isDry: query.dryRun,
        input: {
          accountId,
          role,
          ...body,
          preserves: query.preserveResources,
          runsSoon: query.scheduleOnDeploy,
          refusesDeletions: query.refuseDeletions && !query.dryRun,
          deletesProject: false,
        },
      });
    },
  );
}

function registerDelete(api: PublicApi, deps: ApiDeps, deployments: Deployments): void {
  api.delete(
    '/v1/projects/:logicalId',
    {
      schema: {
        operationId: 'deleteProject',
        tags,
        summary: 'Delete a project with its resources, or keep the resources (preserveResources)',
        params: ProjectParams,
        querystring: DeleteQuery,
        response: { ...answers, ...errorResponses(404), 409: conflictOfDeployment },
      },
    },
    async (request, reply) => {
      const { accountId, role, query, params } = request;
      const row = await findProject(deps.db, { accountId, logicalId: params.logicalId });
      if (row === undefined) throw notFound('project', params.logicalId, 'logicalId');
      return answer(request, reply, {
        deps,
        deployments,
        isDry: query.dryRun,
        input: {
          accountId,
          role,
          project: row,
          resources: [],
          planToken: null,
          preserves: query.preserveResources,
          runsSoon: false,
          deletesProject: true,
        },
      });
    },
  );
}

type Deploy = { deps: ApiDeps; deployments: Deployments; isDry: boolean; input: Deploying };

async function answer(request: FastifyRequest, reply: FastifyReply, deploy: Deploy): Promise<unknown> {
  const { deps, deployments, isDry, input } = deploy;
  const { logicalId, name } = input.project;
  if (isDry) {
    const plan = await deployments.preview(input).catch((error: unknown) => {
      if (error instanceof DeployError) return error;
      throw error;
    });
    if (!(plan instanceof DeployError))
      return reply.code(200).send({ project: { logicalId, name }, ...plan });
    const { code, message, attributes } = plan;
    if (code !== 'PLAN_STALE') throw badRequest(attributes, message);
    return reply.code(409).send({ ...errorBody(409, message, attributes), errorCode: code });
  }
  const named = { accountId: request.accountId, logicalId };
  await deployments.endAbandoned(named);
  const id = await deployments.start(input);
  if (id === null) {
    const deploymentId = (await goingDeployment(deps.db, named)) ?? '';
    const text = `Another deployment of the project ${logicalId} is going on: wait for it, or cancel it.`;
    const error = errorBody(409, text, { logicalId: ['is being deployed'] });
    return reply.code(409).send({ ...error, errorCode: 'DEPLOYMENT_IN_PROGRESS', deploymentId });
  }
  const row = await findDeployment(deps.db, { ...named, id });
  if (row === undefined) throw notFound('deployment', id);
  return reply.code(202).send(presentDeployment(row, request.role));
}
