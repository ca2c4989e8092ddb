import type { FastifyRequest } from 'fastify';
import type { Queryable } from '../db/database.ts';
import { createApiKeyLookup } from './keys/lookup.ts';
import { HttpError } from '../http/errors.ts';
import type { WrongKeys } from '../http/wrong-keys.ts';
import { idAsStored } from '../http/ids-in-requests.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account of the request's API key. Empty on routes without authentication. */
    accountId: string;
    /** The id of that key. Empty on routes without authentication. */
    apiKeyId: string;
  }
}

function unauthorized(reason: string): HttpError {
  return new HttpError(401, `The API key ${reason}: send it as "Authorization: Bearer <API key>".`, {
    authorization: [reason],
  });
}

const forbidden = () =>
  new HttpError(403, 'The API key does not belong to the account in x-service-account.', {
    'x-service-account': ["is not the API key's account; omit it or set it to that account"],
  });

/** onRequest hook of the public API. The body of an unauthorised request is never read. */
export function createAuthentication({
  db,
  now,
  wrongKeys,
}: {
  db: Queryable;
  now: () => number;
  wrongKeys?: WrongKeys | undefined;
}) {
  const ownerOf = createApiKeyLookup({ db, refuse: unauthorized, now, wrongKeys });

  return async function authenticate(request: FastifyRequest): Promise<void> {
    const { accountId, apiKeyId } = await ownerOf(request.headers.authorization, request.ip);
    const named = request.headers['x-service-account'];
    if (named !== undefined && named !== '' && idAsStored(String(named)) !== accountId) {
      // The limit of the key counts only requests that are answered.
      wrongKeys?.check(request.ip);
      wrongKeys?.count(request.ip);
      throw forbidden();
    }
    request.accountId = accountId;
    request.apiKeyId = apiKeyId;
  };
}
