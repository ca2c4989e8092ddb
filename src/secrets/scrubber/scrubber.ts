import { Transform } from 'node:stream';
import { encodedForms, shortSecretBytes } from '../forms/forms.ts';
import { createMatcher } from '../matcher/matcher.ts';
import type { Pattern } from '../matcher/pattern-store.ts';
import { scrubTree, type TreeRules } from '../tree/scrub-tree.ts';
import { mask } from '../secret.ts';
import { hasHeaderLine } from '../tree/sensitive-headers.ts';
import { callLog, createTextScrubber } from './scrub-text.ts';
import { createSieve, sift, type Counters, type Sieve } from '../matcher/sieve.ts';
import { json } from '../forms/text-escapes.ts';

/** A secret and the variable that contains it; the name may be shown, the value never. */
export type NamedSecret = { readonly name: string; readonly value: string };

/**
 * All output goes through a scrubber: it replaces secrets by `*********`, in all forms of `encodedForms`. Overlapping
 * matches become one mask.
 */
export type Scrubber = {
  /**
   * Scrubs a text; returns the same one if nothing changed. Where the text was cut, the beginning of a secret is masked
   * too: before `…`, and at the end of a text of 3000 characters and more.
   */
  text(text: string): string;
  /** Scrubs bytes of any encoding; returns the same reference if nothing changed. */
  bytes(bytes: Buffer): Buffer;
  /**
   * Scrubs a JSON tree without changing it: strings, keys, numbers that are a secret, short secrets that are a whole
   * value, and sensitive headers. Parts without secrets keep their reference.
   */
  json<T>(tree: T): T;
  /** A stream that scrubs bytes, however they are cut; it holds back as much as the longest form of a secret. */
  stream(): Transform;
  /** The same without a stream, for callers that read and write themselves. */
  sieve(): Sieve;
  /** The positions of secrets in `bytes`: pairs of start and end, ascending. Nothing is masked or counted. */
  find(bytes: Uint8Array): readonly number[];
  /** Values that cannot be masked everywhere, one line each with the variable's name. */
  readonly warnings: readonly string[];
  /** Masks written so far. */
  readonly maskedCount: number;
  /** Bytes that masks have replaced. */
  readonly maskedBytes: number;
  readonly scannedBytes: number;
  /** Approximate size of the scrubber's tables. */
  readonly memoryBytes: number;
};

/** The chunk size that scrubs fastest: it fits the processor's cache. */
export const scrubChunkBytes = 256 * 1024;

// Too common to be secret, and some occur in every artifact.
const neverMasked = new Set(['/', '*', 'https://', 'http://', mask, '123']);

/** Creates a scrubber for `secrets`; skips empty values and values that would mask everything. */
export function createScrubber(secrets: readonly NamedSecret[]): Scrubber {
  const warnings: string[] = [];
  const exactTexts = new Set<string>();
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
    exactTexts.add(value);
    if (short) patterns.push(...quotedForms(value));
    else for (const bytes of encodedForms(value)) patterns.push({ bytes });
  }
  return scrubberOf(patterns, exactTexts, warnings);
}

/** A short value as a complete string of JSON text, if that is long enough to search for; the quotes are kept. */
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
  exactTexts: ReadonlySet<string>,
  warnings: readonly string[],
): Scrubber {
  const matcher = createMatcher(patterns);
  const counters: Counters = { scannedBytes: 0, maskedCount: 0, maskedBytes: 0 };
  const { text, holdsSecret, withoutCuts, withoutHidingColours } = createTextScrubber(matcher, counters);

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
    exactTexts,
    maxExactLength: Math.max(0, ...[...exactTexts].map((whole) => whole.length)),
    exactNumbers: new Set([...exactTexts].filter(isNumberText).map(Number)),
    masked: () => {
      counters.maskedCount++;
    },
  };

  return {
    text,
    bytes,
    json: <T>(tree: T): T => scrubTree(tree, rules) as T, // same shape, with masks for some strings and numbers
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
    memoryBytes: matcher.memoryBytes + [...exactTexts].reduce((sum, whole) => sum + whole.length * 2 + 64, 0),
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
