import { escapeSequence, withoutColours } from '../colours.ts';
import type { Matcher } from '../matcher/matcher.ts';
import { sift, type Counters } from '../matcher/sieve.ts';
import { mask } from '../secret.ts';
import { maskHeaderLines } from '../tree/sensitive-headers.ts';

/** Playwright's errors end in a log of the request, including headers. */
export const callLog = 'Call log:';

// Texts up to this many UTF-16 units are written to a reused buffer.
const scratchUnits = 16 * 1024;

/** Marks the place where a text was shortened. */
const cutMark = '…';
// From this length on a text may have been cut without a mark, like bodies and other contents.
const silentlyCut = 3000;

function mayBeCut(text: string): boolean {
  return text.length >= silentlyCut || text.includes(cutMark);
}

/** Scrubs texts: with colours and cuts, which hide secrets from a plain search. */
export type TextScrubber = {
  /** The text without secrets; the same one if nothing changed. */
  text(source: string): string;
  holdsSecret(source: string): boolean;
  /** `source` with a mask for each beginning of a secret where a text was cut. */
  withoutCuts(source: string): string;
  /** `source` without colours if they are inside a secret, as in the differences that assertions print. */
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
    const readable = withoutHidingColours(
      source.includes(callLog) ? maskHeaderLines(source, counters) : source,
    );
    if (matcher.patternCount === 0) return readable;
    if (readable.length * 3 < matcher.shortest) return withoutCuts(readable);
    const { bytes, length } = utf8(readable);
    return withoutCuts(sift(matcher, bytes, length, counters)?.toString() ?? readable);
  }

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

  return { text, holdsSecret, withoutCuts, withoutHidingColours };
}
