/** Terminals obey control characters, and scripts, pages, answers and names of files may hold any. */

/** `text` without control and format characters; a space stands for each run of them, line breaks included. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');

/** As `printable`, cut after `limit` characters. */
export function printableLine(text: string, limit: number): string {
  const line = printable(text);
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}
