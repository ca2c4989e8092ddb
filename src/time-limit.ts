/**
 * A signal that fires with `signal` and its reason, or after `limitMs` with a DOMException named TimeoutError.
 * AbortSignal.any with AbortSignal.timeout is not safe here: only the combined signal refers to that timeout, so it may
 * be garbage-collected before it fires. The timer does not keep the process alive.
 */
export function withTimeLimit(signal: AbortSignal, limitMs: number): AbortSignal {
  const either = new AbortController();
  const end = (reason: unknown) => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
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
  return either.signal;
}

/** The value of `work`, or null if it takes longer than `limitMs`; the work itself goes on. Rejects with its error. */
export async function within<T>(work: Promise<T>, limitMs: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), limitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
