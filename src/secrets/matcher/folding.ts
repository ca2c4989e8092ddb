import type { Matcher, Spans } from './matcher.ts';

/**
 * Finds patterns that a program broke into lines: base64 in lines of 64 or 76 characters, and lists of numbers over
 * several lines. A search in the text misses them. This one joins such lines and searches the joined text too.
 * Long texts are probed every 48 bytes, so looking for such lines costs little.
 */

const inBase64 = 1;
const inList = 2;
const classes = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_') {
  classes[char.charCodeAt(0)] = inBase64;
}
for (const char of '0123456789, \n\r\t\\') {
  classes[char.charCodeAt(0)] = (classes[char.charCodeAt(0)] ?? 0) | inList;
}

/** Runs of base64 of 63 characters, and of lists of 55, contain this many at a multiple of `step`. */
const step = 40;
const base64Probe = 24;
const listProbe = 16;
const shortestLine = step + base64Probe - 1;
/** The most characters between two lines: line end, indentation, quotes, marks of a difference, colours. */
const maxGlue = 32;
/** A list with fewer commas is no secret's. */
const fewestCommas = 5;
const maxIndent = 8;

const [tab, newline, carriageReturn, escape, space] = [0x09, 0x0a, 0x0d, 0x1b, 0x20];
const [doubleQuote, quote, comma, plus, minus, greater, bracket, backslash, m, n, r, bar] = [
  0x22, 0x27, 0x2c, 0x2b, 0x2d, 0x3e, 0x5b, 0x5c, 0x6d, 0x6e, 0x72, 0x7c,
];

/** `matcher` that also finds patterns broken into lines; a pattern then takes up to `longest` bytes of a text. */
export function withFolding(matcher: Matcher): Matcher {
  if (matcher.patternCount === 0) return matcher;
  const { longest } = matcher;
  return {
    ...matcher,
    longest: longest + Math.max(Math.ceil(longest * 0.5), Math.min(longest, 1024)) + maxGlue,
    find(text, range, spans) {
      matcher.find(text, range, spans);
      const found: number[] = [];
      for (const parts of brokenRuns(text, range.end)) {
        for (const [start, end] of spansAcross(matcher, text, parts)) {
          if (start >= range.from && start < range.until) found.push(start, end);
        }
      }
      if (found.length > 0) merge(spans, found);
    },
  };
}

/** The parts of a text that belong together: starts and ends, ascending. */
type Parts = readonly number[];

/** Runs of base64 and lists in `text[0, end)` that line ends interrupt. */
function brokenRuns(text: Uint8Array, end: number): Parts[] {
  const runs: Parts[] = [];
  let done = 0;
  // The beginning may be the rest of a line that came with the piece before.
  if (end > 0 && isBase64(text, 0)) done = addLines(text, { at: 0, least: 0, end }, runs);
  const last = end - base64Probe;
  for (let at = 0; at <= last; at += step) {
    // This runs for every piece of every text: one branch for seven characters, which excludes nearly all places.
    const kind =
      (classes[text[at] ?? 0] ?? 0) &
      (classes[text[at + 4] ?? 0] ?? 0) &
      (classes[text[at + 8] ?? 0] ?? 0) &
      (classes[text[at + 11] ?? 0] ?? 0) &
      (classes[text[at + 15] ?? 0] ?? 0) &
      (inList | ((classes[text[at + 19] ?? 0] ?? 0) & (classes[text[at + 23] ?? 0] ?? 0)));
    if (kind === 0 || at < done) continue;
    if ((kind & inList) !== 0 && isListAt(text, at)) {
      const parts = listLines(text, at, done, end);
      done = Math.max(done, parts.at(-1) ?? 0);
      if (parts.length > 2) runs.push(parts);
    } else if ((kind & inBase64) !== 0 && mayBeLine(text, at)) {
      done = addLines(text, { at, least: done, end }, runs);
    }
  }
  return runs;
}

const isBase64 = (text: Uint8Array, at: number): boolean => ((classes[text[at] ?? 0] ?? 0) & inBase64) !== 0;

/** Whether the characters around a probe at `from` may be a line of base64: five of the side that has more of them. */
function mayBeLine(text: Uint8Array, from: number): boolean {
  const half = (shortestLine - base64Probe) >> 1;
  const after = from + base64Probe;
  const before = from - half;
  return areBase64(text, after, half) || (before >= 0 && areBase64(text, before, half));
}

function areBase64(text: Uint8Array, from: number, count: number): boolean {
  const kind =
    (classes[text[from] ?? 0] ?? 0) &
    (classes[text[from + 4] ?? 0] ?? 0) &
    (classes[text[from + 9] ?? 0] ?? 0) &
    (classes[text[from + 14] ?? 0] ?? 0) &
    (classes[text[from + count - 1] ?? 0] ?? 0);
  return (kind & inBase64) !== 0;
}

/** Whether the characters at `from` may be part of a list of bytes: a number of sixteen digits is none. */
function isListAt(text: Uint8Array, from: number): boolean {
  let digits = 0;
  let commas = 0;
  for (let at = from; at < from + listProbe; at++) {
    const char = text[at] ?? 0;
    if (((classes[char] ?? 0) & inList) === 0) return false;
    if (char >= 0x30 && char <= 0x39) digits++;
    else if (char === comma) commas++;
  }
  return digits + commas > 0 && digits < listProbe;
}

/** Adds the lines of base64 from the run around `at` on, if there are several; returns where the last one ends. */
function addLines(
  text: Uint8Array,
  { at, least, end }: { at: number; least: number; end: number },
  runs: Parts[],
): number {
  const to = endOfBase64(text, at, end);
  // The probe saw only some of the characters.
  if (to - at < base64Probe && at > 0) return to;
  const next = text[to];
  if (next !== newline && next !== carriageReturn && next !== backslash) return to;
  if (afterGlue(text, to, end) < 0) return to;
  let start = at;
  while (start > least && isBase64(text, start - 1)) start--;
  const parts = base64Lines(text, start, end);
  runs.push(parts);
  return parts.at(-1) ?? to;
}

