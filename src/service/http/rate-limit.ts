import rateLimit, { type RateLimitOptions } from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';

import { HttpError } from './errors.ts';

/** API keys counted at once, per replica. */
const countedKeys = 10_000;

/**
 * Limits each API key to `perMinute` requests a minute, counted per replica; above that, 429 with `retry-after`.
 * Register it after the authentication and before the routes. WrongKeys counts unauthenticated requests.
 */
export async function registerRateLimit(app: FastifyInstance, perMinute: number): Promise<void> {
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: 60_000,
    cache: countedKeys,
    // The key itself: its header has many spellings.
    keyGenerator: ({ apiKeyId }) => apiKeyId,
    errorResponseBuilder: (_request, { max, ttl }) =>
      new HttpError(
        429,
        `Too many requests with this API key (at most ${max}): try again in ${Math.ceil(ttl / 1000)} s.`,
      ),
  });
}

/**
 * `config` of a route with a lower limit than others, independent of the service's limit (0 = no limit here either).
 */
export function atMost(max: number, timeWindow: '1 minute' | '1 day'): { rateLimit: RateLimitOptions } {
  return { rateLimit: { max, timeWindow } };
}
