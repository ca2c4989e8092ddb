import { toError } from '../../errors.ts';
import { fastify, LogController, type FastifyInstance } from 'fastify';
import { compressAnswers } from './answers/compressed-answers.ts';
import { compileOnUse } from './compile-on-use.ts';
import { checkBodyShape } from './body-shape.ts';
import { clientErrorHandler, errorHandler, registerErrorHandlers } from './errors.ts';
import { refuseAmbiguousHosts } from './host-header.ts';
import { normaliseIdsIn } from './ids-in-requests.ts';
import { registerOpenApi } from './document/openapi.ts';
import { refuseWhileStopping } from './stopping.ts';
import { createAnswerLimits, type AnswerLimits } from '../../unread-answers.ts';

export type ServerOptions = {
  logger?: FastifyInstance['log'];
  /** Addresses whose forwarding headers are trusted; absent = none. */
  trustedProxies?: readonly string[];
  /** For clients that do not read; absent = `usualAnswerLimits`. */
  answerLimits?: AnswerLimits;
};

/** Large enough for a download over a line that stands still for a while, and for clients that send requests ahead. */
const usualAnswerLimits: AnswerLimits = { unreadMs: 300_000, waiting: 64 };

/**
 * Creates the HTTP server without any feature's routes: parsing, limits, error form, OpenAPI document. It does not
 * listen yet.
 */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const limitAnswer = createAnswerLimits(options.answerLimits ?? usualAnswerLimits);
  const app: FastifyInstance = fastify({
    ...(options.logger === undefined ? {} : { loggerInstance: options.logger }),
    trustProxy: options.trustedProxies === undefined ? false : [...options.trustedProxies],
    // One log line per request would drown everything else. The error handler logs failures.
    logController: new LogController({ disableRequestLogging: true }),
    // Ids of any length reach the route, which answers 404.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 20_000 },
    // Unreadable paths and requests get the same form of answer.
    frameworkErrors: (error, request, reply) => {
      // No hook has seen these requests.
      if (limitAnswer(request.raw, reply.raw)) return errorHandler(error, request, reply);
      return reply.hijack();
    },
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
        // `deprecated`, `examples` and similar keywords are for readers.
        strict: false,
      },
    },
    // Closes connections of clients that send their request too slowly. An answer may take longer, for example an
    // agent's claim.
    requestTimeout: 60_000,
    keepAliveTimeout: 75_000,
    forceCloseConnections: true,
    // refuseWhileStopping answers instead.
    return503OnClosing: false,
  });
  // Sends exactly the object that tests validate against the schemas; nothing is dropped.
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  app.decorateRequest('accountId', '');
  app.decorateRequest('apiKeyId', '');
  app.decorateRequest('sessionId', null);
  app.decorateRequest('role', 'READ_ONLY');
  app.decorateRequest('replaces', false);
  refuseWhileStopping(app);
  app.addHook('onRequest', async (request, reply) => {
    if (!limitAnswer(request.raw, reply.raw)) reply.hijack();
  });
  refuseAmbiguousHosts(app);
  compressAnswers(app);
  registerErrorHandlers(app);
  // Fastify would also accept text/plain.
  app.removeAllContentTypeParsers();
  // An empty body is not JSON, but a DELETE or a POST without fields may still carry the content type.
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, request.method === 'DELETE' ? undefined : null);
    const { shape } = request.routeOptions.config;
    if (shape !== undefined) {
      try {
        checkBodyShape(String(body), shape);
      } catch (error) {
        return done(toError(error));
      }
    }
    void app.getDefaultJsonParser('error', 'error')(request, String(body), done);
  });
  app.addHook('preValidation', async ({ params }) => normaliseIdsIn(params));
  await registerOpenApi(app);
  return app;
}
