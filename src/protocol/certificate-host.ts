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
  return matchesGlob(wanted, host) || matchesGlob(wanted, authority) ? 'pattern' : null;
}

/** `*` and `?` only. Linear in practice and at worst pattern × text, so that no pattern can hang the agent. */
function matchesGlob(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
