/**
 * Whether a name fits a pattern of `*` (any letters) and `?` (one letter), in any case. Takes at most the product of the
 * two lengths: patterns come from clients.
 */
export function fitsPattern(name: string, pattern: string): boolean {
  const [text, glob] = [name.toLowerCase(), pattern.toLowerCase()];
  let at = 0;
  let inGlob = 0;
  /** Where the last star stands, and how far it reaches at present. */
  let star = -1;
  let reach = 0;
  while (at < text.length) {
    if (glob[inGlob] === '*') {
      star = inGlob;
      reach = at;
      inGlob += 1;
    } else if (inGlob < glob.length && (glob[inGlob] === '?' || glob[inGlob] === text[at])) {
      at += 1;
      inGlob += 1;
    } else if (star >= 0) {
      reach += 1;
      at = reach;
      inGlob = star + 1;
    } else {
      return false;
    }
  }
  while (glob[inGlob] === '*') inGlob += 1;
  return inGlob === glob.length;
}
