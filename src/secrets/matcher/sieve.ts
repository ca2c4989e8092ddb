import type { Matcher, Spans } from './matcher.ts';
import { mask } from '../secret.ts';

const maskBytes = Buffer.from(mask);

/** Counters of a scrubber: bytes read, masks written, bytes that they replaced. */
export type Counters = { scannedBytes: number; maskedCount: number; maskedBytes: number };

/** A text that arrives in pieces, with every secret in it replaced, however the pieces are cut. */
export type Sieve = {
  /** Takes the next piece; returns the part that is now certain, which may share the piece's memory. */
  push(piece: Buffer): Buffer[];
  /** Ends the text: returns the rest. */
  end(): Buffer[];
  /** The number of bytes that wait for the next piece. */
  readonly heldBytes: number;
};

/** Replaces every pattern of `matcher` in `text[0, end)`; null if there is none. */
export function sift(matcher: Matcher, text: Buffer, end: number, counters: Counters): Buffer | null {
  counters.scannedBytes += end;
  const spans: Spans = [];
  matcher.find(text, { from: 0, until: end, end }, spans);
  return spans.length === 0
    ? null
    : Buffer.concat(withMasks(text, { until: end, written: false }, spans, counters));
}

// Larger pieces are passed on as they are; smaller ones are joined, because each costs its receiver a call.
const worthwhilePiece = 2048;

/** `text[0, until)` with a mask for each span that begins there; `written`: the first one's mask is already out. */
function withMasks(
  text: Buffer,
  { until, written }: { until: number; written: boolean },
  spans: Spans,
  counters: Counters,
): Buffer[] {
  const pieces: Buffer[] = [];
  let read = 0;
  for (let i = 0; i < spans.length; i += 2) {
    const start = spans[i] ?? 0;
    if (start >= until) break;
    const end = Math.min(spans[i + 1] ?? 0, until);
    if (start > read) pieces.push(text.subarray(read, start));
    if (i > 0 || !written) {
      pieces.push(maskBytes);
      counters.maskedCount++;
    }
    counters.maskedBytes += end - start;
    read = end;
  }
  if (until > read) pieces.push(text.subarray(read, until));
  return pieces.length > 1 && pieces.length * worthwhilePiece > until ? [Buffer.concat(pieces)] : pieces;
}

/**
 * A sieve holds back less than one and a quarter times the longest pattern. Large pieces without a secret are passed on
 * without a copy.
 */
export function createSieve(matcher: Matcher, counters: Counters): Sieve {
  // A pattern may begin in the last bytes seen and end in the next piece.
  const context = Math.max(0, matcher.longest - 1);
  let tail: Buffer = Buffer.alloc(0);
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  // Spans that end in the tail; `written`: the first one's mask is already out.
  let carried: Spans = [];
  let written = false;

  /** Emits `text[0, until)`: all matches that begin there are known, and may end anywhere in `text`. */
  function settle(text: Buffer, until: number, out: Buffer[]): void {
    if (until === 0) return;
    const spans = carried;
    counters.scannedBytes += until;
    matcher.find(text, { from: 0, until, end: text.length }, spans);
    if (spans.length === 0) {
      out.push(text.subarray(0, until));
      return;
    }
    for (const piece of withMasks(text, { until, written }, spans, counters)) out.push(piece);
    carried = [];
    written = false;
    for (let i = 0; i < spans.length; i += 2) {
      const start = spans[i] ?? 0;
      const end = spans[i + 1] ?? 0;
      if (end <= until) continue;
      if (start < until) written = true;
      carried.push(Math.max(0, start - until), end - until);
    }
  }

  function settleWaiting(out: Buffer[]): void {
    const text = Buffer.concat([tail, ...waiting], tail.length + waitingBytes);
    waiting = [];
    waitingBytes = 0;
    const until = Math.max(0, text.length - context);
    settle(text, until, out);
    tail = Buffer.from(text.subarray(until));
  }

  return {
    push(piece) {
      const out: Buffer[] = [];
      if (piece.length > 2 * context && waitingBytes === 0) {
        settle(Buffer.concat([tail, piece.subarray(0, context)]), tail.length, out);
        const until = piece.length - context;
        settle(piece, until, out);
        tail = Buffer.from(piece.subarray(until));
        return out;
      }
      // Small pieces are joined first, because each call reads the whole tail again.
      waiting.push(Buffer.from(piece));
      waitingBytes += piece.length;
      if (waitingBytes * 8 >= tail.length) settleWaiting(out);
      return out;
    },
    end() {
      const out: Buffer[] = [];
      const text = Buffer.concat([tail, ...waiting]);
      tail = Buffer.alloc(0);
      waiting = [];
      waitingBytes = 0;
      settle(text, text.length, out);
      return out;
    },
    get heldBytes() {
      return tail.length + waitingBytes;
    },
  };
}
