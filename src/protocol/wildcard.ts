/**
 * Whether a text matches a pattern of `*` (any characters) and `?` (one character), case-sensitively. The time is
 * limited by the product of the two lengths, because patterns come from clients. docs/dependencies.md explains why no
 * library is used.
 */
export function fitsWildcard(text: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  /** Position of the last star, and how many characters it currently matches. */
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
