/** Random delays that grow with each failure, so that many agents do not retry at the same time. */

const firstMs = 500;
const maxMs = 15_000;

/** Milliseconds to wait after `failures` failures in a row (from 1): between half and all of 0.5 s, 1 s, 2 s … 15 s. */
export function backoffMs(failures: number, random: () => number): number {
  const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 10));
  return ceiling * (0.5 + random() / 2);
}

/** Waits `ms`; returns early, without an error, if the signal fires. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done);
  });
}
