import type { FastifyRequest } from 'fastify';
import { findLocationOfKey, type AgentLocation } from '../locations/agent-statements.ts';
import type { Db } from '../db/database.ts';
import { HttpError } from '../http/errors.ts';
import { byBearer, createTokenLookup } from '../http/key-lookup.ts';
import type { WrongKeys } from '../http/wrong-keys.ts';

/** Finds the locations of keys. */
export type KeyCheck = {
  /** The location of a request's key. Throws HttpError 401. */
  locationOf: (request: FastifyRequest) => Promise<AgentLocation>;
  /** Follows the deletion of keys, so that a deleted one is refused at once. */
  start: () => Promise<void>;
  stop: () => Promise<void>;
};

/** Channel of the deleted keys of locations, see the migration 0050. The payload is the key's hash in base64. */
const endedChannel = 'ended_location_keys';

export function createKeyCheck({
  db,
  now,
  wrongKeys,
}: {
  db: Db;
  now: () => number;
  wrongKeys?: WrongKeys | undefined;
}): KeyCheck {
  const refuse = (reason: string) =>
    new HttpError(401, `The key of the location ${reason}: send it as "Authorization: Bearer pl_…".`);
  const lookup = createTokenLookup({ find: (hash) => findLocationOfKey(db, hash), refuse, now, wrongKeys });
  const ownerOf = byBearer(lookup, { refuse });
  let stopListening: () => Promise<void> = () => Promise.resolve();
  return {
    locationOf: (request) => ownerOf(request.headers.authorization, request.ip),
    start: async () => {
      stopListening = await db.listen(endedChannel, lookup.forgetHash, lookup.clear);
    },
    stop: () => stopListening(),
  };
}
