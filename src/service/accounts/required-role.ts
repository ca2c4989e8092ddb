import type { FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../http/errors.ts';
import { mayAct, neededRole } from '../http/fields/roles.ts';

/**
 * preParsing hook of the public API: the rate limit has counted the request, and a refused request's body is never
 * read.
 */
export async function requireRole(request: FastifyRequest, _reply: FastifyReply): Promise<void> {
  const needed = neededRole(request.method, request.routeOptions.config.access);
  if (mayAct(request.role, needed)) return;
  throw new HttpError(
    403,
    `This request needs an API key with the role ${needed}; yours is ${request.role}.`,
    {
      authorization: [`has the role ${request.role}; this request needs ${needed}`],
    },
  );
}
