/** Headers whose values are always masked, whether or not they are a known secret. A leaf that every part may import. */

export const sensitiveHeaders: readonly string[] = [
  'authorization',
  'cookie',
  'set-cookie',
  'proxy-authorization',
  'x-api-key',
  'x-auth-token',
];

const names = new Set(sensitiveHeaders);
const lengths = sensitiveHeaders.reduce((bits, name) => bits | (1 << name.length), 0);

/** Whether a header's value is always masked; case is ignored. */
export function isSensitiveHeader(name: string): boolean {
  // Most names already differ in length: this runs for every key of every result.
  return name.length < 32 && (lengths & (1 << name.length)) !== 0 && names.has(name.toLowerCase());
}

/** Shorter values (a theme, a language) would mask ordinary words wherever they occur. */
const shortest = 8;
const longest = 8192;
const maxCookies = 50;
const attribute = /^(?:path|domain|expires|max-age|samesite|httponly|secure|partitioned|priority)$/i;

/**
 * What is secret in the value of a header: nothing unless it is sensitive; else the value itself, the credentials after
 * a scheme (`Bearer …`), and the values of its cookies. Each has 8 to 8192 characters.
 */
export function secretsOfHeader(name: string, value: string): string[] {
  if (!isSensitiveHeader(name)) return [];
  const found = new Set([value]);
  const [, credentials] = /^[A-Za-z][\w-]{1,30}\s+(\S.*)$/.exec(value) ?? [];
  if (credentials !== undefined) found.add(credentials);
  if (/cookie$/i.test(name)) {
    for (const line of value.split('\n')) {
      found.add(line);
      for (const pair of line.split(';').slice(0, maxCookies)) {
        const at = pair.indexOf('=');
        if (at > 0 && !attribute.test(pair.slice(0, at).trim())) found.add(pair.slice(at + 1).trim());
      }
    }
  }
  return [...found].filter(({ length }) => length >= shortest && length <= longest);
}
