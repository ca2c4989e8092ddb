import { createCutFinder, type CutFinder } from './cut-finder.ts';
import { windowHash } from './chains.ts';
import { createExactIndex, type ExactIndex } from './exact-index.ts';
import { hashBytes } from './substring-hash.ts';
import { laneBytes, shiftAt, windowsInLanes } from './shift-table.ts';
import { storedLength, type Pattern } from './pattern-store.ts';
import { buildMatcherTables, type MatcherTables } from './tables.ts';

/**
 * Finds many patterns at once in bytes, with Wu and Manber's algorithm ("A fast algorithm for multi-pattern searching",
 * 1994) and blocks of three bytes. A window as long as the shortest pattern moves over the text; for the window's last
 * block, the table `shifts` has the distance that it may jump. Where it may not jump, the window's hash selects the few
 * patterns that begin like it.
 *
 * A text that looks like the beginning of patterns everywhere (long runs of one character, a prefix that all keys
 * share) would make comparing slow. Above a budget, the rest of the call therefore compares hashes of whole patterns.
 * That takes constant time for each length among the patterns with the same beginning.
 */

// Texts from this length on are read in four lanes at once.
const laneThreshold = 2048;

const budgetPerByte = 16;

/** Parts of a text as pairs of start and end, ascending and not overlapping (they may touch). */
export type Spans = number[];

export type Matcher = {
  readonly patternCount: number;
  /** Bytes of the shortest and of the longest pattern. */
  readonly shortest: number;
  readonly longest: number;
  readonly memoryBytes: number;
  /**
   * Appends every pattern in `text[0, end)` that begins in `[from, until)` to `spans`. Overlapping ones become one
   * span; one that overlaps the last span extends it.
   */
  find(text: Uint8Array, range: { from: number; until: number; end: number }, spans: Spans): void;
  /** Where a pattern begins within which a cut text ends, or -1. */
  readonly cutIn: CutFinder;
};

/** A matcher for `patterns` of at least three bytes each. Throws RangeError for a shorter one. */
export function createMatcher(patterns: readonly Pattern[]): Matcher {
  return matcherOf(buildMatcherTables(patterns));
}

/** A matcher with these tables. */
export function matcherOf({ store, window, shift: table, chains }: MatcherTables): Matcher {
  const { count, pool, offsets, lengths, margins } = store;
  const { heads, hashes, next } = chains;
  const slotMask = heads.length - 1;
  let exact: ExactIndex | null = null;

  /** The longest pattern at `start` that ends after `covered`, or -1; adds its cost to `work`. */
  function compare(text: Uint8Array, start: number, end: number, covered: number): number {
    const hash = windowHash(text, start, start + window);
    let slot = hash & slotMask;
    let index = heads[slot] ?? -1;
    while (index >= 0 && hashes[slot] !== hash) {
      slot = (slot + 1) & slotMask;
      index = heads[slot] ?? -1;
    }
    while (index >= 0) {
      const length = lengths[index] ?? 0;
      // Chains are sorted: no later pattern is longer.
      if (start + length <= covered) return -1;
      if (start + length <= end) {
        const offset = offsets[index] ?? 0;
        const stored = storedLength(length);
        let i = 0;
        while (i < stored && text[start + i] === pool[offset + i]) i++;
        work += i;
        if (i === stored && (length === stored || equalHash(text, start, index))) return index;
      }
      work += 4;
      index = next[index] ?? -1;
    }
    return -1;
  }

  function equalHash(text: Uint8Array, start: number, index: number): boolean {
    const length = lengths[index] ?? 0;
    work += length * 2;
    const hash = hashBytes(text, start, start + length);
    return hash.first === store.hashes1[index] && hash.second === store.hashes2[index];
  }

  let work = 0;
  let budget = 0;
  let hashed: ExactIndex | null = null;

  /** Checks for patterns whose first window ends with byte `i`. */
  function examine(text: Uint8Array, i: number, end: number, spans: Spans): void {
    const start = i - window + 1;
    const covered = spans.length > 0 ? (spans[spans.length - 1] ?? 0) : 0;
    let index: number;
    if (hashed !== null) {
      index = hashed.longestAt(start, end, covered);
    } else {
      index = compare(text, start, end, covered);
      if (work > budget) {
        exact ??= createExactIndex(store, window);
        exact.read(text, start, end);
        hashed = exact;
      }
    }
    if (index < 0) return;
    const margin = margins[index] ?? 0;
    addSpan(spans, start + (margin & 0xffff), start + (lengths[index] ?? 0) - (margin >> 16));
  }

  return {
    patternCount: count,
    cutIn: createCutFinder(store),
    shortest: store.shortest,
    longest: store.longest,
    memoryBytes: pool.byteLength + count * 24 + table.shifts.byteLength + heads.byteLength * 2,
    find(text, { from, until, end }, spans) {
      if (count === 0) return;
      const last = Math.min(end, until + window - 1);
      work = 0;
      // Hashing would cost as much, so comparing may cost as much first.
      budget = 1024 + (until - from) * budgetPerByte + (end - from) * 4;
      hashed = null;
      let at = from + window - 1;
      while (last - at >= laneThreshold) {
        const to = Math.min(last, at + laneBytes * 4);
        const lanes = windowsInLanes(text, at, to, table);
        for (const lane of lanes) {
          for (let k = 0; k < lane.count; k++) examine(text, lane.ends[k] ?? 0, end, spans);
        }
        at = to;
      }
      const { shifts, unused } = table;
      while (at < last) {
        const shift = shiftAt(text, at, shifts, unused);
        if (shift === 0) {
          examine(text, at, end, spans);
          at++;
        } else {
          at += shift;
        }
      }
    },
  };
}

/** Adds a span whose start may lie a few bytes before the last one's. */
function addSpan(spans: Spans, start: number, end: number): void {
  let from = start;
  let to = end;
  while (spans.length > 0) {
    const lastEnd = spans[spans.length - 1] ?? 0;
    if (from >= lastEnd) break;
    from = Math.min(from, spans[spans.length - 2] ?? 0);
    to = Math.max(to, lastEnd);
    spans.length -= 2;
  }
  spans.push(from, to);
}
