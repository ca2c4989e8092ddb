import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bundlePath } from '../../protocol/agent-calls.ts';
import type { ArtifactFiles } from '../artifacts/files.ts';
import { sendBundle } from '../bundles/content.ts';
import type { AgentLocation } from '../locations/agent-statements.ts';
import type { Db } from '../db/database.ts';

/** Serves code bundles to agents. */

/** Adds the route. An agent gets bundles of its location's account only. */
export function registerAgentBundles(
  app: FastifyInstance,
  {
    db,
    bundles,
    locationOf,
  }: {
    db: Db;
    bundles: ArtifactFiles;
    locationOf: (request: FastifyRequest) => Promise<AgentLocation>;
  },
): void {
  app.get(bundlePath, { exposeHeadRoute: false, schema: { hide: true } }, async (request, reply) => {
    const { accountId } = await locationOf(request);
    const { key } = request.params as { key: string }; // of the path
    return sendBundle(request, reply, { db, bundles, accountId, key });
  });
}
