import type { Log } from '../../log.ts';
import { protocolLimits, protocolMinor } from '../../protocol/agent-calls.ts';
import type { RequestOf, ResponseOf } from '../../protocol/routes.ts';
import type { Db } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';
import { endLeasesOf } from '../keeping/held.ts';
import { knownIds } from './keeping.ts';
import { saveAgent, type AgentLocation } from '../locations/agent-statements.ts';

/**
 * Stores an agent of a location, and returns what it has to know of its location and of this service. Whether it may hold
 * checks is not a part of that: its claims are told, and may reach another replica.
 */
export async function hello(
  { db, now, log }: { db: Db; now: () => number; log: Log },
  location: AgentLocation,
  body: RequestOf<'hello'>,
): Promise<ResponseOf<'hello'>> {
  const { instanceId, version, host, lanes } = body;
  const { id: agentId, allowedNetworks } = await saveAgent(db, {
    id: uuidv7(now()),
    locationId: location.locationId,
    instanceId: textOf(instanceId),
    version: textOf(version),
    host,
    checkTypes: body.checkTypes.map(textOf),
    runtimes: body.runtimes.map(textOf),
    lanes,
    keeps: body.keeping !== undefined,
    now: new Date(now()),
  });
  const continued = knownIds(body.keeping?.continues ?? []).filter(
    (id) => id !== agentId && id !== instanceId,
  );
  if (continued.length > 0) {
    const at = now();
    const until = new Date(at + protocolLimits.leaseSeconds * 1000);
    await endLeasesOf(db, { ...location, agentId, earlier: continued, now: new Date(at), until });
  }
  log.info({ agentId, location: location.slugName, version }, 'agent connected');
  return {
    agentId,
    location: {
      id: location.locationId,
      name: location.name,
      slugName: location.slugName,
      allowedNetworks,
    },
    leaseSeconds: protocolLimits.leaseSeconds,
    renewSeconds: protocolLimits.renewSeconds,
    limits: {
      resultBytes: protocolLimits.resultBytes,
      batchBytes: protocolLimits.batchBytes,
      batchItems: protocolLimits.batchItems,
      artifactBytes: protocolLimits.artifactBytes,
    },
    protocolMinor,
    keepsChecks: true,
    time: new Date(now()).toISOString(),
  };
}

/** PostgreSQL text cannot store NUL or half of a surrogate pair. */
export function textOf(text: string): string {
  return Buffer.from(text.replaceAll('\u0000', '\ufffd')).toString();
}
