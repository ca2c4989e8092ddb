/**
 * The start of a text that may be long, for messages and results. The `…` is required: it tells the scrubber that a
 * secret may have been cut in two there.
 */
export function shortened(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}
