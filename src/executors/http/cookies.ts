/** One cookie that a redirect set, for the rest of this run only. */
type Cookie = {
  name: string;
  value: string;
  domain: string;
  hostOnly: boolean;
  path: string;
  secure: boolean;
};

export type CookieJar = Cookie[];

const maxCookies = 50;
const maxCookieBytes = 4096;

/**
 * Keeps the cookies of a response's Set-Cookie headers (RFC 6265 section 5.3, without expiry times but those in the past:
 * a run is too short for the others). The jar is bounded: what is over 50 cookies or 4 KiB each is not kept.
 */
export function keepCookies(jar: CookieJar, url: URL, headers: readonly string[], now: number): void {
  for (const header of headers) {
    if (header.length > maxCookieBytes) continue;
    const cookie = parseCookie(header, url, now);
    if (cookie === null) continue;
    const index = jar.findIndex(
      (old) => old.name === cookie.name && old.domain === cookie.domain && old.path === cookie.path,
    );
    if (index >= 0) jar.splice(index, 1);
    if (!cookie.expired && jar.length < maxCookies) jar.push(cookie);
  }
}

/** The Cookie header's value for `url`, or null when no cookie goes there. */
export function cookiesFor(jar: CookieJar, url: URL): string | null {
  const fitting = jar.filter(
    (cookie) =>
      (cookie.hostOnly ? url.hostname === cookie.domain : domainMatches(url.hostname, cookie.domain)) &&
      pathMatches(url.pathname, cookie.path) &&
      (!cookie.secure || url.protocol === 'https:'),
  );
  if (fitting.length === 0) return null;
  // Longer paths first (section 5.4).
  fitting.sort((a, b) => b.path.length - a.path.length);
  return fitting.map((cookie) => `${cookie.name}=${cookie.value}`).join('; ');
}

function parseCookie(header: string, url: URL, now: number): (Cookie & { expired: boolean }) | null {
  const [pair = '', ...attributes] = header.split(';');
  const equals = pair.indexOf('=');
  const name = equals < 0 ? '' : pair.slice(0, equals).trim();
  if (name === '') return null;
  const cookie = {
    name,
    value: pair.slice(equals + 1).trim(),
    domain: url.hostname,
    hostOnly: true,
    path: defaultPath(url.pathname),
    secure: false,
    expired: false,
  };
  let maxAgeSeen = false;
  for (const attribute of attributes) {
    const [key = '', ...rest] = attribute.split('=');
    const value = rest.join('=').trim();
    switch (key.trim().toLowerCase()) {
      case 'domain': {
        const domain = value.replace(/^\./, '').toLowerCase();
        if (domain === '') break;
        // A cookie for a foreign domain, or for a whole top-level one, is refused.
        if (!domainMatches(url.hostname, domain)) return null;
        if (domain !== url.hostname && !domain.includes('.')) return null;
        cookie.domain = domain;
        cookie.hostOnly = false;
        break;
      }
      case 'path':
        if (value.startsWith('/')) cookie.path = value;
        break;
      case 'secure':
        cookie.secure = true;
        break;
      case 'max-age':
        if (!/^-?\d+$/.test(value)) break;
        maxAgeSeen = true;
        cookie.expired = Number(value) <= 0;
        break;
      case 'expires': {
        const time = Date.parse(value);
        if (!maxAgeSeen && !Number.isNaN(time)) cookie.expired = time <= now;
        break;
      }
      default:
    }
  }
  return cookie;
}

function domainMatches(host: string, domain: string): boolean {
  return host === domain || (host.endsWith(`.${domain}`) && !/^[\d.]+$|:/.test(host));
}

function pathMatches(path: string, cookiePath: string): boolean {
  return (
    path === cookiePath ||
    (path.startsWith(cookiePath) && (cookiePath.endsWith('/') || path[cookiePath.length] === '/'))
  );
}

function defaultPath(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}
