import { createCutFinder, type CutFinder } from './cut-finder.ts';
import { hashBytes, PrefixHashes } from './substring-hash.ts';
import {
  blockBytes,
  blockPrime,
  createShiftTable,
  laneBytes,
  shiftAt,
  windowsInLanes,
} from './shift-table.ts';
import { storedLength, storePatterns, type Pattern, type PatternStore } from './pattern-store.ts';

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

// A longer window jumps further but fills the table; beyond 16 there is no gain.
const maxWindow = 16;
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
  const store = storePatterns(patterns);
  if (store.count > 0 && store.shortest < blockBytes) {
    throw new RangeError(`a pattern must have ${blockBytes} bytes or more`);
  }
  const { count, pool, offsets, lengths, margins } = store;
  const window = Math.min(store.shortest, maxWindow);
  const table = createShiftTable(store, window);
  const { heads, hashes, next } = createChains(store, window);
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

const windowPrime = 0x01000193;

const windowHash = (bytes: Uint8Array, from: number, to: number): number => {
  let hash = 0;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), windowPrime);
  return hash ^ (hash >>> 15);
};

/**
 * Lists of patterns with the same first window, longest first: `heads` has the first of each, at the window's hash or
 * after it, and `next` the following one.
 */
type Chains = { readonly heads: Int32Array; readonly hashes: Int32Array; readonly next: Int32Array };

function createChains(store: PatternStore, window: number): Chains {
  const heads = new Int32Array(2 ** Math.ceil(Math.log2(store.count * 2 + 2))).fill(-1);
  const hashes = new Int32Array(heads.length);
  const next = new Int32Array(store.count);
  const slotMask = heads.length - 1;
  for (let index = store.count - 1; index >= 0; index--) {
    const offset = store.offsets[index] ?? 0;
    const hash = windowHash(store.pool, offset, offset + window);
    let slot = hash & slotMask;
    while ((heads[slot] ?? -1) >= 0 && hashes[slot] !== hash) slot = (slot + 1) & slotMask;
    next[index] = heads[slot] ?? -1;
    heads[slot] = index;
    hashes[slot] = hash;
  }
  return { heads, hashes, next };
}

type ExactIndex = {
  read(text: Uint8Array, from: number, to: number): void;
  longestAt(start: number, end: number, covered: number): number;
};

/** Patterns by length and hash, with the lengths that occur for each first window, longest first. */
function createExactIndex(store: PatternStore, window: number): ExactIndex {
  const size = 2 ** Math.ceil(Math.log2(store.count * 2 + 2));
  const slots = new Int32Array(size).fill(-1);
  const mask = size - 1;
  const lengthsOf = new Map<number, number[]>();
  const prefixes = new PrefixHashes();
  const slotOf = (first: number, length: number): number =>
    (Math.imul(first ^ length, blockPrime) >>> 7) & mask;
  for (let index = 0; index < store.count; index++) {
    const length = store.lengths[index] ?? 0;
    let slot = slotOf(store.hashes1[index] ?? 0, length);
    while ((slots[slot] ?? -1) >= 0) slot = (slot + 1) & mask;
    slots[slot] = index;
    const offset = store.offsets[index] ?? 0;
    const key = hashBytes(store.pool, offset, offset + window).first;
    const lengths = lengthsOf.get(key);
    if (lengths === undefined) lengthsOf.set(key, [length]);
    else if (lengths[lengths.length - 1] !== length) lengths.push(length);
  }
  return {
    read: (text, from, to) => prefixes.read(text, from, to),
    longestAt(start, end, covered) {
      const lengths = lengthsOf.get(prefixes.first(start, window));
      if (lengths === undefined) return -1;
      for (const length of lengths) {
        if (start + length <= covered) return -1;
        if (start + length > end) continue;
        const first = prefixes.first(start, length);
        let second: number | null = null;
        let slot = slotOf(first, length);
        for (let index = slots[slot] ?? -1; index >= 0; index = slots[slot] ?? -1) {
          if (store.hashes1[index] === first && store.lengths[index] === length) {
            second ??= prefixes.second(start, length);
            if (store.hashes2[index] === second) return index;
          }
          slot = (slot + 1) & mask;
        }
      }
      return -1;
    },
  };
}
