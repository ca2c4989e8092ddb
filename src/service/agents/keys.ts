import type { FastifyRequest } from 'fastify';
import { findLocationOfKey, type AgentLocation } from '../locations/agent-statements.ts';
import type { Db } from '../db/database.ts';
import { HttpError } from '../http/errors.ts';
import { createKeyLookup } from '../http/key-lookup.ts';
import type { WrongKeys } from '../http/wrong-keys.ts';

/** Finds the location of a request's key. Throws HttpError 401. */
export function createKeyCheck({
  db,
  now,
  wrongKeys,
}: {
  db: Db;
  now: () => number;
  wrongKeys?: WrongKeys | undefined;
}) {
  const locationOf = createKeyLookup({
    find: (hash) => findLocationOfKey(db, hash),
    refuse: (reason) =>
      new HttpError(401, `The key of the location ${reason}: send it as "Authorization: Bearer pl_…".`),
    now,
    wrongKeys,
  });
  return (request: FastifyRequest): Promise<AgentLocation> =>
    locationOf(request.headers.authorization, request.ip);
}
