import { HttpFailure } from './failures.ts';
import type { Received } from './exchange.ts';
import { shortened } from '../../shortened.ts';

/** The request of a hop, from which the next hop's is derived. */
export type HopRequest = {
  url: URL;
  method: string;
  /** Name, value, name, value … */
  headers: readonly string[];
  body: Buffer | null;
};

export const maxRedirects = 10;

const followed = new Set([301, 302, 303, 307, 308]);

/** Headers that must not be sent to another origin. */
const bound = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'x-auth-token',
  'host',
]);
/** Headers that describe a body and are removed with it (RFC 9110 section 15.4). */
const ofBody = new Set(['content-type', 'content-encoding', 'content-language', 'content-location']);

/** True if the response is a redirect to follow: a redirect status with a Location. */
export function isRedirect(response: Received): boolean {
  return followed.has(response.status) && response.headers['location'] !== undefined;
}

/**
 * The request of the hop after a redirect. 303 becomes GET (HEAD stays), 301 and 302 turn POST into GET, 307 and 308
 * keep method and body. Credentials, keys, cookies and the Host header are removed if the origin changes. Throws
 * HttpFailure INVALID_REDIRECT if Location is not an http(s) URL, or if there are several different ones.
 */
export function redirected(request: HopRequest, response: Received): HopRequest {
  const url = locationOf(request.url, response);
  const toGet =
    (response.status === 303 && request.method !== 'HEAD') ||
    ((response.status === 301 || response.status === 302) && request.method === 'POST');
  const crossOrigin = url.origin !== request.url.origin;
  return {
    url,
    method: toGet ? 'GET' : request.method,
    headers:
      crossOrigin || toGet
        ? without(request.headers, (name) => (crossOrigin && bound.has(name)) || (toGet && ofBody.has(name)))
        : request.headers,
    body: toGet ? null : request.body,
  };
}

function locationOf(base: URL, response: Received): URL {
  const header = response.headers['location'];
  const locations = new Set(Array.isArray(header) ? header : [header ?? '']);
  const [location = ''] = locations;
  const shown = shortened(location, 200);
  if (locations.size > 1) {
    throw new HttpFailure(
      'INVALID_REDIRECT',
      `the redirect has ${locations.size} different Location headers`,
    );
  }
  let url: URL;
  try {
    // Headers are read as Latin-1, but servers that send non-ASCII characters there mean UTF-8.
    url = new URL(Buffer.from(location, 'latin1').toString('utf8'), base);
  } catch {
    throw new HttpFailure('INVALID_REDIRECT', `the redirect's Location is not a URL: ${shown}`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new HttpFailure(
      'INVALID_REDIRECT',
      `the redirect leads to the scheme ${url.protocol.slice(0, -1)}: ${shown}`,
    );
  }
  // The user in the check's URL applies to the complete origin, even if Location contains a full URL.
  if (url.origin === base.origin && url.username === '' && url.password === '') {
    url.username = base.username;
    url.password = base.password;
  }
  // RFC 9110 section 10.2.2: the fragment is inherited.
  if (url.hash === '') url.hash = base.hash;
  return url;
}

function without(headers: readonly string[], bodyHeaders: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? '';
    if (!bodyHeaders(name.toLowerCase())) kept.push(name, headers[i + 1] ?? '');
  }
  return kept;
}
