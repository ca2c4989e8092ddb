import type { FastifyRequest } from 'fastify';

/** Base of URLs in an answer: what the service calls itself, else what the client has called it. */
export function baseUrl(publicUrl: string | null | undefined, request: FastifyRequest): string {
  return publicUrl ?? `${request.protocol}://${request.host}`;
}
