import rateLimit, { type RateLimitOptions } from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';

import { HttpError } from './errors.ts';
import { hashToken } from '../engine/keys.ts';

/** Keys whose requests are counted at once, per replica. */
const countedKeys = 10_000;

/**
 * At most `perMinute` requests of one API key in a minute, counted by each replica for itself; 429 with `retry-after` above it.
 * Register it after the authentication and before the routes: what is not authenticated is not counted.
 */
export async function registerRateLimit(app: FastifyInstance, perMinute: number): Promise<void> {
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: 60_000,
    cache: countedKeys,
    keyGenerator: (request) => hashToken(request.headers.authorization ?? '').toString('base64'),
    errorResponseBuilder: (_request, { max, ttl }) =>
      new HttpError(
        429,
        `Too many requests with this API key (at most ${max}): try again in ${Math.ceil(ttl / 1000)} s.`,
      ),
  });
}

/** `config` of a route that takes fewer requests than others, whatever the service's own limit is (0 = none for it either). */
export function atMost(max: number, timeWindow: '1 minute' | '1 day'): { rateLimit: RateLimitOptions } {
  return { rateLimit: { max, timeWindow } };
}
