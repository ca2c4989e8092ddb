/** Headers whose values are always masked, whether or not they are a known secret. */

import { sensitiveHeaders } from '../../sensitive-headers.ts';
import { escapeSequence, withoutColours } from '../colours.ts';
import { mask } from '../secret.ts';

// A header on its own line, as in request logs, after list marks and colours.
const headerLine = new RegExp(
  `((?:^|[\\r\\n])(?:[ \\t+-]|\\x1b\\[[0-9;]*m)*(?:${sensitiveHeaders.join('|')})(?:\\x1b\\[[0-9;]*m)*[ \\t]*:[ \\t]*)([^\\r\\n]+?)(?=(?:\\x1b\\[[0-9;]*m)*(?:[\\r\\n]|$))`,
  'gi',
);

/** Whether `text` has a line `name: value` of a sensitive header. */
export function hasHeaderLine(text: string): boolean {
  headerLine.lastIndex = 0;
  for (let found = headerLine.exec(text); found !== null; found = headerLine.exec(text)) {
    if (found[2] !== mask) return true;
  }
  return false;
}

/** `text` with the values of such lines masked; counts the masks. */
export function maskHeaderLines(text: string, counters: { maskedCount: number }): string {
  return text.replaceAll(headerLine, (all, before: string, value: string) => {
    if (value === mask) return all;
    counters.maskedCount++;
    return before + mask;
  });
}

const names = sensitiveHeaders.join('|');
const quoted = (nesting: string) =>
  [
    String.raw`"(?:\\.|[^"\\])*"?`,
    String.raw`'(?:\\.|[^'\\])*'?`,
    '`(?:' + String.raw`\\.|[^` + '`' + String.raw`\\])*` + '`?',
    // JSON within JSON.
    String.raw`(?<${nesting}>\\+)"[^]*?(?:(?<!\\)\k<${nesting}>"|$)`,
    String.raw`\[[^\]]*\]?`,
  ].join('|');
// Printed objects, maps and lists of headers: quoted names with their values, and unquoted names with a colon.
const printedHeader = new RegExp(
  String.raw`(?<quotedHead>(?<![\w-])(?:${names})\\*["'` +
    '`' +
    String.raw`]\s*(?::|=>|,(?:\s*\\*["']?value\\*["']?\s*:)?)\s*)(?<quotedValue>${quoted('a')}|[^\s,}\]"'{[\\]+)` +
    String.raw`|(?<bareHead>(?<![\w-])(?:${names})\s*:\s*)(?<bareValue>${quoted('b')}|[^\s"'{[\\\x1b][^\r\n\x1b]*)`,
  'gi',
);

/** `text`, as printed by a script, with the values of sensitive headers masked in whatever form they are printed. */
export function maskPrintedHeaders(text: string): string {
  if (!text.includes(escapeSequence)) return maskPlainHeaders(text);
  // Coloured output: the colours between a name, its colon and its value hide one from the other.
  const plain = withoutColours(text);
  const masked = maskPlainHeaders(plain);
  return masked === plain ? text : masked;
}

function maskPlainHeaders(text: string): string {
  return text.replaceAll(printedHeader, (...found: unknown[]) => {
    const { quotedHead, quotedValue, bareHead, bareValue } = found.at(-1) as Groups; // named groups come last
    const value = quotedValue ?? bareValue ?? '';
    const quote = /^(?:\\*["'`]|\[)?/.exec(value)?.[0] ?? '';
    return `${quotedHead ?? bareHead ?? ''}${quote}${mask}${quote === '[' ? ']' : quote}`;
  });
}

type Groups = { [name in 'quotedHead' | 'quotedValue' | 'bareHead' | 'bareValue']?: string };
