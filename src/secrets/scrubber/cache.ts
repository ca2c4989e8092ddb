import { createScrubber, type NamedSecret, type Scrubber } from './scrubber.ts';

/** Scrubbers for the sets of secrets in jobs: most jobs of an agent share a few sets. */
export type ScrubberCache = {
  /** The scrubber for exactly these secrets. Its counters continue from job to job. */
  scrubberFor(secrets: readonly NamedSecret[]): Scrubber;
  /** Removes all secrets. */
  clear(): void;
  readonly size: number;
  readonly memoryBytes: number;
};

type Entry = { readonly secrets: readonly NamedSecret[]; readonly scrubber: Scrubber };

const equal = (a: readonly NamedSecret[], b: readonly NamedSecret[]): boolean =>
  a.length === b.length && a.every((secret, i) => secret.value === b[i]?.value && secret.name === b[i].name);

/**
 * Keeps the sets used last, within `maxEntries` and `maxBytes` of tables. It holds secrets until they are evicted,
 * until `clear`, or until the cache itself is collected, so its owner must not outlive the need for them.
 */
export function createScrubberCache({ maxEntries = 32, maxBytes = 16 * 1024 * 1024 } = {}): ScrubberCache {
  // Latest first. With a handful of sets, comparing costs less than a key would, and no key has to be kept.
  let entries: Entry[] = [];
  const memory = (): number => entries.reduce((sum, { scrubber }) => sum + scrubber.memoryBytes, 0);
  return {
    scrubberFor(secrets) {
      const found = entries.findIndex((entry) => equal(entry.secrets, secrets));
      const entry = entries[found];
      if (entry !== undefined) {
        if (found > 0) entries = [entry, ...entries.filter((other) => other !== entry)];
        return entry.scrubber;
      }
      const scrubber = createScrubber(secrets);
      const copies = secrets.map(({ name, value }) => ({ name, value }));
      entries = [{ secrets: copies, scrubber }, ...entries].slice(0, maxEntries);
      while (entries.length > 0 && memory() > maxBytes) entries.pop();
      return scrubber;
    },
    clear() {
      entries = [];
    },
    get size() {
      return entries.length;
    },
    get memoryBytes() {
      return memory();
    },
  };
}
