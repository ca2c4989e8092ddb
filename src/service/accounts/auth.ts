import type { FastifyRequest } from 'fastify';
import type { Queryable } from '../db/database.ts';
import { createApiKeyLookup } from './keys/lookup.ts';
import { HttpError } from '../http/errors.ts';
import { idAsStored } from '../http/ids-in-requests.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account of the request's API key. Empty on routes without authentication. */
    accountId: string;
    /** That key's id; empty likewise. */
    apiKeyId: string;
  }
}

function unauthorized(reason: string): HttpError {
  return new HttpError(401, `The API key ${reason}: send it as "Authorization: Bearer <API key>".`, {
    authorization: [reason],
  });
}

const forbidden = () =>
  new HttpError(403, 'The API key belongs to another account than x-service-account names.', {
    'x-service-account': ["is not the API key's account; leave it out or name that account"],
  });

/** onRequest hook of the public API: an unauthorised request's body is not even read. */
export function createAuthentication({ db, now }: { db: Queryable; now: () => number }) {
  const ownerOf = createApiKeyLookup({ db, refuse: unauthorized, now });

  return async function authenticate(request: FastifyRequest): Promise<void> {
    const { accountId, apiKeyId } = await ownerOf(request.headers.authorization);
    const named = request.headers['x-service-account'];
    if (named !== undefined && named !== '' && idAsStored(String(named)) !== accountId) throw forbidden();
    request.accountId = accountId;
    request.apiKeyId = apiKeyId;
  };
}
