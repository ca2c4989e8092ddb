/** The held checks by their next moment: a heap, so that a moment costs what is due, not what is held. */

export type Due = {
  /** Milliseconds since the epoch. Add the item again after it has changed. */
  nextDueAt: number;
  /** True once the item is held no longer. */
  isGone: boolean;
};

export type DueQueue<T extends Due> = {
  add: (item: T) => void;
  /** Takes the earliest item that is due at `now`; null = nothing is due. Its caller moves it on and adds it again. */
  take: (now: number) => T | null;
  /** The earliest moment; null = there are no items. */
  earliest: () => number | null;
  clear: () => void;
};

type Entry<T> = { at: number; item: T };

/** Entries of moments that no longer count are dropped at this size, and then at twice what is left. */
const leastSweep = 1_024;

export function createDueQueue<T extends Due>(): DueQueue<T> {
  let heap: Entry<T>[] = [];
  let sweepAt = leastSweep;

  const atOf = (index: number) => heap[index]?.at ?? Infinity;
  const swap = (a: number, b: number): void => {
    const [first, second] = [heap[a], heap[b]];
    if (first === undefined || second === undefined) return;
    heap[a] = second;
    heap[b] = first;
  };

  function up(from: number): void {
    for (let index = from; index > 0;) {
      const parent = (index - 1) >> 1;
      if (atOf(parent) <= atOf(index)) return;
      swap(parent, index);
      index = parent;
    }
  }

  function down(from: number): void {
    for (let index = from; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const least = atOf(right) < atOf(left) ? right : left;
      if (atOf(least) >= atOf(index)) return;
      swap(least, index);
      index = least;
    }
  }

  const counts = ({ at, item }: Entry<T>) => !item.isGone && item.nextDueAt === at;

  function removeFirst(): void {
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return;
    heap[0] = last;
    down(0);
  }

  /** The first entry that counts. */
  function first(): Entry<T> | null {
    for (let entry = heap[0]; entry !== undefined; entry = heap[0]) {
      if (counts(entry)) return entry;
      removeFirst();
    }
    return null;
  }

  function sweep(): void {
    heap = heap.filter(counts).sort((a, b) => a.at - b.at);
    sweepAt = Math.max(leastSweep, 2 * heap.length);
  }

  return {
    add: (item) => {
      heap.push({ at: item.nextDueAt, item });
      up(heap.length - 1);
      if (heap.length > sweepAt) sweep();
    },
    take: (now) => {
      const entry = first();
      if (entry === null || entry.at > now) return null;
      removeFirst();
      return entry.item;
    },
    earliest: () => first()?.at ?? null,
    clear: () => {
      heap = [];
      sweepAt = leastSweep;
    },
  };
}
