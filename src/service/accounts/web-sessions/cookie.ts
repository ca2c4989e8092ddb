import type { FastifyReply, FastifyRequest } from 'fastify';

/** The cookie that holds the token of a web session. Scripts of a page cannot read it. */

/** Browsers keep a cookie for at most 400 days. The session itself ends earlier, on the service. */
const maxAgeSeconds = 400 * 24 * 60 * 60;

/** The form of `newToken`. A cookie of another program on this host may have the same name. */
const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

export type CookieOptions = { publicUrl?: string | null | undefined };

const isSecure = (request: FastifyRequest, { publicUrl }: CookieOptions): boolean =>
  request.protocol === 'https' || publicUrl?.startsWith('https:') === true;

/** Behind TLS, the prefix keeps other hosts of the domain from setting the cookie. */
const nameOf = (request: FastifyRequest, options: CookieOptions): string =>
  isSecure(request, options) ? '__Host-session' : 'session';

/** The session token in the request's cookie; null = none. */
export function readCookie(request: FastifyRequest, options: CookieOptions): string | null {
  const { cookie } = request.headers;
  if (cookie === undefined || cookie === '') return null;
  const start = `${nameOf(request, options)}=`;
  for (const part of cookie.split(';', 100)) {
    const pair = part.trim();
    const value = pair.startsWith(start) ? pair.slice(start.length) : '';
    if (tokenPattern.test(value)) return value;
  }
  return null;
}

function header(request: FastifyRequest, options: CookieOptions, value: string, maxAge: number): string {
  const secure = isSecure(request, options) ? '; Secure' : '';
  // Lax: a link from an alert opens the page signed in. Changes need a proof of their origin as well.
  return `${nameOf(request, options)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
}

/**
 * Whether the browser would drop the cookie: a page without TLS sent this request, but the service is reached by TLS. Browsers
 * trust loopback addresses also without TLS, and send `sec-fetch-site` to trusted addresses only.
 */
export function isDropped(request: FastifyRequest, options: CookieOptions): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers;
  return isSecure(request, options) && site === undefined && origin?.startsWith('http:') === true;
}

/** Makes the answer set the cookie. */
export function setCookie(
  { request, reply, token }: { request: FastifyRequest; reply: FastifyReply; token: string },
  options: CookieOptions,
): void {
  void reply.header('set-cookie', header(request, options, token, maxAgeSeconds));
}

/** Makes the answer delete the cookie. */
export function clearCookie(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  options: CookieOptions,
): void {
  void reply.header('set-cookie', header(request, options, '', 0));
}
