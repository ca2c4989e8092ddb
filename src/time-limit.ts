/**
 * A signal that fires with `signal` and its reason, or after `limitMs` with a DOMException named TimeoutError.
 * AbortSignal.any with AbortSignal.timeout is not safe here: only the combined signal refers to that timeout, so it may
 * be garbage-collected before it fires. The timer does not keep the process alive.
 */
export function withTimeLimit(signal: AbortSignal, limitMs: number): AbortSignal {
  return startLimit(signal, limitMs).signal;
}

/**
 * What `work` resolves or rejects with. Its signal fires like that of `withTimeLimit`, and nothing of the limit is left
 * when the work is done: a timer that runs on costs as much as a short piece of work.
 */
export async function underTimeLimit<T>(
  signal: AbortSignal,
  limitMs: number,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = startLimit(signal, limitMs);
  try {
    return await work(limit.signal);
  } finally {
    limit.stop();
  }
}

function startLimit(signal: AbortSignal, limitMs: number): { signal: AbortSignal; stop: () => void } {
  const either = new AbortController();
  const stop = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  const end = (reason: unknown) => {
    stop();
    either.abort(reason);
  };
  const onAbort = () => end(signal.reason);
  const timer = setTimeout(
    () => end(new DOMException(`not done within ${limitMs} ms`, 'TimeoutError')),
    limitMs,
  );
  timer.unref();
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
  return { signal: either.signal, stop };
}

/** The value of `work`, or null if it takes longer than `limitMs`; the work itself goes on. Rejects with its error. */
export async function within<T>(work: Promise<T>, limitMs: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), limitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
