import { useEffect, useRef } from 'preact/hooks';
import type { LiveEvent } from './live-event.ts';

/**
 * Live events of the account (`GET /v1/events`). All components of a tab share one stream; it is closed while the tab
 * is hidden, and components read their data again when it is shown.
 */

/** `reset`: events were left out, so everything must be read again. */
const types = [
  'run',
  'check',
  'state',
  'job',
  'alert',
  'location',
  'notification',
  'incident',
  'maintenance',
  'page',
  'service',
  'group',
  'deployment',
  'reset',
] as const;
export type LiveType = (typeof types)[number];

const listeners = new Set<(event: LiveEvent) => void>();
let stream: EventSource | null = null;
let wasHidden = false;

const tell = (event: LiveEvent) => {
  for (const listener of listeners) listener(event);
};

function open(): void {
  if (stream !== null || listeners.size === 0 || document.hidden) return;
  const source = new EventSource('/v1/events');
  stream = source;
  for (const type of types)
    source.addEventListener(type, (message) => {
      let data: unknown = {};
      try {
        data = JSON.parse(String((message as MessageEvent).data || '{}'));
      } catch {
        return;
      }
      tell({ ...(data as object), type });
    });
  source.addEventListener('error', () => {
    // The browser repeats a broken connection by itself, but not a refused one.
    if (source.readyState !== EventSource.CLOSED || stream !== source) return;
    stream = null;
    setTimeout(open, 10_000);
  });
}

function close(): void {
  stream?.close();
  stream = null;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    wasHidden = true;
    close();
    return;
  }
  open();
  if (wasHidden && listeners.size > 0) tell({ type: 'reset' });
  wasHidden = false;
});

/** Calls `on` for each event of these types, and for `reset`. With `checkId`, only events of that check. */
export function useLive(
  wanted: readonly LiveType[],
  on: (event: LiveEvent) => void,
  { checkId }: { checkId?: string | undefined } = {},
): void {
  const latest = useRef(on);
  latest.current = on;
  const key = wanted.join();
  useEffect(() => {
    const listener = (event: LiveEvent) => {
      if (event.type !== 'reset') {
        if (!key.split(',').includes(event.type)) return;
        if (checkId !== undefined && event.checkId !== checkId) return;
      }
      latest.current(event);
    };
    listeners.add(listener);
    open();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) close();
    };
  }, [key, checkId]);
}

/** Calls `reload` soon after events, at most once per `everyMs`. */
export function useReloadOn(
  wanted: readonly LiveType[],
  reload: () => void,
  { checkId, everyMs = 1000 }: { checkId?: string | undefined; everyMs?: number } = {},
): void {
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useLive(
    wanted,
    () => {
      timer.current ??= setTimeout(() => {
        timer.current = null;
        reload();
      }, everyMs);
    },
    { checkId },
  );
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
}
