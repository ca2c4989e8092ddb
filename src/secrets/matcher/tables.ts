import { createChains, type Chains } from './chains.ts';
import { storePatterns, type Pattern, type PatternStore } from './pattern-store.ts';
import { blockBytes, createShiftTable, type ShiftTable } from './shift-table.ts';

/** What a matcher searches with: typed arrays, which can be handed to another thread without a copy. */
export type MatcherTables = {
  readonly store: PatternStore;
  /** Bytes of the window that moves over a text. */
  readonly window: number;
  readonly shift: ShiftTable;
  readonly chains: Chains;
};

// A longer window jumps further but fills the table; beyond 16 there is no gain.
const maxWindow = 16;

/** The tables for `patterns` of at least three bytes each. Throws RangeError for a shorter one. */
export function buildMatcherTables(patterns: readonly Pattern[]): MatcherTables {
  const store = storePatterns(patterns);
  if (store.count > 0 && store.shortest < blockBytes) {
    throw new RangeError(`a pattern must have ${blockBytes} bytes or more`);
  }
  const window = Math.min(store.shortest, maxWindow);
  return { store, window, shift: createShiftTable(store, window), chains: createChains(store, window) };
}

/** The memory of all tables, for a transfer to another thread. */
export function buffersOf({ store, shift, chains }: MatcherTables): ArrayBufferLike[] {
  const { pool, offsets, lengths, hashes1, hashes2, margins } = store;
  const { heads, hashes, next } = chains;
  return [pool, offsets, lengths, hashes1, hashes2, margins, shift.shifts, heads, hashes, next].map(
    ({ buffer }) => buffer,
  );
}
