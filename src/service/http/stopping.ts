import type { FastifyInstance } from 'fastify';
import { errorBody } from './error-body.ts';

/**
 * Answers 503 in the usual error form to requests that arrive while the service stops. Fastify's own answer lacks
 * `attributes`, so `return503OnClosing` is off. Register it before every other hook.
 */
export function refuseWhileStopping(app: FastifyInstance): void {
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  app.addHook('onRequest', async (_request, reply) => {
    if (!isStopping) return;
    return reply
      .code(503)
      .header('connection', 'close')
      .header('retry-after', '1')
      .send(errorBody(503, 'The service is stopping: send the request again.'));
  });
}
