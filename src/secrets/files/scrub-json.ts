import { readFileSync, statSync } from 'node:fs';
import { Unscrubbable, singlePieceBytes, type ArtifactScrubbing } from './artifact-scrubbing.ts';
import type { Content, Pieces } from './content.ts';
import { hasTextHint, headerHintsIn } from './json-hints.ts';
import { scrubJsonTree, type TreeKind } from './scrub-json-tree.ts';

/** A line or document above this size cannot be parsed as JSON within the scrubber's memory. */
const maxJsonBytes = 2 * singlePieceBytes;

/**
 * Scrubs the lines of a trace: each is JSON before and after. Lines without changes are passed on as they are; lines
 * longer than 8 MiB are dropped.
 */
export async function* scrubJsonLines(pieces: Pieces, scrubbing: ArtifactScrubbing): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let skipping = false;

  for await (const piece of pieces) {
    let rest = piece;
    if (skipping) {
      const end = rest.indexOf(10);
      if (end < 0) continue;
      skipping = false;
      rest = rest.subarray(end + 1);
    }
    const end = rest.lastIndexOf(10) + 1;
    if (end > 0) {
      waiting.push(rest.subarray(0, end));
      yield* scrubLines(Buffer.concat(waiting), scrubbing);
      waiting = [];
      waitingBytes = 0;
    }
    if (end < rest.length) {
      waiting.push(Buffer.from(rest.subarray(end)));
      waitingBytes += rest.length - end;
    }
    if (waitingBytes > maxJsonBytes) {
      scrubbing.withhold(`a line of more than ${maxJsonBytes} bytes in a trace`);
      waiting = [];
      waitingBytes = 0;
      skipping = true;
    }
  }
  if (waitingBytes > 0) yield* scrubLines(Buffer.concat(waiting), scrubbing);
}

function* scrubLines(block: Buffer, scrubbing: ArtifactScrubbing): Generator<Buffer> {
  const found = inspect(block, scrubbing);
  if (!found.any) {
    yield block;
    return;
  }
  let clean = 0;
  const next = { span: 0, header: 0 };
  for (let start = 0; start < block.length;) {
    const newline = block.indexOf(10, start);
    const end = newline < 0 ? block.length : newline;
    const line = block.subarray(start, end);
    // Matches that were found in the block are not searched again.
    const spans = within(found.spans, next.span, { start, end });
    const headers = within(found.headers, next.header, { start, end });
    next.span += spans.length;
    next.header += headers.length;
    const texts = found.texts && hasTextHint(line);
    const any = spans.length > 0 || headers.length > 0 || texts;
    const changed = any
      ? scrubJsonText(line, scrubbing, { trace: true, numbers: false }, { any, spans, headers, texts })
      : line;
    if (changed !== line) {
      if (start > clean) yield block.subarray(clean, start);
      yield changed;
      clean = end;
    }
    start = end + 1;
  }
  if (clean < block.length) yield block.subarray(clean);
}

/** The reasons to parse a JSON text: secrets, words of sensitive headers, texts that may hide a secret. */
type Found = {
  readonly any: boolean;
  readonly spans: readonly number[];
  readonly headers: readonly number[];
  readonly texts: boolean;
};

function inspect(json: Buffer, { scrubber }: ArtifactScrubbing): Found {
  const spans = scrubber.find(json);
  const headers = headerHintsIn(json);
  const texts = hasTextHint(json);
  return { any: spans.length > 0 || headers.length > 0 || texts, spans, headers, texts };
}

/** The spans from number `first` on that begin in a line, counted from the start of the line. */
function within(
  spans: readonly number[],
  first: number,
  { start, end }: { start: number; end: number },
): number[] {
  const inside: number[] = [];
  for (let i = first; i < spans.length && (spans[i] ?? 0) < end; i += 2) {
    inside.push((spans[i] ?? 0) - start, Math.min(spans[i + 1] ?? 0, end) - start);
  }
  return inside;
}

