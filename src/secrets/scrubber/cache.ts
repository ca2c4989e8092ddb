import { createScrubber, type NamedSecret, type Scrubber } from './scrubber.ts';
import { createScrubberOffThread, isQuick } from './table-thread.ts';

/** Scrubbers for the sets of secrets in jobs: most jobs of an agent share a few sets. */
export type ScrubberCache = {
  /** The scrubber for exactly these secrets. Its counters continue from job to job. */
  scrubberFor(secrets: readonly NamedSecret[]): Scrubber;
  /** The same, but a promise where building it would block this thread. Runs that wait for one set share one thread. */
  prepare(secrets: readonly NamedSecret[]): Scrubber | Promise<Scrubber>;
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
  let building: { readonly secrets: readonly NamedSecret[]; readonly scrubber: Promise<Scrubber> }[] = [];
  const find = (secrets: readonly NamedSecret[]): Scrubber | null => {
    const found = entries.findIndex((entry) => equal(entry.secrets, secrets));
    const entry = entries[found];
    if (entry === undefined) return null;
    if (found > 0) entries = [entry, ...entries.filter((other) => other !== entry)];
    return entry.scrubber;
  };
  const keep = (secrets: readonly NamedSecret[], scrubber: Scrubber): Scrubber => {
    const copies = secrets.map(({ name, value }) => ({ name, value }));
    entries = [{ secrets: copies, scrubber }, ...entries].slice(0, maxEntries);
    while (entries.length > 0 && memory() > maxBytes) entries.pop();
    return scrubber;
  };
  const memory = (): number => entries.reduce((sum, { scrubber }) => sum + scrubber.memoryBytes, 0);
  return {
    scrubberFor: (secrets) => find(secrets) ?? keep(secrets, createScrubber(secrets)),
    prepare(secrets) {
      const found = find(secrets);
      if (found !== null) return found;
      if (isQuick(secrets)) return keep(secrets, createScrubber(secrets));
      const begun = building.find((each) => equal(each.secrets, secrets));
      if (begun !== undefined) return begun.scrubber;
      const scrubber = createScrubberOffThread(secrets).then((made) => {
        building = building.filter((each) => each.scrubber !== scrubber);
        // Tables that could not be built are tried again for the next run.
        return made.withheld === null ? keep(secrets, made) : made;
      });
      building.push({ secrets, scrubber });
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
