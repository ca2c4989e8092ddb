import { hashBytes } from './substring-hash.ts';

/** A pattern to search for; `lead` bytes at the front and `trail` at the back of a match are kept. */
export type Pattern = { readonly bytes: Uint8Array; readonly lead?: number; readonly trail?: number };

/** Of a longer pattern, only this many bytes and a hash of the whole are kept, because a key of 64 KiB has many forms. */
const keptBytes = 1024;

/** All patterns in one block of memory, by number, longest first. */
export type PatternStore = {
  readonly count: number;
  readonly pool: Uint8Array;
  readonly offsets: Int32Array;
  readonly lengths: Int32Array;
  readonly hashes1: Int32Array;
  readonly hashes2: Int32Array;
  /** Bytes to keep of a match: the front's in the low half, the back's in the high half. */
  readonly margins: Int32Array;
  readonly shortest: number;
  readonly longest: number;
};

/** The number of bytes of pattern `index` in the pool. */
export const storedLength = (length: number): number => (length < keptBytes ? length : keptBytes);

/** Copies `patterns`, in any order and number; empty ones are skipped. */
export function storePatterns(patterns: readonly Pattern[]): PatternStore {
  const sorted = patterns
    .filter(({ bytes }) => bytes.length > 0)
    .sort((a, b) => b.bytes.length - a.bytes.length);
  const count = sorted.length;
  const size = sorted.reduce((sum, { bytes }) => sum + storedLength(bytes.length), 0);
  const pool = new Uint8Array(size);
  const offsets = new Int32Array(count);
  const lengths = new Int32Array(count);
  const hashes1 = new Int32Array(count);
  const hashes2 = new Int32Array(count);
  const margins = new Int32Array(count);
  let end = 0;
  sorted.forEach(({ bytes, lead = 0, trail = 0 }, index) => {
    const stored = storedLength(bytes.length);
    pool.set(stored === bytes.length ? bytes : bytes.subarray(0, stored), end);
    const hash = hashBytes(bytes, 0, bytes.length);
    offsets[index] = end;
    lengths[index] = bytes.length;
    hashes1[index] = hash.first;
    hashes2[index] = hash.second;
    margins[index] = lead | (trail << 16);
    end += stored;
  });
  const shortest = lengths[count - 1] ?? 0;
  return { count, pool, offsets, lengths, hashes1, hashes2, margins, shortest, longest: lengths[0] ?? 0 };
}
