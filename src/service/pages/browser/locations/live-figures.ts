import { useEffect, useRef } from 'preact/hooks';
import { useLive } from '../base/live.ts';

/** Scheduled runs that wait cause no events, so the figures are read again now and then while someone looks. */
const everyMs = 15_000;
const soonMs = 3000;

/** Keeps the queue figures of a location up to date. Without a slug, it waits until the location is known. */
export function useLiveFigures(slug: string | undefined, reload: () => void): void {
  const latest = useRef(reload);
  latest.current = reload;
  const soon = useRef<ReturnType<typeof setTimeout> | null>(null);
  useLive(['job', 'location'], ({ type, runLocation }) => {
    if (type === 'job' && runLocation !== slug) return;
    soon.current ??= setTimeout(() => {
      soon.current = null;
      latest.current();
    }, soonMs);
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, everyMs);
    return () => {
      clearInterval(timer);
      if (soon.current !== null) clearTimeout(soon.current);
      soon.current = null;
    };
  }, []);
}
