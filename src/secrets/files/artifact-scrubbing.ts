import { join } from 'node:path';
import type { Scrubber } from '../scrubber/scrubber.ts';

/** State shared by the parts that scrub one artifact: its scrubber, its limits, its folder. */

/** Maximum number of entries of all archives in an artifact. */
export const maxEntries = 100_000;
/** Bytes of their names, which are held until an archive is written. */
const maxNameBytes = 32 * 1024 * 1024;
/** Maximum depth of nested archives. */
export const maxDepth = 4;
/** Size up to which content is processed in one piece; larger content is streamed in chunks. */
export const singlePieceBytes = 4 * 1024 * 1024;

/** Content that cannot be scrubbed and so must not leave. The message never quotes the artifact's content. */
export class Unscrubbable extends Error {
  readonly code = 'UNSCRUBBABLE';
  /** Whether the whole artifact must be dropped, not only the part with the error. */
  readonly dropsAll: boolean;
  constructor(message: string, { dropsAll = false } = {}) {
    super(message);
    this.dropsAll = dropsAll;
  }
}

/** The state of one artifact's scrubbing. */
export class ArtifactScrubbing {
  readonly scrubber: Scrubber;
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  readonly #notes = new Set<string>();
  #bytes = 0;
  #entries = 0;
  #nameBytes = 0;
  #files = 0;
  #left = 0;
  #changes = 0;
  /** Masks that were written in a trial and do not count. */
  #trialMasks = 0;
  /** Masks of headers, which the scrubber does not write. */
  readonly headers = { maskedCount: 0 };

  constructor(
    scrubber: Scrubber,
    { folder, maxBytes, signal }: { folder: string; maxBytes: number; signal: AbortSignal | undefined },
  ) {
    this.scrubber = scrubber;
    this.#folder = folder;
    this.#maxBytes = maxBytes;
    this.#signal = signal;
  }

  /** Counts bytes that are about to be unpacked. Throws if they exceed this artifact's limit. */
  chargeBytes(bytes: number): void {
    this.#signal?.throwIfAborted();
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) {
      throw new Unscrubbable(`it unpacks to more than ${this.#maxBytes} bytes, the limit for scrubbing`, {
        dropsAll: true,
      });
    }
  }

  /** Counts an entry with a name of this many bytes. Throws if the artifact has too many. */
  chargeEntry(nameBytes: number): void {
    this.#signal?.throwIfAborted();
    this.#entries++;
    this.#nameBytes += nameBytes;
    if (this.#nameBytes > maxNameBytes) {
      throw new Unscrubbable(`the names in its archives have more than ${maxNameBytes} bytes`, {
        dropsAll: true,
      });
    }
    if (this.#entries > maxEntries) {
      throw new Unscrubbable(`its archives have more than ${maxEntries} entries`, { dropsAll: true });
    }
  }

  /** Returns a path for a new file. */
  newFile(): string {
    this.#files++;
    return join(this.#folder, String(this.#files));
  }

  /** Records that the output differs from the input. */
  changed(): void {
    this.#changes++;
  }

  /** The number of changes so far: a higher number afterwards means that the output differs. */
  get changes(): number {
    return this.#changes + this.#masks;
  }

  get #masks(): number {
    return this.scrubber.maskedCount + this.headers.maskedCount;
  }

  get maskedCount(): number {
    return this.#masks - this.#trialMasks;
  }

  /** Whether `pieces` would change; reads only as far as necessary. Counters of this trial are discarded. */
  async wouldChange(pieces: AsyncIterable<Buffer>): Promise<boolean> {
    const before = this.changes;
    const masks = this.#masks;
    const left = this.#left;
    let changed = false;
    for await (const _ of pieces) {
      changed = this.changes > before;
      if (changed) break;
    }
    changed ||= this.changes > before;
    this.#trialMasks += this.#masks - masks;
    this.#left = left;
    return changed;
  }

  /** Records that a part of the artifact was dropped, with the reason. */
  withhold(why: string): void {
    this.#left++;
    this.changed();
    if (this.#notes.size < 5) this.#notes.add(why);
  }

  /** The dropped parts as one sentence; undefined if there are none. */
  get note(): string | undefined {
    if (this.#left === 0) return undefined;
    const parts = this.#left === 1 ? 'one part was' : `${this.#left} parts were`;
    return `${parts} dropped because they could not be scrubbed: ${[...this.#notes].join('; ')}`;
  }
}
