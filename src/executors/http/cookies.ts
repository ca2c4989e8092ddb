import { Cookie, CookieJar, getPublicSuffix, MemoryCookieStore } from 'tough-cookie';

/** The cookies that the redirects of one run set. They are discarded after the run. */
export type RunCookies = {
  /**
   * Stores the cookies of a response's Set-Cookie headers (RFC 6265 section 5.3); `now` in milliseconds since the
   * epoch. Ignores cookies that break the rules, those over 4 KiB and those after the first 50.
   */
  keep: (url: URL, headers: readonly string[], now: number) => void;
  /** The Cookie header's value for `url`, or null if no cookie applies. Does not check expiry times again. */
  headerFor: (url: URL) => string | null;
};

const maxCookies = 50;
const maxCookieBytes = 4096;

/** Creates an empty jar. This file loads 14 MB of domain rules, so import it only where cookies may be set. */
export function createRunCookies(): RunCookies {
  const store = new MemoryCookieStore();
  const jar = new CookieJar(store, {
    // A target may set a Secure cookie over http and redirect to https. Only https sends it back, on loopback too.
    enforceSecureOriginOnStorage: false,
    allowSecureOnLocal: false,
  });
  /** Domain, path and name of each cookie in the jar. */
  const kept = new Set<string>();

  const keepOne = (cookie: Cookie, url: URL, now: number): void => {
    if (isOwnSuffix(cookie, url)) cookie.domain = null;
    if (cookie.path !== null) cookie.path = decoded(cookie.path);
    const at = new Date(now);
    const stored = jar.setCookieSync(cookie, url, { ignoreError: true, now: at });
    // A cookie in the jar has a domain and a path; only the library's types allow them to be missing.
    if (stored === undefined || stored.domain === null || stored.path === null) return;
    const id = JSON.stringify([stored.domain, stored.path, stored.key]);
    const isExpired = (stored.expiryTime(at) ?? Infinity) <= now;
    if (!isExpired && (kept.has(id) || kept.size < maxCookies)) {
      kept.add(id);
      return;
    }
    kept.delete(id);
    store.removeCookie(stored.domain, stored.path, stored.key, () => undefined);
  };

  return {
    keep: (url, headers, now) => {
      for (const header of headers) {
        if (header.length > maxCookieBytes) continue;
        const cookie = Cookie.parse(header);
        if (cookie !== undefined) keepOne(cookie, url, now);
      }
    },
    headerFor: (url) => {
      // keep() has compared expiry times with the run's clock; the library would use the system's.
      const fitting = cookiesOf(jar, url);
      return fitting.length === 0 ? null : fitting.map((cookie) => cookie.cookieString()).join('; ');
    },
  };
}

/** The library throws for some hosts that are only a reserved suffix, such as `.test`. It keeps no cookies for them. */
function cookiesOf(jar: CookieJar, url: URL): Cookie[] {
  try {
    return jar.getCookiesSync(url, { expire: false, sort: true });
  } catch {
    return [];
  }
}

/**
 * True if a host names itself as the cookie domain and nobody registers names below it: `http://intranet/` with
 * `Domain=intranet`. RFC 6265 (section 5.3, step 5) keeps such a cookie for this host only; the library would refuse
 * it.
 */
function isOwnSuffix(cookie: Cookie, url: URL): boolean {
  return (
    cookie.domain === url.hostname &&
    getPublicSuffix(url.hostname, { allowSpecialUseDomain: true, ignoreError: true }) === undefined
  );
}

/** A path in the form that the library compares: it decodes the URL's path, but not the cookie's. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
