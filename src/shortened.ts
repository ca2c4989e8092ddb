/**
 * The start of a text that may be long, for messages and results. All cuts of text are made here (a test looks for
 * others): the `…` is required, because it tells the scrubber that a secret may have been cut in two there. The result
 * has at most `limit` characters and the mark, and no half of a surrogate pair at its end.
 */
export function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)}…`;
}
