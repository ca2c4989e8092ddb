import { Transform } from 'node:stream';
import { escapeSequence, withoutColours } from '../colours.ts';
import { encodedForms, shortSecretBytes } from '../forms/forms.ts';
import { createMatcher } from '../matcher/matcher.ts';
import type { Pattern } from '../matcher/pattern-store.ts';
import { scrubTree, type TreeRules } from '../tree/scrub-tree.ts';
import { mask } from '../secret.ts';
import { hasHeaderLine, maskHeaderLines } from '../tree/sensitive-headers.ts';
import { createSieve, sift, type Counters, type Sieve } from '../matcher/sieve.ts';
import { json } from '../forms/text-escapes.ts';

/** A secret and the variable that holds it; the name may be shown, the value never. */
export type NamedSecret = { readonly name: string; readonly value: string };

/**
 * The door through which everything leaves: it replaces secrets by `*********`, in all the forms that `encodedForms` has.
 * Matches that overlap become one mask.
 */
export type Scrubber = {
  /**
   * A text; the same one where nothing had to change. The beginning of a secret counts too where the text was cut: before
   * `…`, and at the end of a text of 3000 characters and more.
   */
  text(text: string): string;
  /** Bytes of any encoding; the same reference where nothing had to change. */
  bytes(bytes: Buffer): Buffer;
  /**
   * A JSON tree, never changed in place: strings, keys, numbers that are a secret, short secrets where they are a whole
   * value, and sensitive headers. What had nothing to hide is the same reference.
   */
  json<T>(tree: T): T;
  /** A byte stream, however it is cut; holds back as much as the longest form of a secret. */
  stream(): Transform;
  /** The same without a stream, for callers that read and write themselves. */
  sieve(): Sieve;
  /** Where secrets stand in `bytes`: pairs of start and end, ascending. Nothing is masked or counted. */
  find(bytes: Uint8Array): readonly number[];
  /** Values that can't be looked for everywhere, one line each with the variable's name. */
  readonly warnings: readonly string[];
  /** Masks written so far. */
  readonly maskedCount: number;
  /** Bytes that masks stand for. */
  readonly maskedBytes: number;
  readonly scannedBytes: number;
  /** Roughly what the scrubber's tables take. */
  readonly memoryBytes: number;
};

/** The size of pieces that scrubs fastest: it fits the processor's cache. */
export const scrubChunkBytes = 256 * 1024;

// Too common to mean anything, and some are what artifacts are made of.
const neverMasked = new Set(['/', '*', 'https://', 'http://', mask, '123']);

// Texts up to this many UTF-16 units are written to a buffer that is used again.
const scratchUnits = 16 * 1024;

/** What stands where a text was shortened. */
const cutMark = '…';
// From this length on a text may have been cut without a mark, as bodies and other contents are.
const silentlyCut = 3000;

/** Playwright's errors end in a log of the request, headers and all. */
const callLog = 'Call log:';

function mayBeCut(text: string): boolean {
  return text.length >= silentlyCut || text.includes(cutMark);
}

/** Makes a scrubber for `secrets`; empty values and ones that would mask everything are left out. */
export function createScrubber(secrets: readonly NamedSecret[]): Scrubber {
  const warnings: string[] = [];
  const wholeTexts = new Set<string>();
  const patterns: Pattern[] = [];
  const seen = new Set<string>();
  for (const { name, value } of secrets) {
    if (value === '') continue;
    if (neverMasked.has(value) || value.trim() === '') {
      warnings.push(`${name}: the value is too common to be masked; choose another one`);
      continue;
    }
    const short =
      Buffer.byteLength(value.trim()) < shortSecretBytes && Buffer.byteLength(value) < shortSecretBytes;
    if (short) {
      warnings.push(
        `${name}: the value has fewer than ${shortSecretBytes} bytes and is masked only where it is a whole value; choose a longer one`,
      );
    }
    if (seen.has(value)) continue;
    seen.add(value);
    wholeTexts.add(value);
    if (short) patterns.push(...quotedForms(value));
    else for (const bytes of encodedForms(value)) patterns.push({ bytes });
  }
  return scrubberOf(patterns, wholeTexts, warnings);
}

/** A short value as a whole string of JSON text, where that is long enough to search for; the quotes stay. */
function quotedForms(value: string): Pattern[] {
  return [
    ['"', json(value)],
    ['\\"', json(json(value))],
    ['&quot;', json(value)],
  ]
    .map(([quote = '', inner = '']) => ({
      bytes: Buffer.from(quote + inner + quote),
      lead: quote.length,
      trail: quote.length,
    }))
    .filter(({ bytes }) => bytes.length >= shortSecretBytes);
}

