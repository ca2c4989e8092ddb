import type { StatusPageRow } from '../status-pages/statements.ts';
import type { PageView } from './page-view.ts';

/**
 * Pages as they were read a moment ago: however many people look, the database is asked once in `cacheMs`. What stands in
 * a page may be that old, and no older.
 */
export type PageCache = {
  /** The page of this name, by `find`; undefined = there is none. */
  page: (name: string, find: () => Promise<StatusPageRow | undefined>) => Promise<StatusPageRow | undefined>;
  /** What it shows, by `read`; `html` is what `render` makes of it. */
  view: (page: StatusPageRow, read: () => Promise<PageView>) => Promise<PageView>;
  html: (view: PageView, render: () => string) => string;
};

const mostEntries = 500;

type Entry = { value: Promise<unknown>; until: number };

/** `cacheMs` 0: nothing is kept. */
export function createPageCache({ cacheMs, now }: { cacheMs: number; now: () => number }): PageCache {
  const entries = new Map<string, Entry>();
  const rendered = new WeakMap<PageView, string>();

  async function kept<Value>(name: string, make: () => Promise<Value>): Promise<Value> {
    const known = entries.get(name);
    const time = now();
    // A clock that was set back must not keep a page for ever.
    if (known !== undefined && known.until > time && known.until <= time + cacheMs) {
      return known.value as Promise<Value>; // made under the same name
    }
    entries.delete(name);
    const value = make();
    if (cacheMs === 0) return value;
    // A Map keeps the order of insertion: the first is the oldest.
    const [oldest] = entries.keys();
    if (entries.size >= mostEntries && oldest !== undefined) entries.delete(oldest);
    const entry = { value, until: time + cacheMs };
    entries.set(name, entry);
    // A failure is told to those who wait for it, and to nobody else.
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
