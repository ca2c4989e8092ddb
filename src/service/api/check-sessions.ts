import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { checkTypes } from '../../protocol/check-types.ts';
import { StringEnum } from '../../protocol/schema.ts';
import { HttpError } from '../http/errors.ts';
import { uuidv7 } from '../ids.ts';
import { checkSessionStatus, checkStatuses } from '../scheduling/session-rules.ts';
import { checkRoom, planSessionRuns, startSessions, type StartedSession } from '../scheduling/sessions.ts';
import { open, strict } from '../http/strict-schema.ts';
import { errorResponses } from './api-errors.ts';
import type { PublicApi } from './public-api.ts';
import { baseUrl } from './result-artifacts.ts';
import {
  bodyOrNone,
  presentSession,
  refreshCache,
  runFields,
  sessionFields,
  Target,
} from './session-form.ts';
import { registerSessionRoutes, type SessionDeps } from './session-routes.ts';

/** Check sessions: checks run now, each as a session of its own (specification, "Check sessions"; facts, 5.5). */

const fields = {
  checkSessionId: Type.String({ format: 'uuid' }),
  checkSessionLink: Type.String(),
  checkId: Type.String({ format: 'uuid' }),
  checkType: StringEnum(checkTypes),
  status: StringEnum(checkStatuses, {
    description: 'Final: PASSED, FAILED, DEGRADED, TIMED_OUT, CANCELLED, which is TIMED_OUT under /v1.',
  }),
  ...sessionFields,
};
export const StartedCheckSession = open(
  Type.Object(fields, { $id: 'StartedCheckSession', title: 'StartedCheckSession' }),
);
export const CheckSession = open(
  Type.Object({ ...fields, ...runFields }, { $id: 'CheckSession', title: 'CheckSession' }),
);

const TriggerBody = strict(Type.Object({ target: Type.Optional(Target), refreshCache }));
const kind = 'check';
const tag = 'Check sessions';

/** The same routes under both versions; they differ in one status. */
export function registerCheckSessions(api: PublicApi, deps: SessionDeps): void {
  for (const version of ['v1', 'v2'] as const) registerVersion(api, deps, version);
}

function registerVersion(api: PublicApi, deps: SessionDeps, version: 'v1' | 'v2'): void {
  const { now } = deps;
  const path = `/${version}/check-sessions`;
  const suffix = version === 'v1' ? 'V1' : '';

  const present = (started: StartedSession, request: FastifyRequest) => {
    const status = checkSessionStatus(started.runs);
    const { id, checkId } = started.session;
    return {
      checkSessionId: id,
      checkSessionLink: `${baseUrl(deps.publicUrl, request)}${path}/${id}`,
      checkId: checkId ?? '',
      checkType: started.runs[0]?.checkType ?? '',
      status: version === 'v1' && status === 'CANCELLED' ? 'TIMED_OUT' : status,
      ...presentSession(started, now()),
    };
  };

  api.post(
    `${path}/trigger`,
    {
      preValidation: bodyOrNone,
      schema: {
        operationId: `triggerCheckSessions${suffix}`,
        tags: [tag],
        summary: 'Run checks now: a session for each',
        description:
          'The checks run where their next scheduled runs would, muted or not, whether or not a scheduled run goes on. ' +
          'The answer does not wait for them.',
        body: TriggerBody,
        response: {
          201: Type.Object({ sessions: Type.Array(Type.Ref('StartedCheckSession')) }),
          ...errorResponses(400, 404, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      const { accountId, body } = request;
      const planned = await planSessionRuns(deps, {
        accountId,
        target: body.target ?? {},
        alsoDeactivated: false,
        runLocation: null,
      });
      if (planned.length === 0) {
        throw new HttpError(404, 'No check matches that is activated and has a location.', {
          target: ['matches no check'],
        });
      }
      await checkRoom(deps, { accountId, planned });
      const sessions = await startSessions(
        deps,
        planned.map((item) => ({
          session: {
            id: uuidv7(now()),
            accountId,
            kind,
            checkId: item.check.id,
            name: item.check.name,
            runSource: 'TRIGGER_API',
            refreshCache: body.refreshCache,
            metadata: null,
            environmentVariables: null,
          },
          planned: [item],
        })),
      );
      return reply.code(201).send({ sessions: sessions.map((started) => present(started, request)) });
    },
  );

  registerSessionRoutes(api, deps, {
    kind,
    path,
    what: 'check session',
    idName: 'checkSessionId',
    tag,
    operation: (verb) => `${verb}CheckSession${suffix}`,
    title: 'CheckSession',
    present,
  });
}
