import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { LiveEvent } from '../base/live-event.ts';
import { useLive } from '../base/live.ts';
import { get, Refused, repeatAfterMs, SignedOut } from '../base/service.ts';
import { forgetUser } from '../base/user.ts';
import { afterEvents, withKnown } from './live-entries.ts';
import type { Entry, Overview } from './types.ts';

/** The list of checks: its first page, more of it on demand, and its live changes. */

const pageSize = 100;
/** The first entries are read again after a change; what was loaded below them only follows the events. */
const renewedPages = 4;
/** The service sends the runs of a second together. */
const flushMs = 100;
/** Soon after a change of a state or a check; after runs, whose figures change little. */
const soonMs = 2_000;
const laterMs = 60_000;

export type List = {
  readonly value: Overview | undefined;
  readonly error: Error | undefined;
  /** Another filter is being read; the old list stays until then. */
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly reload: () => void;
};

type Held = { path: string; pages: number; value: Overview };

/** Reads the list at `path`, which has a query without limit and page. */
export function useOverview(path: string): List {
  const [held, setHeld] = useState<Held | null>(null);
  const [error, setError] = useState<Error | undefined>();
  const [turn, setTurn] = useState(0);
  const latest = useRef<Held | null>(null);
  latest.current = held;
  const isReadingMore = useRef(false);
  const isReading = useRef(false);
  const shown = useRef<ReadonlySet<unknown>>(new Set());
  shown.current = useMemo(() => new Set(held?.value.entries.map(({ id }) => id)), [held?.value.entries]);

  /** While the service limits the requests: another one would only be refused. */
  const isLimited = useRef(false);

  const failed = (reason: unknown) => {
    if (reason instanceof SignedOut) return forgetUser();
    setError(reason instanceof Error ? reason : new Error(String(reason)));
  };

  useEffect(() => {
    isLimited.current = false;
    let again: ReturnType<typeof setTimeout> | undefined;
    const ending = new AbortController();
    const { signal } = ending;
    const before = latest.current;
    const isSame = before?.path === path;
    isReading.current = true;
    const pages = isSame ? Math.min(before.pages, renewedPages) : 1;
    Promise.all(Array.from({ length: pages }, (_, at) => readPage(path, at + 1, signal))).then(
      (answers) => {
        const [first] = answers;
        if (signal.aborted || first === undefined) return;
        isReading.current = false;
        setError(undefined);
        setHeld((old) => {
          const isSameList = old?.path === path;
          const fresh = answers.flatMap(({ entries }) => entries);
          const rest = isSameList ? old.value.entries.slice(pages * pageSize) : [];
          const entries = distinct([...withKnown(fresh, old?.value.entries ?? []), ...rest]);
          return { path, pages: isSameList ? Math.max(old.pages, pages) : 1, value: { ...first, entries } };
        });
      },
      (reason: unknown) => {
        if (signal.aborted) return;
        isReading.current = false;
        failed(reason);
        const ms = repeatAfterMs(reason);
        if (ms === null) return;
        isLimited.current = reason instanceof Refused;
        again = setTimeout(() => setTurn((number) => number + 1), ms);
      },
    );
    return () => {
      ending.abort();
      clearTimeout(again);
    };
  }, [path, turn]);

  const reload = useCallback(() => {
    if (!isLimited.current) setTurn((number) => number + 1);
  }, []);
  useChanges({
    reload,
    // Most events are about checks further down, which are not loaded. What is being read may have one of them.
    isShown: (checkId) => isReading.current || isReadingMore.current || shown.current.has(checkId),
    apply: (events) =>
      setHeld((old) => {
        if (old === null) return old;
        const value = afterEvents(old.value, events);
        return value === old.value ? old : { ...old, value };
      }),
  });

  const hasMore = held !== null && held.path === path && held.pages * pageSize < held.value.length;
  const more = useCallback(() => {
    const now = latest.current;
    if (now === null || isReadingMore.current || now.pages * pageSize >= now.value.length) return;
    isReadingMore.current = true;
    readPage(now.path, now.pages + 1)
      .then(
        (answer) =>
          setHeld((old) =>
            old === null || old.path !== now.path || old.pages !== now.pages
              ? old
              : {
                  path: old.path,
                  pages: old.pages + 1,
                  value: { ...answer, entries: distinct([...old.value.entries, ...answer.entries]) },
                },
          ),
        failed,
      )
      .finally(() => {
        isReadingMore.current = false;
      });
  }, []);

  return { value: held?.value, error, isLoading: held?.path !== path, hasMore, more, reload };
}

const readPage = (path: string, page: number, signal?: AbortSignal) =>
  get<Overview>(`${path}${path.includes('?') ? '&' : '?'}limit=${pageSize}&page=${page}`, signal);

function distinct(entries: readonly Entry[]): Entry[] {
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()];
}

/** Collects events, so that a burst is one drawing, and reads again when they do not tell everything. */
function useChanges({
  reload,
  isShown,
  apply,
}: {
  reload: () => void;
  isShown: (checkId: unknown) => boolean;
  apply: (events: readonly LiveEvent[]) => void;
}): void {
  const events = useRef<LiveEvent[]>([]);
  const flushing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const reloading = useRef<{ timer: ReturnType<typeof setTimeout>; at: number } | null>(null);
  const reloadIn = (ms: number) => {
    const at = Date.now() + ms;
    if (reloading.current !== null && reloading.current.at <= at) return;
    clearTimeout(reloading.current?.timer);
    const timer = setTimeout(() => {
      reloading.current = null;
      reload();
    }, ms);
    reloading.current = { timer, at };
  };
  useLive(['run', 'state', 'check', 'location'], (event) => {
    reloadIn(event.type === 'run' || event.type === 'location' ? laterMs : soonMs);
    if ((event.type !== 'run' && event.type !== 'state') || !isShown(event.checkId)) return;
    events.current.push(event);
    flushing.current ??= setTimeout(() => {
      flushing.current = undefined;
      apply(events.current.splice(0));
    }, flushMs);
  });
  useEffect(
    () => () => {
      clearTimeout(flushing.current);
      clearTimeout(reloading.current?.timer);
    },
    [],
  );
}
