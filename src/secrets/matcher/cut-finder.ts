import { storedLength, type PatternStore } from './pattern-store.ts';

// A shorter beginning of a secret at a text's end is not worth hiding, and would mask ordinary words.
const shortestCut = 4;

/** Where the pattern begins within which `text` ends, the earliest one; -1 if it ends within none. */
export type CutFinder = (text: Uint8Array) => number;

/** A finder for the patterns of `store`; its table is built with the first search, because most texts are never cut. */
export function createCutFinder(store: PatternStore): CutFinder {
  let byBeginning: Map<number, number[]> | null = null;
  return (text) => {
    byBeginning ??= indexBeginnings(store);
    const from = Math.max(0, text.length - store.longest + 1);
    for (let start = from; start <= text.length - shortestCut; start++) {
      for (const index of byBeginning.get(beginningAt(text, start)) ?? []) {
        if (continues(text, start, index, store)) return start;
      }
    }
    return -1;
  };
}

function indexBeginnings(store: PatternStore): Map<number, number[]> {
  const beginnings = new Map<number, number[]>();
  for (let index = 0; index < store.count; index++) {
    // A pattern with margins is a short value, of which no part is masked.
    if ((store.lengths[index] ?? 0) <= shortestCut || store.margins[index] !== 0) continue;
    const key = beginningAt(store.pool, store.offsets[index] ?? 0);
    const known = beginnings.get(key);
    if (known === undefined) beginnings.set(key, [index]);
    else known.push(index);
  }
  return beginnings;
}

function beginningAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] ?? 0) << 24) |
    ((bytes[at + 1] ?? 0) << 16) |
    ((bytes[at + 2] ?? 0) << 8) |
    (bytes[at + 3] ?? 0)
  );
}

/** Whether `text` from `start` to its end is a beginning of the pattern, as far as the store keeps it. */
function continues(text: Uint8Array, start: number, index: number, store: PatternStore): boolean {
  const length = store.lengths[index] ?? 0;
  if (text.length - start >= length) return false;
  const offset = store.offsets[index] ?? 0;
  const until = Math.min(text.length - start, storedLength(length));
  let i = shortestCut;
  while (i < until && text[start + i] === store.pool[offset + i]) i++;
  return i === until;
}
