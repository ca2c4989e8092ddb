import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { version } from '../version.ts';
import { createAuthentication } from './accounts/auth.ts';
import { createSignInOnce, registerSignIn } from './accounts/web-sessions/routes.ts';
import { createWebSessions } from './accounts/web-sessions/sessions.ts';
import { registerPublicApi } from './public-api.ts';
import type { ApiDeps } from './http/api.ts';
import { registerBadges } from './badges/routes.ts';
import { createServer, type ServerOptions } from './http/server.ts';
import { registerPings } from './heartbeats/ping-routes.ts';

import { errorBody } from './http/error-body.ts';

import { registerStatusPagesInPublic } from './public-pages/routes.ts';
import { registerTriggerCalls } from './triggers/call-routes.ts';
import { serveFileSchema } from './projects/files/schema-routes.ts';
import { registerWeb } from './pages/routes.ts';

/** Adds routes to the service. */
type Plugin = (app: FastifyInstance) => void | Promise<void>;

/**
 * Creates the service's HTTP server with every feature's routes; it does not listen yet. `plugins` adds further
 * routes, for example those of the agent protocol.
 */
export async function buildApp(
  deps: ApiDeps,
  options: ServerOptions & { plugins?: readonly Plugin[] } = {},
): Promise<FastifyInstance> {
  const app = await createServer(options);
  app.get(
    '/health',
    {
      schema: {
        operationId: 'getHealth',
        tags: ['Service'],
        summary: 'Whether the service and its database answer',
        security: [],
        response: {
          200: Type.Object({ state: Type.Literal('running'), version: Type.String() }),
          400: Type.Ref('Error', { description: 'The request names no host, or several' }),
          503: Type.Ref('Error', { description: 'The database does not answer' }),
        },
      },
    },
    async (_request, reply) => {
      try {
        await deps.db.query('select 1');
      } catch {
        return reply
          .code(503)
          .header('retry-after', '2')
          .send(errorBody(503, 'The database does not answer.'));
      }
      return { state: 'running', version };
    },
  );
  const sessions = createWebSessions(deps);
  const authenticate = createAuthentication(deps, sessions);
  registerPublicApi(app, deps, authenticate);
  registerSignIn(app, deps, sessions);
  registerBadges(app, deps, authenticate);
  registerPings(app, deps);
  registerTriggerCalls(app, deps);
  registerStatusPagesInPublic(app, deps);
  serveFileSchema(app);
  registerWeb(app, { signInOnce: createSignInOnce(deps, sessions) });
  for (const plugin of options.plugins ?? []) await plugin(app);
  await app.ready();
  return app;
}
