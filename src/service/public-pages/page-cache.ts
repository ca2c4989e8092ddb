import { createHash } from 'node:crypto';
import type { StatusPageRow } from '../status-pages/statements.ts';
import type { PageView } from './page-view.ts';

/**
 * Caches status pages, so that the database is queried at most once in `cacheMs` however many people view a page.
 * Content may be that old. A page that takes long to read may be older, so that reading it takes at most a tenth of the time.
 */
export type PageCache = {
  /** The page with this name, read with `find`; undefined = there is none. */
  page: (name: string, find: () => Promise<StatusPageRow | undefined>) => Promise<StatusPageRow | undefined>;
  /** The content of a page, read with `read`; `html` is the output of `render`. */
  view: (page: StatusPageRow, read: () => Promise<PageView>) => Promise<PageView>;
  html: (view: PageView, render: () => string) => Document;
};

const maxEntries = 500;
/** A page that was read in a second is kept for this many seconds, up to `maxCacheMs`. */
const keptPerRead = 10;
const maxCacheMs = 5 * 60_000;

/** A rendered page, and the digest by which a browser knows that it has it. */
type Document = { text: string; etag: string };

type Entry = { value: Promise<unknown>; until: number };

/** `cacheMs` 0 disables the cache. */
export function createPageCache({ cacheMs, now }: { cacheMs: number; now: () => number }): PageCache {
  const entries = new Map<string, Entry>();
  const rendered = new WeakMap<PageView, Document>();

  async function kept<Value>(name: string, make: () => Promise<Value>): Promise<Value> {
    const known = entries.get(name);
    const time = now();
    // If the clock is set back, an entry must not be kept longer.
    if (known !== undefined && known.until > time && known.until <= time + Math.max(cacheMs, maxCacheMs)) {
      return known.value as Promise<Value>; // stored under the same name
    }
    entries.delete(name);
    const value = make();
    if (cacheMs === 0) return value;
    // A Map keeps the insertion order: the first entry is the oldest.
    const [oldest] = entries.keys();
    if (entries.size >= maxEntries && oldest !== undefined) entries.delete(oldest);
    // While it is being read, everybody waits for the same answer.
    const entry = { value, until: time + Math.max(cacheMs, maxCacheMs) };
    entries.set(name, entry);
    value.then(
      () => {
        const end = now();
        entry.until = Math.max(time + cacheMs, end + Math.min(maxCacheMs, keptPerRead * (end - time)));
      },
      // A failure is reported to the current callers only; it is not cached.
      () => {
        if (entries.get(name) === entry) entries.delete(name);
      },
    );
    return value;
  }

  return {
    page: (name, find) => kept(`page ${name}`, find),
    view: ({ id }, read) => kept(`view ${id}`, read),
    html: (view, render) => {
      const known = rendered.get(view);
      if (known !== undefined) return known;
      const text = render();
      const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
      const made = { text, etag };
      rendered.set(view, made);
      return made;
    },
  };
}
