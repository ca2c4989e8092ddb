import { escapeSequence, withoutColours } from '../colours.ts';
import type { Matcher } from '../matcher/matcher.ts';
import { sift, type Counters } from '../matcher/sieve.ts';
import { mask } from '../secret.ts';
import { maskHeaderLines } from '../tree/sensitive-headers.ts';

/** Playwright's errors end in a log of the request, including headers. */
export const callLog = 'Call log:';

// Texts up to this many UTF-16 units are written to a reused buffer.
const scratchUnits = 16 * 1024;

/** Marks the place where a text was shortened: by us, or by Node where it prints strings and bytes. */
const cutMark = /…|\.\.\. \d+ more |['"`]?\.\.\. \d+ more /g;
const nodesCutMark = ' more ';
// From this length on a text may have been cut without a mark, like bodies and other contents.
const silentlyCut = 3000;

/** Between two strings of a printed TXT record, also within JSON. */
const stringBorder = /\\?" +\\?"/g;

function mayBeCut(text: string): boolean {
  return text.length >= silentlyCut || text.includes('…') || text.includes(nodesCutMark);
}

/** Scrubs texts: with colours and cuts, which hide secrets from a plain search. */
export type TextScrubber = {
  /** The text without secrets; the same one if nothing changed. */
  text(source: string): string;
  holdsSecret(source: string): boolean;
  /** `source` with a mask for each beginning of a secret where a text was cut. */
  withoutCuts(source: string): string;
  /**
   * `source` without colours if they are inside a secret, as in the differences that assertions print, and with the
   * strings of a DNS record joined if a secret runs through them.
   */
  withoutHidingColours(source: string): string;
};

/** A text scrubber for the patterns of `matcher`; adds its work to `counters`. */
export function createTextScrubber(matcher: Matcher, counters: Counters): TextScrubber {
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
    const readable = readableForm(source.includes(callLog) ? maskHeaderLines(source, counters) : source);
    if (matcher.patternCount === 0) return readable;
    if (readable.length * 3 < matcher.shortest) return withoutCuts(readable);
    const { bytes, length } = utf8(readable);
    return withoutCuts(sift(matcher, bytes, length, counters)?.toString() ?? readable);
  }

  function readableForm(source: string): string {
    return withoutSplits(withoutHidingColours(source));
  }

  /** The text with the strings of a DNS record joined, if a secret runs from one to the next. */
  function withoutSplits(source: string): string {
    if (matcher.patternCount === 0 || !source.includes('" ')) return source;
    const joined = source.replaceAll(stringBorder, '');
    return joined.length < source.length && secretBytes(joined) > secretBytes(source) ? joined : source;
  }

  /** Bytes of the secrets in `source`. */
  function secretBytes(source: string): number {
    const { bytes: encoded, length } = utf8(source);
    const spans: number[] = [];
    counters.scannedBytes += length;
    matcher.find(encoded, { from: 0, until: length, end: length }, spans);
    return spans.reduce((sum, at, i) => sum + (i % 2 === 0 ? -at : at), 0);
  }

  function withoutHidingColours(source: string): string {
    if (matcher.patternCount === 0 || !source.includes(escapeSequence)) return source;
    const plain = withoutColours(source);
    return holdsSecret(plain) ? plain : source;
  }

  function holdsSecret(source: string): boolean {
    return secretBytes(source) > 0;
  }

  function withoutCuts(source: string): string {
    if (!mayBeCut(source)) return source;
    let clean = '';
    let from = 0;
    for (const [at, end] of cutsIn(source)) {
      const tailAt = Math.max(from, at - matcher.longest);
      const tail = Buffer.from(source.slice(tailAt, at));
      const start = matcher.cutIn(tail);
      if (start < 0) {
        clean += source.slice(from, end);
      } else {
        counters.maskedCount++;
        counters.maskedBytes += tail.length - start;
        clean += source.slice(from, tailAt) + tail.toString('utf8', 0, start) + mask + source.slice(at, end);
      }
      from = end;
    }
    clean += source.slice(from);
    return clean;
  }

  return { text, holdsSecret, withoutCuts, withoutHidingColours: readableForm };
}

/** Where `source` was cut, and where it goes on: pairs, ascending. A long text may have been cut at its end. */
function cutsIn(source: string): [at: number, end: number][] {
  const cuts = [...source.matchAll(cutMark)].map(({ index, 0: cut }): [number, number] => [
    index,
    index + cut.length,
  ]);
  if (source.length >= silentlyCut) cuts.push([source.length, source.length]);
  return cuts;
}