/** Where the base64 at `from` ends; reads eight characters at once. */
function endOfBase64(text: Uint8Array, from: number, end: number): number {
  let to = from;
  while (to + 8 <= end) {
    const kind =
      (classes[text[to] ?? 0] ?? 0) &
      (classes[text[to + 1] ?? 0] ?? 0) &
      (classes[text[to + 2] ?? 0] ?? 0) &
      (classes[text[to + 3] ?? 0] ?? 0) &
      (classes[text[to + 4] ?? 0] ?? 0) &
      (classes[text[to + 5] ?? 0] ?? 0) &
      (classes[text[to + 6] ?? 0] ?? 0) &
      (classes[text[to + 7] ?? 0] ?? 0);
    if ((kind & inBase64) === 0) break;
    to += 8;
  }
  while (to < end && isBase64(text, to)) to++;
  return to;
}

/** The lines of base64 from `start` on. */
function base64Lines(text: Uint8Array, start: number, end: number): number[] {
  const parts: number[] = [];
  let from = start;
  for (;;) {
    const to = endOfBase64(text, from, end);
    parts.push(from, to);
    const next = afterGlue(text, to, end);
    if (next < 0) return parts;
    from = next;
  }
}

/** Where base64 continues after the line end at `at` and what tools write around it; -1 if it does not. */
function afterGlue(text: Uint8Array, at: number, end: number): number {
  let lineEnds = 0;
  const until = Math.min(end, at + maxGlue);
  for (let i = at; i < until; i++) {
    const char = text[i] ?? 0;
    const next = i + 1 < end ? (text[i + 1] ?? 0) : 0;
    if (char === newline || char === carriageReturn) lineEnds++;
    else if (char === backslash) {
      if (next === n || next === r) {
        lineEnds++;
        i++;
      } else if (next !== backslash && next !== quote && next !== doubleQuote) return -1;
    } else if (char === escape && next === bracket) {
      for (i += 2; i < until && text[i] !== m; i++);
    } else if ((char === plus || char === minus) && (next === space || next === newline)) continue;
    else if (((classes[char] ?? 0) & inBase64) !== 0) return lineEnds > 0 ? i : -1;
    else if (![space, tab, quote, doubleQuote, greater, bar].includes(char)) return -1;
  }
  return -1;
}

/** The numbers and commas of a list around `at`, without the white space between them. */
function listLines(text: Uint8Array, at: number, least: number, end: number): number[] {
  let from = at;
  while (from > least && isListPart(text, from - 1)) from--;
  const parts: number[] = [];
  let commas = 0;
  let blanks = 0;
  let i = from;
  for (; i < end && isListPart(text, i); i++) {
    const char = text[i] ?? 0;
    const isNumber = char === comma || (char >= 0x30 && char <= 0x39);
    if (!isNumber) {
      if (++blanks > maxIndent * 4) break;
      continue;
    }
    blanks = 0;
    if (char === comma) commas++;
    if (parts.length > 0 && parts.at(-1) === i) parts[parts.length - 1] = i + 1;
    else parts.push(i, i + 1);
  }
  return commas >= fewestCommas ? parts : [i, i];
}

function isListPart(text: Uint8Array, at: number): boolean {
  const char = text[at] ?? 0;
  if (((classes[char] ?? 0) & inList) !== 0) return true;
  return (char === n || char === r) && at > 0 && text[at - 1] === backslash;
}

/** Patterns that begin in one part and end in another. */
function spansAcross(matcher: Matcher, text: Uint8Array, parts: Parts): [number, number][] {
  let length = 0;
  for (let i = 0; i < parts.length; i += 2) length += (parts[i + 1] ?? 0) - (parts[i] ?? 0);
  const joined = new Uint8Array(length);
  const starts: number[] = [];
  let at = 0;
  for (let i = 0; i < parts.length; i += 2) {
    starts.push(at);
    joined.set(text.subarray(parts[i], parts[i + 1]), at);
    at += (parts[i + 1] ?? 0) - (parts[i] ?? 0);
  }
  const found: Spans = [];
  matcher.find(joined, { from: 0, until: length, end: length }, found);
  const across: [number, number][] = [];
  let part = 0;
  for (let i = 0; i < found.length; i += 2) {
    const start = found[i] ?? 0;
    const last = (found[i + 1] ?? 0) - 1;
    while (part + 1 < starts.length && (starts[part + 1] ?? 0) <= start) part++;
    let lastPart = part;
    while (lastPart + 1 < starts.length && (starts[lastPart + 1] ?? 0) <= last) lastPart++;
    if (lastPart === part) continue;
    across.push([
      (parts[part * 2] ?? 0) + start - (starts[part] ?? 0),
      (parts[lastPart * 2] ?? 0) + last - (starts[lastPart] ?? 0) + 1,
    ]);
  }
  return across;
}

/** Adds the spans `found` to `spans`, in order; overlapping ones become one. */
function merge(spans: Spans, found: readonly number[]): void {
  const pairs: [number, number][] = [];
  for (const list of [spans, found]) {
    for (let i = 0; i < list.length; i += 2) pairs.push([list[i] ?? 0, list[i + 1] ?? 0]);
  }
  pairs.sort((a, b) => a[0] - b[0]);
  spans.length = 0;
  for (const [start, end] of pairs) {
    const last = spans.at(-1);
    if (last === undefined || start >= last) spans.push(start, end);
    else if (end > last) spans[spans.length - 1] = end;
  }
}
