import { fastify, LogController, type FastifyInstance } from 'fastify';
import Type from 'typebox';
import { version } from '../version.ts';
import { registerPublicApi } from './public-api.ts';
import type { ApiDeps } from './http/api.ts';
import { registerBadges } from './badges/routes.ts';
import { compileOnUse } from './http/compile-on-use.ts';
import { errorBody } from './http/error-body.ts';
import { clientErrorHandler, errorHandler, registerErrorHandlers } from './http/errors.ts';
import { storeIdsIn } from './http/ids-in-requests.ts';
import { registerPings } from './heartbeats/ping-routes.ts';
import { registerOpenApi } from './http/openapi.ts';
import { refuseWhileStopping } from './http/stopping.ts';
import { registerStatusPagesInPublic } from './public-pages/routes.ts';
import { registerTriggerCalls } from './triggers/call-routes.ts';
import { registerWeb } from './pages/routes.ts';

/** Adds routes to the service. */
type Plugin = (app: FastifyInstance) => void | Promise<void>;

/**
 * The service's HTTP side, not yet listening: the public API, health, the OpenAPI document, the page, and what
 * `plugins` add (the agents' routes).
 */
export async function buildApp(
  deps: ApiDeps,
  options: {
    logger?: FastifyInstance['log'];
    plugins?: readonly Plugin[];
    /** Whose word on the client's address, host and protocol is taken; absent = nobody's. */
    trustedProxies?: readonly string[];
  } = {},
): Promise<FastifyInstance> {
  const app: FastifyInstance = fastify({
    ...(options.logger === undefined ? {} : { loggerInstance: options.logger }),
    trustProxy: options.trustedProxies === undefined ? false : [...options.trustedProxies],
    // A line per request would drown everything else; failures are logged by the error handler.
    logController: new LogController({ disableRequestLogging: true }),
    // An id of any length is looked for, and not found.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 20_000 },
    // A path or a request that can't even be read gets the same form of answer.
    frameworkErrors: errorHandler,
    clientErrorHandler,
    ajv: {
      onCreate: compileOnUse,
      customOptions: {
        allErrors: true,
        verbose: true,
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: true,
        allowUnionTypes: true,
        // `deprecated`, `examples` and the like are for readers.
        strict: false,
      },
    },
    // Clients that dawdle over their request are let go; an answer may take longer, as claims of agents do.
    requestTimeout: 60_000,
    keepAliveTimeout: 75_000,
    forceCloseConnections: true,
    // refuseWhileStopping answers.
    return503OnClosing: false,
  });
  // What a test validates against the schemas is exactly what is sent: nothing is dropped on the way out.
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  app.decorateRequest('accountId', '');
  app.decorateRequest('apiKeyId', '');
  refuseWhileStopping(app);
  registerErrorHandlers(app);
  // Fastify would take text/plain too.
  app.removeAllContentTypeParsers();
  // An empty body is no JSON, but a DELETE or a POST without fields may still carry the content type.
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, request.method === 'DELETE' ? undefined : null);
    else void app.getDefaultJsonParser('error', 'error')(request, String(body), done);
  });
  app.addHook('preValidation', async ({ params }) => storeIdsIn(params));
  await registerOpenApi(app);
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
          503: Type.Ref('Error', { description: 'The database does not answer' }),
        },
      },
    },
    async (_request, reply) => {
      try {
        await deps.db.query('select 1');
      } catch {
        return reply.code(503).send(errorBody(503, 'The database does not answer.'));
      }
      return { state: 'running', version };
    },
  );
  registerPublicApi(app, deps);
  registerBadges(app, deps);
  registerPings(app, deps);
  registerTriggerCalls(app, deps);
  registerStatusPagesInPublic(app, deps);
  registerWeb(app, deps);
  for (const plugin of options.plugins ?? []) await plugin(app);
  await app.ready();
  return app;
}
