import { Transform } from 'node:stream';
import { withFolding } from '../matcher/folding.ts';
import { matcherOf } from '../matcher/matcher.ts';
import { scrubTree, type TreeRules } from '../tree/scrub-tree.ts';
import { mask } from '../secret.ts';
import { hasHeaderLine } from '../tree/sensitive-headers.ts';
import { callLog, createTextScrubber } from './scrub-text.ts';
import { createSieve, sift, type Counters, type Sieve } from '../matcher/sieve.ts';
import { buildTables, type NamedSecret, type ScrubberTables } from './tables.ts';

export type { NamedSecret } from './tables.ts';

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
  /**
   * Why this scrubber lets nothing through: the run has more secrets than can be searched for. All texts and bytes are
   * then masked as a whole. Null = it masks the secrets only.
   */
  readonly withheld: string | null;
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

/** Creates a scrubber for `secrets` on this thread. */
export function createScrubber(secrets: readonly NamedSecret[]): Scrubber {
  return scrubberOf(buildTables(secrets));
}

/** A scrubber with these tables. */
export function scrubberOf(tables: ScrubberTables): Scrubber {
  const { exactTexts, warnings, withheld } = tables;
  const matcher = withFolding(matcherOf(tables.matcher));
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

  if (withheld !== null) return withholding(withheld);

  return {
    withheld,
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

/** A scrubber that masks everything. */
function withholding(withheld: string): Scrubber {
  const everything = Buffer.from(mask);
  const rules: TreeRules = {
    shortestText: 0,
    holdsSecret: () => true,
    text: () => mask,
    hidesSecret: () => true,
    bytes: () => everything,
    exactTexts: new Set(),
    maxExactLength: 0,
    exactNumbers: new Set(),
    masked: () => undefined,
  };
  const sieve = (): Sieve => ({ push: () => [], end: () => [everything], heldBytes: 0 });
  return {
    withheld,
    text: () => mask,
    bytes: () => everything,
    json: <T>(tree: T): T => scrubTree(tree, rules) as T, // same shape, with masks for all texts
    stream: () => scrubbingStream(sieve()),
    sieve,
    find: (source) => [0, source.length],
    warnings: [withheld],
    maskedCount: 1,
    maskedBytes: 0,
    scannedBytes: 0,
    memoryBytes: 0,
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
