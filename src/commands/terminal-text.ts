/** Terminals execute control characters, and scripts, pages, answers and file names may contain any. */

/** `text` without control and format characters: each run of them, line breaks included, becomes one space. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');

/** Same as `printable`, cut after `limit` characters. */
export function printableLine(text: string, limit: number): string {
  const line = printable(text);
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}
