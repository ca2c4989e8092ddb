import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { StringEnum } from '../../protocol/schema.ts';
import { badgeStyles, badgeSvg, badgeThemes, type Badge } from './badge.ts';

/** What the routes of all badges share: the query and the answer. */

const cacheSeconds = 60;

/** Query parameters of the look. */
export const styleFields = {
  style: StringEnum(badgeStyles, { default: 'flat' }),
  theme: StringEnum(badgeThemes, { default: 'default' }),
  responseTime: Type.Boolean({ default: false, description: 'Show the response time of the last run.' }),
  availability: Type.Boolean({ default: false, description: 'Show the percentage of the last 24 hours.' }),
};
export const StyleFields = Type.Object(styleFields);
export type StyleFields = Static<typeof StyleFields>;

/** The described answer. */
export const svg = {
  description: 'The badge',
  content: { 'image/svg+xml': { schema: Type.String() } },
};

/** Sends a badge as an image, or 304. */
export function sendBadge(
  request: FastifyRequest,
  reply: FastifyReply,
  badge: Badge,
  asked: Pick<StyleFields, 'style' | 'theme'>,
) {
  const image = badgeSvg(badge, asked);
  const etag = `"${createHash('sha256').update(image).digest('base64url').slice(0, 27)}"`;
  void reply.headers({
    etag,
    // With a key, the badge may show what others must not see, so no shared cache may keep it.
    'cache-control':
      request.headers.authorization === undefined
        ? `public, max-age=${cacheSeconds}`
        : `private, max-age=${cacheSeconds}`,
    vary: 'authorization',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    'x-content-type-options': 'nosniff',
  });
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  return reply.type('image/svg+xml; charset=utf-8').send(image);
}
