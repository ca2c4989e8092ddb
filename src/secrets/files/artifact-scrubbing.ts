import { join } from 'node:path';
import type { Scrubber } from '../scrubber/scrubber.ts';

/** What the parts share that scrub one artifact: its scrubber, its bounds, its folder. */

/** Entries of all archives of an artifact together. */
export const maxEntries = 100_000;
/** Bytes of their names, which are held until an archive is written. */
const maxNameBytes = 32 * 1024 * 1024;
/** Archives within archives. */
export const maxDepth = 4;
/** What is handled in one piece; larger things pass in chunks. */
export const wholeBytes = 4 * 1024 * 1024;

/** Something that can't be scrubbed, and so must not leave. The message never quotes the artifact's content. */
export class Unscrubbable extends Error {
  readonly code = 'UNSCRUBBABLE';
  /** Whether the whole artifact must stay, not just the part that is at fault. */
  readonly whole: boolean;
  constructor(message: string, { whole = false } = {}) {
    super(message);
    this.whole = whole;
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
  /** Masks that were written to a trial, and so don't count. */
  #trialMasks = 0;
  /** Masks that others than the scrubber write: headers. */
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

  /** Bytes that are about to be unpacked. Throws when they are too many for this artifact. */
  chargeBytes(bytes: number): void {
    this.#signal?.throwIfAborted();
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) {
      throw new Unscrubbable(
        `it unpacks to more than ${this.#maxBytes} bytes, which is as much as is scrubbed`,
        { whole: true },
      );
    }
  }

  /** An entry with a name of so many bytes. Throws when they are too many for this artifact. */
  chargeEntry(nameBytes: number): void {
    this.#signal?.throwIfAborted();
    this.#entries++;
    this.#nameBytes += nameBytes;
    if (this.#nameBytes > maxNameBytes) {
      throw new Unscrubbable(`the names in its archives have more than ${maxNameBytes} bytes`, {
        whole: true,
      });
    }
    if (this.#entries > maxEntries) {
      throw new Unscrubbable(`its archives have more than ${maxEntries} entries`, { whole: true });
    }
  }

  /** A path for a new file. */
  newFile(): string {
    this.#files++;
    return join(this.#folder, String(this.#files));
  }

  /** Says that the output differs from the input. */
  changed(): void {
    this.#changes++;
  }

  /** Changes so far: more of them afterwards means that the output differs. */
  get changes(): number {
    return this.#changes + this.#masks;
  }

  get #masks(): number {
    return this.scrubber.maskedCount + this.headers.maskedCount;
  }

  get maskedCount(): number {
    return this.#masks - this.#trialMasks;
  }

  /** Whether `pieces` come out changed, as far as one has to read to know. What they count is forgotten. */
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

  /** A part of the artifact stays behind, for this reason. */
  withhold(why: string): void {
    this.#left++;
    this.changed();
    if (this.#notes.size < 5) this.#notes.add(why);
  }

  /** What stayed behind, as one sentence; undefined when nothing did. */
  get note(): string | undefined {
    if (this.#left === 0) return undefined;
    const parts = this.#left === 1 ? 'one part was' : `${this.#left} parts were`;
    return `${parts} left out, since they could not be scrubbed: ${[...this.#notes].join('; ')}`;
  }
}
