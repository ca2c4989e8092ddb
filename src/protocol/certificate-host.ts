import { fitsWildcard } from './wildcard.ts';

/**
 * How the `host` of a client certificate matches the target of a request: the same name, with or without the port, or
 * a pattern in which `*` matches any characters and `?` one. Null = no match. Names are compared case-insensitively.
 */
export function certificateHostMatch(
  pattern: string,
  target: { host: string; port: number },
): 'exact' | 'pattern' | null {
  const wanted = pattern.toLowerCase();
  const host = target.host.toLowerCase();
  const authority = `${host}:${target.port}`;
  if (wanted === host || wanted === authority) return 'exact';
  return fitsWildcard(host, wanted) || fitsWildcard(authority, wanted) ? 'pattern' : null;
}
