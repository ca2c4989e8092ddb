import type { FastifyRequest } from 'fastify';

/** Base of URLs in an answer: the configured public URL, or else the one that the client used. */
export function baseUrl(publicUrl: string | null | undefined, request: FastifyRequest): string {
  return publicUrl ?? `${request.protocol}://${request.host}`;
}
