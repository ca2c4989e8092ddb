import Type from 'typebox';
import { settleVariables } from '../checks/rules/rules.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { baseUrl } from '../http/base-url.ts';
import { badRequest } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { createProblems } from '../http/problems.ts';
import { retriesOf } from '../sessions/form.ts';
import { checkResources, deployBytes, deployShape } from './body-rules.ts';
import type { Deployments } from './deployments.ts';
import { draftsOf, startTest, type Drafts, type TestOptions } from './draft-tests.ts';
import { TestBody } from './schema.ts';
import { DeployError } from './transaction.ts';

/** The route that tries checks out before they are applied. */

/** Runs of one session, since it is shown completely. */
const maxChecks = 1000;

/** Registers `POST /v1/projects/test`. */
export function registerProjectTests(api: PublicApi, deps: ApiDeps, deployments: Deployments): void {
  api.post(
    '/v1/projects/test',
    {
      bodyLimit: deployBytes,
      config: { shape: deployShape },
      schema: {
        operationId: 'testProject',
        tags: ['Projects'],
        summary: 'Run checks once as files describe them, before they are applied',
        description:
          'The runs are a test session. Nothing else in the account is changed, and the results do not count for the ' +
          'status of a check. Checks are run that the deployment would create or change, or whose group or snippets it would.',
        body: TestBody,
        response: {
          200: Type.Ref('ProjectTest', { description: 'There is nothing to run' }),
          201: Type.Ref('ProjectTest', { description: 'The test session has begun' }),
          ...errorResponses(400, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      const { accountId, role, body } = request;
      checkResources(body);
      const problems = createProblems();
      const variables = settleVariables(body.environmentVariables, problems);
      const wrong = problems.attributes();
      if (wrong !== null) throw badRequest(wrong);
      const options: TestOptions = {
        accountId,
        all: body.all,
        name: body.name ?? null,
        matchTags: body.matchTags,
        runLocation: body.runLocation ?? null,
        variables,
        retries: retriesOf(body),
        refreshCache: body.refreshCache,
      };
      const input = {
        accountId,
        role,
        project: body.project,
        resources: body.resources,
        planToken: null,
        preserves: false,
        runsSoon: false,
        deletesProject: false,
      };
      let drafts: Drafts = { ready: [], skipped: [], logicalIds: new Map() };
      await deployments
        .preview(input, async (tx, { diff }) => {
          drafts = await draftsOf(tx, deps, diff, options);
        })
        .catch((error: unknown) => {
          throw error instanceof DeployError ? badRequest(error.attributes, error.message) : error;
        });
      if (drafts.ready.length > maxChecks) {
        throw badRequest({
          all: [`selects ${drafts.ready.length} checks; a session has at most ${maxChecks}`],
        });
      }
      const { started, checks, skipped } = await startTest(deps, drafts, {
        name: `Test of ${body.project.name}`,
        options,
      });
      const id = started?.session.id ?? null;
      const base = baseUrl(deps.publicUrl, request);
      return reply.code(id === null ? 200 : 201).send({
        testSessionId: id,
        testSessionLink: id === null ? null : `${base}/v1/test-sessions/${id}`,
        startedAt: (started?.session.startedAt ?? new Date(deps.now())).toISOString(),
        checks,
        skipped,
      });
    },
  );
}
