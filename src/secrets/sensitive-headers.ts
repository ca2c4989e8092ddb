/** Headers whose values never leave, whether or not they are a known secret. */

import { mask } from './secret.ts';

const sensitive = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'proxy-authorization',
  'x-api-key',
  'x-auth-token',
]);

const lengths = [...sensitive].reduce((bits, name) => bits | (1 << name.length), 0);

/** Whether a header's value is always masked; names are compared without case. */
export function isSensitiveHeader(name: string): boolean {
  // Most names differ in length already: this runs for every key of every result.
  return name.length < 32 && (lengths & (1 << name.length)) !== 0 && sensitive.has(name.toLowerCase());
}

// A header on a line of its own, as logs of requests have it, behind list marks and colours.
const headerLine = new RegExp(
  `((?:^|[\\r\\n])(?:[ \\t+-]|\\x1b\\[[0-9;]*m)*(?:${[...sensitive].join('|')})(?:\\x1b\\[[0-9;]*m)*[ \\t]*:[ \\t]*)([^\\r\\n]+?)(?=(?:\\x1b\\[[0-9;]*m)*(?:[\\r\\n]|$))`,
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

/** `text` with the values of such lines masked; counts them. */
export function maskHeaderLines(text: string, counters: { maskedCount: number }): string {
  return text.replaceAll(headerLine, (all, before: string, value: string) => {
    if (value === mask) return all;
    counters.maskedCount++;
    return before + mask;
  });
}
