import type { FastifyRequest } from 'fastify';

/** A body that may be left out. */
export async function bodyOrNone(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}
