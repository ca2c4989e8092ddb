import type { FastifyRequest } from 'fastify';

/** Accepts a request without a body. */
export async function bodyOrNone(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}
