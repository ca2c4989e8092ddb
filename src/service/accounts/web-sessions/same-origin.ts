import type { FastifyRequest } from 'fastify';
import { HttpError } from '../../http/errors.ts';

/**
 * Browsers send cookies with requests that other sites cause. A change by cookie therefore needs a proof that it comes
 * from a page of this service.
 */

export type Origin = 'own' | 'foreign' | 'unknown';

const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

/** Where a request comes from, by the headers that browsers set and that no script of a page can set. */
export function originOfRequest(
  request: FastifyRequest,
  { publicUrl }: { publicUrl?: string | null | undefined },
): Origin {
  const { 'sec-fetch-site': site, origin } = request.headers;
  // `none`: typed into the address bar, or a bookmark.
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'own' : 'foreign';
  // Browsers send sec-fetch-site only to loopback and by TLS.
  if (origin === undefined) return 'unknown';
  const own = [originOf(`${request.protocol}://${request.host}`), originOf(publicUrl ?? '')];
  return own.includes(origin) && origin !== 'null' ? 'own' : 'foreign';
}

/** The error for a request by cookie that another site has caused, or may have caused. */
export function foreignOrigin(origin: Origin): HttpError {
  return new HttpError(
    403,
    'A request by cookie must come from a page of this service. Programs send "Authorization: Bearer <API key>".',
    {
      [origin === 'unknown' ? 'origin' : 'sec-fetch-site']: [
        origin === 'unknown' ? 'is missing' : 'names another site',
      ],
    },
  );
}

/** Throws 403 unless an unsafe request by cookie comes from a page of this service. */
export function requireOwnOrigin(
  request: FastifyRequest,
  options: { publicUrl?: string | null | undefined },
): void {
  if (['GET', 'HEAD', 'OPTIONS'].includes(request.method)) return;
  const origin = originOfRequest(request, options);
  if (origin !== 'own') throw foreignOrigin(origin);
}
