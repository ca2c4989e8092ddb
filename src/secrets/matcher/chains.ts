import type { PatternStore } from './pattern-store.ts';

const windowPrime = 0x01000193;

/** The hash by which a window of a text finds its patterns. */
export const windowHash = (bytes: Uint8Array, from: number, to: number): number => {
  let hash = 0;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), windowPrime);
  return hash ^ (hash >>> 15);
};

/**
 * Lists of patterns with the same first window, longest first: `heads` has the first of each, at the window's hash or
 * after it, and `next` the following one.
 */
export type Chains = { readonly heads: Int32Array; readonly hashes: Int32Array; readonly next: Int32Array };

export function createChains(store: PatternStore, window: number): Chains {
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
