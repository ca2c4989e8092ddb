import type { StatusPageRow } from '../status-pages/statements.ts';
import type { PageView } from './page-view.ts';

/**
 * Caches status pages, so that the database is queried at most once in `cacheMs` however many people view a page.
 * Content may be that old, but not older.
 */
export type PageCache = {
  /** The page with this name, read with `find`; undefined = there is none. */
  page: (name: string, find: () => Promise<StatusPageRow | undefined>) => Promise<StatusPageRow | undefined>;
  /** The content of a page, read with `read`; `html` is the output of `render`. */
  view: (page: StatusPageRow, read: () => Promise<PageView>) => Promise<PageView>;
  html: (view: PageView, render: () => string) => string;
};

const maxEntries = 500;

type Entry = { value: Promise<unknown>; until: number };

/** `cacheMs` 0 disables the cache. */
export function createPageCache({ cacheMs, now }: { cacheMs: number; now: () => number }): PageCache {
  const entries = new Map<string, Entry>();
  const rendered = new WeakMap<PageView, string>();

  async function kept<Value>(name: string, make: () => Promise<Value>): Promise<Value> {
    const known = entries.get(name);
    const time = now();
    // If the clock is set back, an entry must not be kept longer.
    if (known !== undefined && known.until > time && known.until <= time + cacheMs) {
      return known.value as Promise<Value>; // stored under the same name
    }
    entries.delete(name);
    const value = make();
    if (cacheMs === 0) return value;
    // A Map keeps the insertion order: the first entry is the oldest.
    const [oldest] = entries.keys();
    if (entries.size >= maxEntries && oldest !== undefined) entries.delete(oldest);
    const entry = { value, until: time + cacheMs };
    entries.set(name, entry);
    // A failure is reported to the current callers only; it is not cached.
    value.catch(() => {
      if (entries.get(name) === entry) entries.delete(name);
    });
    return value;
  }

  return {
    page: (name, find) => kept(`page ${name}`, find),
    view: ({ id }, read) => kept(`view ${id}`, read),
    html: (view, render) => {
      const text = rendered.get(view) ?? render();
      rendered.set(view, text);
      return text;
    },
  };
}