function scrubberOf(
  patterns: readonly Pattern[],
  wholeTexts: ReadonlySet<string>,
  warnings: readonly string[],
): Scrubber {
  const matcher = createMatcher(patterns);
  const counters: Counters = { scannedBytes: 0, maskedCount: 0, maskedBytes: 0 };
  let scratch: Buffer | null = null;

  /** `text` as UTF-8 and its length; the buffer is valid until the next call. */
  function utf8(text: string): { bytes: Buffer; length: number } {
    if (text.length > scratchUnits) {
      const bytes = Buffer.from(text);
      return { bytes, length: bytes.length };
    }
    scratch ??= Buffer.alloc(scratchUnits * 3);
    return { bytes: scratch, length: scratch.write(text) };
  }

  function text(source: string): string {
    const readable = withoutHidingColours(
      source.includes(callLog) ? maskHeaderLines(source, counters) : source,
    );
    if (matcher.patternCount === 0) return readable;
    if (readable.length * 3 < matcher.shortest) return withoutCuts(readable);
    const { bytes, length } = utf8(readable);
    return withoutCuts(sift(matcher, bytes, length, counters)?.toString() ?? readable);
  }

  /** `source` without its colours where they stand inside a secret, as in the differences that assertions print. */
  function withoutHidingColours(source: string): string {
    if (matcher.patternCount === 0 || !source.includes(escapeSequence)) return source;
    const plain = withoutColours(source);
    return holdsSecret(plain) ? plain : source;
  }

  function holdsSecret(source: string): boolean {
    const { bytes: encoded, length } = utf8(source);
    const spans: number[] = [];
    counters.scannedBytes += length;
    matcher.find(encoded, { from: 0, until: length, end: length }, spans);
    return spans.length > 0;
  }

  /** `source` with a mask for each beginning of a secret at a place where a text was cut. */
  function withoutCuts(source: string): string {
    if (!mayBeCut(source)) return source;
    let clean = '';
    let from = 0;
    while (from < source.length) {
      const ellipsis = source.indexOf(cutMark, from);
      const at = ellipsis < 0 ? source.length : ellipsis;
      const tailAt = Math.max(from, at - matcher.longest);
      const tail = Buffer.from(source.slice(tailAt, at));
      const start = ellipsis < 0 && source.length < silentlyCut ? -1 : matcher.cutIn(tail);
      if (start < 0) {
        clean += source.slice(from, at + 1);
      } else {
        counters.maskedCount++;
        counters.maskedBytes += tail.length - start;
        clean +=
          source.slice(from, tailAt) + tail.toString('utf8', 0, start) + mask + source.slice(at, at + 1);
      }
      from = at + 1;
    }
    return clean;
  }

  function bytes(source: Buffer): Buffer {
    if (matcher.patternCount === 0) return source;
    return sift(matcher, source, source.length, counters) ?? source;
  }

  const rules: TreeRules = {
    shortestText: matcher.patternCount === 0 ? Infinity : matcher.shortest,
    holdsSecret,
    text,
    hidesSecret: (source) =>
      (matcher.patternCount > 0 &&
        (withoutCuts(source) !== source || withoutHidingColours(source) !== source)) ||
      (source.includes(callLog) && hasHeaderLine(source)),
    bytes,
    wholeTexts,
    longestWhole: Math.max(0, ...[...wholeTexts].map((whole) => whole.length)),
    wholeNumbers: new Set([...wholeTexts].filter(isNumberText).map(Number)),
    masked: () => {
      counters.maskedCount++;
    },
  };

  return {
    text,
    bytes,
    json: <T>(tree: T): T => scrubTree(tree, rules) as T, // the same shape, with masks for some strings and numbers
    stream: () => scrubbingStream(createSieve(matcher, counters)),
    sieve: () => createSieve(matcher, counters),
    find(source) {
      const spans: number[] = [];
      matcher.find(source, { from: 0, until: source.length, end: source.length }, spans);
      return spans;
    },
    warnings: Object.freeze(warnings),
    get maskedCount() {
      return counters.maskedCount;
    },
    get maskedBytes() {
      return counters.maskedBytes;
    },
    get scannedBytes() {
      return counters.scannedBytes;
    },
    memoryBytes: matcher.memoryBytes + [...wholeTexts].reduce((sum, whole) => sum + whole.length * 2 + 64, 0),
  };
}

const isNumberText = (text: string): boolean => /^[-+.\d]/.test(text) && Number.isFinite(Number(text));

function scrubbingStream(sieve: Sieve): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (const piece of sieve.push(chunk)) this.push(piece);
      done();
    },
    flush(done) {
      for (const piece of sieve.end()) this.push(piece);
      done();
    },
  });
}
