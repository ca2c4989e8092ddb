import { fitsWildcard } from '../../../protocol/wildcard.ts';

/** Whether a name fits a pattern of `*` (any letters) and `?` (one letter), in any case. */
export function fitsPattern(name: string, pattern: string): boolean {
  return fitsWildcard(name.toLowerCase(), pattern.toLowerCase());
}
