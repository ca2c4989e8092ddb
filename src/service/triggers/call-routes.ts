import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { inputProblem } from '../http/input-limits.ts';
import { isUuid, numberId } from '../http/fields/path-params.ts';
import { countCall, findTrigger, type TriggerOf, type TriggerRow } from './statements.ts';
import { badRequest, HttpError } from '../http/errors.ts';
import { ignoreBodies } from '../http/ignored-body.ts';
import type { Db } from '../db/database.ts';
import { createSessionWaiting } from '../sessions/waiting.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { runTrigger, type Deployment } from './runs.ts';
import { isToken, tokenLength } from './tokens.ts';

/**
 * The trigger URLs: a request with the token runs the check or the group, and the answer has the outcome (facts, 5.5).
 */

const callsPerMinute = 10;

const optionalText = (description: string) => Type.Optional(Type.String({ maxLength: 2048, description }));
const Query = strict(
  Type.Object({
    deployment: optionalText('Variable DEPLOYMENT of the runs.'),
    repository: optionalText('Variable REPOSITORY.'),
    sha: optionalText('Variable SHA.'),
    environmentUrl: optionalText('Variable ENVIRONMENT_URL.'),
    ENVIRONMENT_URL: optionalText('Another name of environmentUrl.'),
    environmentName: optionalText('Variable ENVIRONMENT_NAME.'),
    deploymentId: optionalText('Variable DEPLOYMENT_ID.'),
    runLocation: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: "Location code or slug name; without it the check's next location.",
      }),
    ),
  }),
);
type Query = Deployment & { runLocation?: string };

const Outcome = Type.Object({
  hasFailures: Type.Boolean({ description: 'Whether a run failed, or did not take place.' }),
  responseTime: Type.Optional(Type.Number({ description: 'Of an API check, in milliseconds.' })),
  message: Type.Optional(Type.String()),
});

type Kind = { path: string; operation: string; label: string; of: (id: string) => TriggerOf | null };
const kinds: readonly Kind[] = [
  {
    path: 'checks',
    operation: 'callCheckTrigger',
    label: 'Run a check',
    of: (id) => (isUuid(id) ? { checkId: id, groupId: null } : null),
  },
  {
    path: 'check-groups',
    operation: 'callCheckGroupTrigger',
    label: 'Run the checks of a group, in its order and so many at a time as it says,',
    of: (id) => {
      const groupId = numberId(id);
      return groupId === null ? null : { checkId: null, groupId };
    },
  },
];

export function registerTriggerCalls(
  app: FastifyInstance,
  deps: { db: Db; now: () => number; waitMs?: number },
): void {
  void app.register(async (instance) => {
    ignoreBodies(instance);
    const waiting = createSessionWaiting(instance, deps.db);
    for (const kind of kinds) {
      for (const method of ['GET', 'POST'] as const) {
        instance.route({
          method,
          url: `/${kind.path}/:id/trigger/:token`,
          exposeHeadRoute: false,
          onRequest: async (request) => {
            const problem = inputProblem(request.query, 'query');
            if (problem !== null) throw badRequest(problem);
          },
          schema: {
            operationId: `${kind.operation}${method === 'GET' ? '' : 'ByPost'}`,
            tags: ['Triggers'],
            summary: `${kind.label} and wait for the end, 30 seconds at most`,
            description: `No authentication: the token is the key. ${callsPerMinute} calls a minute; a body is ignored.`,
            security: [],
            params: Type.Object({ id: Type.String(), token: Type.String() }),
            querystring: Query,
            response: {
              200: Type.Unsafe({ ...Outcome, description: 'Everything passed' }),
              503: Type.Unsafe({ ...Outcome, description: 'Something failed, or has not ended in time' }),
              400: Type.Ref('Error', { description: 'A parameter is not valid' }),
              404: Type.Ref('Error', { description: 'There is no such trigger' }),
              409: Type.Ref('Error', { description: 'There is nothing to run' }),
              429: Type.Ref('Error', { description: 'Too many calls: ask again later' }),
            },
          },
          handler: (request, reply) => call({ ...deps, waiting }, kind, request, reply),
        });
      }
    }
  });
}

async function call(
  deps: Parameters<typeof runTrigger>[0] & { waitMs?: number },
  kind: Kind,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { id, token } = request.params as { id: string; token: string }; // the schema above
  const { runLocation = null, ...deployment } = request.query as Query; // as above
  void reply.header('cache-control', 'no-store');
  const trigger = await authorised(deps, kind.of(id), token);
  const calls = await countCall(deps.db, { id: trigger.id, now: new Date(deps.now()), max: callsPerMinute });
  if (calls > callsPerMinute) {
    void reply.header('retry-after', '60');
    throw new HttpError(
      429,
      `More than ${callsPerMinute} calls of this trigger in a minute. Try again later.`,
    );
  }
  const outcome = await runTrigger(deps, request, {
    trigger,
    deployment,
    runLocation,
    ...(deps.waitMs === undefined ? {} : { waitMs: deps.waitMs }),
  });
  const { hasFailures, responseTime, isGoingOn } = outcome;
  return reply.code(hasFailures || isGoingOn ? 503 : 200).send({
    hasFailures,
    ...(responseTime === null ? {} : { responseTime }),
    ...(isGoingOn ? { message: 'Not all runs finished in time. They continue.' } : {}),
  });
}

async function authorised({ db }: { db: Db }, of: TriggerOf | null, token: string): Promise<TriggerRow> {
  const trigger = of === null ? undefined : await findTrigger(db, { ...of, accountId: null });
  if (trigger === undefined || token.length !== tokenLength || !isToken(token, trigger.tokenHash)) {
    throw new HttpError(404, 'No such trigger exists.', { token: ['is not the token of this trigger'] });
  }
  return trigger;
}