// Characters that JSON writes in another form.
// oxlint-disable-next-line no-control-regex -- control characters are among it
const escaped = /[\\"\0-\x1f]/;
// Shorter texts may be a whole short secret; longer ones may have been cut.
const shortestSure = 8;
const maxSureLength = 2999;
const maxNeedles = 8;

/**
 * Returns a function that says whether a text of `json` certainly contains no secret: an unescaped text contains one
 * only where one was seen. Null if nothing is certain.
 */
function sureOf(json: Buffer, { spans, texts }: Found): ((text: string) => boolean) | null {
  if (texts || spans.length > 2 * maxNeedles || json.includes('\\u') || json.includes('\\/')) return null;
  const needles = new Set<string>();
  for (let i = 0; i < spans.length; i += 2) {
    const seen = json.toString('latin1', spans[i], spans[i + 1]);
    if (!/^[ !#-[\]-~]+$/.test(seen)) return null;
    needles.add(seen);
  }
  const all = [...needles];
  return (text) =>
    text.length >= shortestSure &&
    text.length <= maxSureLength &&
    !all.some((needle) => text.includes(needle)) &&
    !escaped.test(text);
}

/**
 * Scrubs one JSON text; returns the same reference if nothing changed. Text that is not JSON is scrubbed as bytes.
 * `tree`: its parsed value, if known; it is changed in place.
 */
function scrubJsonText(
  json: Buffer,
  scrubbing: ArtifactScrubbing,
  kind: Pick<TreeKind, 'trace' | 'numbers'>,
  found: Found,
  { tree: given, indent = '' }: { tree?: unknown; indent?: string } = {},
): Buffer {
  const { scrubber } = scrubbing;
  const { spans, headers } = found;
  let tree = given;
  if (tree === undefined) {
    try {
      tree = JSON.parse(json.toString());
    } catch {
      if (headers.length > 0) {
        scrubbing.withhold('a broken line with headers in a trace');
        return Buffer.from('{}');
      }
      return scrubber.bytes(json);
    }
  }
  const before = scrubbing.changes;
  const texts = found.texts || spans.length > 0;
  const clean = scrubJsonTree(tree, scrubbing, { ...kind, texts, isSure: sureOf(json, found) });
  const crosses = spans.length > 0 && crossesTokens(json, spans);
  const isSame = scrubbing.changes === before && !crosses;
  if (isSame && spans.length === 0) return json;
  const text = Buffer.from(JSON.stringify(clean, null, indent));
  const left = scrubber.find(text);
  // Only numbers and references are left. Less is left if a key occurs twice, because a reader sees only the last.
  if (isSame && left.length >= spans.length) return json;
  if (isSame) scrubbing.changed();
  // A secret that is JSON itself was split into values, none of which contains all of it.
  if (left.length > 0 && crossesTokens(text, left)) {
    scrubbing.withhold('a JSON text that a secret runs through');
    return Buffer.from('{}');
  }
  return text;
}

const crossesTokens = (json: Buffer, spans: readonly number[]): boolean => {
  for (let i = 0; i < spans.length; i += 2) {
    const span = json.subarray(spans[i], spans[i + 1]);
    for (let at = span.indexOf(0x22); at >= 0; at = span.indexOf(0x22, at + 1)) {
      if (at === 0 || span[at - 1] !== 0x5c) return true;
    }
  }
  return false;
};

/**
 * Scrubs a JSON document value by value. Null if it is not JSON, or too long to parse and without the name of a
 * sensitive header; with such a name it is Unscrubbable. `numbers`: numbers that are a secret are masked too.
 */
export async function scrubJsonDocument(
  content: Content,
  scrubbing: ArtifactScrubbing,
  { numbers }: { numbers: boolean },
): Promise<Buffer | null> {
  const json = await documentOf(content);
  if (json === null) return null;
  const indent = /^[[{]\r?\n([ \t]+)/.exec(json.toString('latin1', 0, 64))?.[1] ?? '';
  let tree: unknown;
  try {
    tree = JSON.parse(json.toString());
  } catch {
    return null;
  }
  const found = inspect(json, scrubbing);
  return found.any
    ? scrubJsonText(json, scrubbing, { trace: false, numbers }, found, { tree, indent })
    : json;
}

/** A document in one buffer; null if it is too long for that. Unscrubbable if it then has sensitive headers. */
async function documentOf(content: Content): Promise<Buffer | null> {
  if (content.buffer !== null && content.buffer.length <= maxJsonBytes) return content.buffer;
  // Read in one operation: in pieces it would be in memory twice.
  if (content.path !== null && statSync(content.path).size <= maxJsonBytes) return readFileSync(content.path);
  const parts: Buffer[] = [];
  let length = 0;
  let headers = false;
  for await (const piece of content.pieces()) {
    length += piece.length;
    headers ||= headerHintsIn(piece).length > 0;
    if (length <= maxJsonBytes) {
      parts.push(Buffer.from(piece));
      continue;
    }
    parts.length = 0;
    if (headers) throw new Unscrubbable(`a JSON document of more than ${maxJsonBytes} bytes with headers`);
  }
  return length > maxJsonBytes ? null : Buffer.concat(parts);
}
