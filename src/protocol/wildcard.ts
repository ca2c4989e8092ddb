/**
 * Whether a text fits a pattern of `*` (any characters) and `?` (one character); letters must be equal in case too. Takes at
 * most the product of the two lengths, since patterns come from clients: docs/dependencies.md has why no library does this.
 */
export function fitsWildcard(text: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  /** Position of the last star, and how far it reaches at present. */
  let star = -1;
  let reach = 0;
  while (at < text.length) {
    if (pattern[inPattern] === '*') {
      star = inPattern;
      reach = at;
      inPattern += 1;
    } else if (
      inPattern < pattern.length &&
      (pattern[inPattern] === '?' || pattern[inPattern] === text[at])
    ) {
      at += 1;
      inPattern += 1;
    } else if (star >= 0) {
      reach += 1;
      at = reach;
      inPattern = star + 1;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === '*') inPattern += 1;
  return inPattern === pattern.length;
}
