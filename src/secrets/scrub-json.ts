import { Unscrubbable, wholeBytes, type ArtifactScrubbing } from './artifact-scrubbing.ts';
import type { Content, Pieces } from './content.ts';
import { hintsIn } from './json-hints.ts';
import { scrubJsonTree, type TreeKind } from './scrub-json-tree.ts';

/** Of a line or a document more than this can't be read as JSON within the memory that a scrubber has. */
const longestJson = 2 * wholeBytes;

/**
 * The lines of a trace: JSON each, and JSON afterwards. Lines in which nothing has to change pass as they are; one that is
 * longer than 8 MiB is left out.
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
    if (waitingBytes > longestJson) {
      scrubbing.withhold(`a line of more than ${longestJson} bytes in a trace`);
      waiting = [];
      waitingBytes = 0;
      skipping = true;
    }
  }
  if (waitingBytes > 0) yield* scrubLines(Buffer.concat(waiting), scrubbing);
}

function* scrubLines(block: Buffer, scrubbing: ArtifactScrubbing): Generator<Buffer> {
  if (!needsWork(block, scrubbing).any) {
    yield block;
    return;
  }
  let clean = 0;
  for (let start = 0; start < block.length;) {
    const newline = block.indexOf(10, start);
    const end = newline < 0 ? block.length : newline;
    const line = block.subarray(start, end);
    const changed = scrubJsonText(line, scrubbing, { trace: true, numbers: false });
    if (changed !== line) {
      if (start > clean) yield block.subarray(clean, start);
      yield changed;
      clean = end;
    }
    start = end + 1;
  }
  if (clean < block.length) yield block.subarray(clean);
}

function needsWork(
  json: Buffer,
  { scrubber }: ArtifactScrubbing,
): { any: boolean; spans: readonly number[]; headers: boolean; texts: boolean } {
  const spans = scrubber.find(json);
  const { headers, texts } = hintsIn(json);
  return { any: spans.length > 0 || headers || texts, spans, headers, texts: texts || spans.length > 0 };
}

/** One JSON text; the same reference where nothing had to change. What isn't JSON is scrubbed as bytes. */
function scrubJsonText(
  json: Buffer,
  scrubbing: ArtifactScrubbing,
  kind: Omit<TreeKind, 'texts'>,
  indent = '',
): Buffer {
  const { scrubber } = scrubbing;
  const { any, spans, headers, texts } = needsWork(json, scrubbing);
  if (!any) return json;
  let tree: unknown;
  try {
    tree = JSON.parse(json.toString());
  } catch {
    if (headers) {
      scrubbing.withhold('a broken line with headers in a trace');
      return Buffer.from('{}');
    }
    return scrubber.bytes(json);
  }
  const before = scrubbing.changes;
  const clean = scrubJsonTree(tree, scrubbing, { ...kind, texts });
  const crosses = spans.length > 0 && crossesTokens(json, spans);
  const isSame = scrubbing.changes === before && !crosses;
  if (isSame && spans.length === 0) return json;
  const text = Buffer.from(JSON.stringify(clean, null, indent));
  const left = scrubber.find(text);
  // What stays are numbers and references. Less stays where one key stands twice: a reader sees the last only.
  if (isSame && left.length >= spans.length) return json;
  if (isSame) scrubbing.changed();
  // A secret that is JSON itself was read apart into values, which hold it no more than together.
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
 * A JSON document, scrubbed value by value; null when it is none or too long to read as one, and has no sensitive header's
 * name. With such a name it is Unscrubbable then. `numbers`: those that are a secret are masked too.
 */
export async function scrubJsonDocument(
  content: Content,
  scrubbing: ArtifactScrubbing,
  { numbers }: { numbers: boolean },
): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let length = 0;
  let headers = false;
  for await (const piece of content.pieces()) {
    length += piece.length;
    if (length > longestJson) {
      parts.length = 0;
      headers ||= hintsIn(piece).headers;
      if (headers) throw new Unscrubbable(`a JSON document of more than ${longestJson} bytes with headers`);
    } else {
      headers ||= hintsIn(piece).headers;
      parts.push(Buffer.from(piece));
    }
  }
  if (length > longestJson) return null;
  const json = Buffer.concat(parts);
  const indent = /^[[{]\r?\n([ \t]+)/.exec(json.toString('latin1', 0, 64))?.[1] ?? '';
  try {
    JSON.parse(json.toString());
  } catch {
    return null;
  }
  return scrubJsonText(json, scrubbing, { trace: false, numbers }, indent);
}
