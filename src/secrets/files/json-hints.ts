import { createMatcher, type Matcher } from '../matcher/matcher.ts';

/** Quick signs that a JSON text must be read value by value, although no secret was seen in it. */

/** A few letters in every case, because header names may have any. */
function inEveryCase(letters: string): string[] {
  let all = [''];
  for (const letter of letters) {
    const cases = [...new Set([letter.toLowerCase(), letter.toUpperCase()])];
    all = all.flatMap((start) => cases.map((next) => start + next));
  }
  return all;
}

const matcherOf = (texts: readonly string[]): Matcher =>
  createMatcher(texts.map((text) => ({ bytes: Buffer.from(text) })));

// Parts of every sensitive header's name, and Playwright's name for user and password.
const headerHints = matcherOf([
  ...['uthori', 'cookie', '-api-k', '-auth-t'].flatMap(inEveryCase),
  'httpCredentials',
]);

// Colours and cut texts can hide a secret; request logs contain headers.
const textHints = ['\\u001b[', '\\u001B[', '…', 'Call log:'].map((text) => Buffer.from(text));

/** Positions in `json` that may contain sensitive headers: starts and ends. */
export function headerHintsIn(json: Buffer): number[] {
  const spans: number[] = [];
  headerHints.find(json, { from: 0, until: json.length, end: json.length }, spans);
  return spans;
}

/** Whether `json` may contain texts in which a search misses secrets. */
export function hasTextHint(json: Buffer): boolean {
  return textHints.some((hint) => json.includes(hint));
}
