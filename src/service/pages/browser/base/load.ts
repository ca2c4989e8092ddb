import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Refused, repeatAfterMs, SignedOut } from './service.ts';
import { forgetUser } from './user.ts';

/** Reading data for a component. */

export type Loaded<Value> = {
  /** The last value that was read; it stays while a newer one is read. */
  readonly value: Value | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  /** Reads again. */
  readonly reload: () => void;
  /** Replaces the value without reading, for example after a change or a live event. */
  readonly set: (change: (value: Value) => Value) => void;
};

/**
 * Reads a value, and again when `key` changes; null reads nothing. An answer that a newer one has overtaken is dropped.
 * A read that the service did not answer is repeated, and one that it limited when the service takes it again.
 * With `keep`, the old value stays while the next one is read; otherwise it goes at once, as for another check's page.
 */
export function useLoad<Value>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<Value>,
  { keep = false }: { keep?: boolean } = {},
): Loaded<Value> {
  const [state, setState] = useState<{
    key: string | null;
    value?: Value;
    error?: Error;
    isLoading: boolean;
  }>({
    key: null,
    isLoading: key !== null,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  /** While the service limits the requests: another one would only be refused. */
  const isLimited = useRef(false);
  useEffect(() => {
    isLimited.current = false;
    if (key === null) return;
    let again: ReturnType<typeof setTimeout> | undefined;
    const ending = new AbortController();
    setState((before) =>
      before.key === key || keep ? { ...before, isLoading: true } : { key, isLoading: true },
    );
    latest.current(ending.signal).then(
      (value) => {
        if (!ending.signal.aborted) setState({ key, value, isLoading: false });
      },
      (error: unknown) => {
        if (ending.signal.aborted) return;
        if (error instanceof SignedOut) return forgetUser();
        setState((before) => ({
          ...(before.value !== undefined && (before.key === key || keep) ? { value: before.value } : {}),
          key,
          error: error instanceof Error ? error : new Error(String(error)),
          isLoading: false,
        }));
        const ms = repeatAfterMs(error);
        if (ms === null) return;
        isLimited.current = error instanceof Refused;
        again = setTimeout(() => setTurn((number) => number + 1), ms);
      },
    );
    return () => {
      ending.abort();
      clearTimeout(again);
    };
  }, [key, turn]);
  const reload = useCallback(() => {
    if (!isLimited.current) setTurn((number) => number + 1);
  }, []);
  const set = useCallback(
    (change: (value: Value) => Value) =>
      setState((before) =>
        before.value === undefined ? before : { ...before, value: change(before.value) },
      ),
    [],
  );
  const isOld = state.key !== key && !keep;
  return {
    value: isOld ? undefined : state.value,
    error: isOld ? undefined : state.error,
    isLoading: isOld ? key !== null : state.isLoading,
    reload,
    set,
  };
}
