import { fastify, LogController, type FastifyInstance } from 'fastify';
import { compileOnUse } from './compile-on-use.ts';
import { clientErrorHandler, errorHandler, registerErrorHandlers } from './errors.ts';
import { storeIdsIn } from './ids-in-requests.ts';
import { registerOpenApi } from './openapi.ts';
import { refuseWhileStopping } from './stopping.ts';

export type ServerOptions = {
  logger?: FastifyInstance['log'];
  /** Addresses whose forwarding headers are believed; absent = none. */
  trustedProxies?: readonly string[];
};

/** The HTTP server without any feature's routes, not yet listening: parsing, limits, form of errors, OpenAPI document. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
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
  return app;
}
