import type { FastifyReply, FastifyRequest } from 'fastify';
import { createApiKeyLookup } from './keys/lookup.ts';
import { readCookie } from './web-sessions/cookie.ts';
import { requireOwnOrigin } from './web-sessions/same-origin.ts';
import type { WebSessions } from './web-sessions/sessions.ts';
import type { ApiDeps } from '../http/api.ts';
import { HttpError } from '../http/errors.ts';
import { idAsStored } from '../http/ids-in-requests.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account of the request's API key. Empty on routes without authentication. */
    accountId: string;
    /** The id of that key. Empty on routes without authentication. */
    apiKeyId: string;
    /** The session of the request's cookie; null = the request has a key of its own. */
    sessionId: string | null;
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

/** onRequest hook that finds the account of a request. */
export type Authenticate = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * onRequest hook of the public API: the API key in the header, or else the session of the cookie. The body of an
 * unauthorised request is never read.
 */
export function createAuthentication(
  deps: Pick<ApiDeps, 'db' | 'now' | 'publicUrl' | 'wrongKeys'>,
  sessions: WebSessions,
): Authenticate {
  const { db, now, wrongKeys } = deps;
  const ownerOf = createApiKeyLookup({ db, refuse: unauthorized, now, wrongKeys });

  async function ownerOfRequest(request: FastifyRequest, reply: FastifyReply) {
    const { authorization } = request.headers;
    const token = authorization === undefined || authorization === '' ? readCookie(request, deps) : null;
    if (token === null) return { ...(await ownerOf(authorization, request.ip)), sessionId: null };
    requireOwnOrigin(request, deps);
    // Pages of other origins on the same site send the cookie with images and similar requests.
    void reply.header('cross-origin-resource-policy', 'same-origin');
    return sessions.ownerOf(token, request.ip);
  }

  return async function authenticate(request, reply) {
    const { accountId, apiKeyId, role, sessionId } = await ownerOfRequest(request, reply);
    const named = request.headers['x-service-account'];
    if (named !== undefined && named !== '' && idAsStored(String(named)) !== accountId) {
      // The limit of the key counts only requests that are answered.
      wrongKeys?.check(request.ip);
      wrongKeys?.count(request.ip);
      throw forbidden();
    }
    request.accountId = accountId;
    request.apiKeyId = apiKeyId;
    request.role = role;
    request.sessionId = sessionId;
  };
}
