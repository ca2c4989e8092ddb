import { fitsWildcard } from '../../../protocol/wildcard.ts';

/** Whether a name matches a pattern of `*` (any characters) and `?` (one character), ignoring case. */
export function fitsPattern(name: string, pattern: string): boolean {
  return fitsWildcard(name.toLowerCase(), pattern.toLowerCase());
}
