import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * V8 trades memory for processor time: it lets garbage grow to several times the memory in use before it collects it. Most of
 * what an agent makes is garbage within a second, so a smaller heap costs it little.
 */

/**
 * Bytes of both halves of the space for new objects. V8 lets them grow to 32 MB. A burst within one turn of the event loop can
 * still make them grow once more.
 */
const newSpaceBytes = 16 * 1024 * 1024;

const newSpace = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;

/** Keeps the heap of this process small, from now on. */
export function keepLittleGarbage(): void {
  setFlagsFromString('--heap-growing-percent=40');
  let isFull = false;
  // V8 has no flag for this limit that it still reads while it runs, but it reads by how much the space may grow.
  const look = () => {
    if (newSpace() >= newSpaceBytes === isFull) return;
    isFull = !isFull;
    setFlagsFromString(`--semi-space-growth-factor=${isFull ? 1 : 2}`);
  };
  new PerformanceObserver(look).observe({ entryTypes: ['gc'] });
}
