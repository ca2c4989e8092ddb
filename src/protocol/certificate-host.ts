import { fitsWildcard } from './wildcard.ts';

/**
 * How the `host` of a client certificate fits what a request goes to: the same name, with or without the port, or a pattern
 * whose `*` stands for any characters and `?` for one. Null = it does not fit. Names are compared without case.
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
