import type { PatternStore } from './pattern-store.ts';
import { blockPrime } from './shift-table.ts';
import { hashBytes, PrefixHashes } from './substring-hash.ts';

/** Finds patterns by the hashes of whole patterns, in constant time per length. */
export type ExactIndex = {
  /** Hashes `text[from, to)`, which later calls search. */
  read(text: Uint8Array, from: number, to: number): void;
  /** The longest pattern at `start` that ends after `covered` and by `end`, or -1. */
  longestAt(start: number, end: number, covered: number): number;
};

/** Patterns by length and hash, with the lengths that occur for each first window, longest first. */
export function createExactIndex(store: PatternStore, window: number): ExactIndex {
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
