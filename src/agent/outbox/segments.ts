import { promises as fs } from 'node:fs';
import { basename } from 'node:path';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { codeOf, isOutOfSpace } from '../../system-errors.ts';
import { makeFolder } from '../folders/owner.ts';
import { createAdoption, type Adoption } from './adoption.ts';
import type { DamageReport } from './damage-report.ts';
import { framed, framedBytes } from './frames.ts';
import type { OutboxHome } from './home.ts';
import { readFrames, type Damage, type FoundFrame } from './read-frames.ts';
import {
  countUnacknowledged,
  createSegment,
  isDrained,
  openFile,
  writeHeader,
  type Segment,
} from './segment-file.ts';

/** Results to send next, oldest first. */
export type Batch = {
  payloads: Buffer[];
  /** A result after these, which the caller may send too; it is part of a later batch all the same. Null = none waits. */
  following: () => Promise<Buffer | null>;
  /** The service has accepted the first `count`: they are removed from the outbox, and the others are sent again. */
  acknowledge: (count: number) => Promise<void>;
};

/** The state of one append, shared with the caller, who may give it up until it is done. */
export type AppendState = {
  /** Set by the caller: nobody waits for this write any more, so it must leave nothing on disk. */
  isGivenUp: boolean;
  /** Set by the store: the payloads are on disk. */
  isDone: boolean;
};

type StoreOptions = {
  home: OutboxHome;
  instanceId: string;
  segmentBytes: number;
  capBytes: number;
  log: Log;
  damage: DamageReport;
  /** Called when results had to be dropped. */
  lost: (count: number, why: string) => void;
  dropped?: (payload: Buffer) => void;
  now: () => number;
};

/** Errors of reading that say nothing about the file: no free descriptor, or a file server that is away. */
const passing = new Set([
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'ESTALE',
  'ETIMEDOUT',
  'ENOTCONN',
  'EHOSTDOWN',
  'ENOMEM',
]);

/** The outbox's files: appended to at one end, read and acknowledged at the other, limited by dropping the oldest. */
export class SegmentStore {
  readonly #options: StoreOptions;
  readonly #adoption: Adoption;
  #segments: Segment[] = [];
  #writing: { segment: Segment; file: fs.FileHandle } | null = null;
  #names = 0;
  /** Files without results that the disk has not let go of. */
  readonly #toRemove = new Set<string>();
  /** Large enough for most groups. Appends run one after another, so one buffer is enough. */
  readonly #scratch = Buffer.allocUnsafeSlow(128 * 1024);
  /** The segment of the batch that has not been settled yet. */
  #out: Segment | null = null;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#adoption = createAdoption(options);
  }

  /** Writes payloads in one synchronous write. Rejects if it fails or is given up, and keeps none of them then. */
  async append(payloads: readonly Buffer[], time: number, state: AppendState): Promise<void> {
    await this.#makeRoom(framedBytes(payloads));
    const { segment, file } = this.#writing ?? (await this.#newSegment());
    const number = segment.total ?? 0;
    const bytes = framed(payloads, { time, number, scratch: this.#scratch });
    let written = 0;
    try {
      checkWanted(state);
      while (written < bytes.length) {
        const step = await file.write(bytes, written, bytes.length - written, segment.size + written);
        written += step.bytesWritten;
        checkWanted(state);
      }
    } catch (error) {
      // No partial frame may remain after the last complete one. Any error except a full disk means that the file
      // itself may be bad.
      const cut = await file.truncate(segment.size).then(
        () => true,
        () => false,
      );
      if (!cut || !isOutOfSpace(error)) await this.#finishSegment();
      throw error;
    }
    state.isDone = true;
    if (isDrained(segment)) segment.oldestAt = time;
    segment.size += bytes.length;
    segment.total = number + payloads.length;
    await writeHeader(segment);
    if (segment.size >= this.#options.segmentBytes) await this.#finishSegment();
  }

  /** Tries the disk with `bytes`; rejects with the file system's error. */
  async tryDisk(bytes: number): Promise<void> {
    await this.#options.home.tryDisk(bytes);
    for (const path of this.#toRemove) await this.#remove(path);
  }

  /** The oldest results that fit in one batch; null if there are none. Only one batch at a time. */
  async next(maxItems: number, maxBytes: number): Promise<Batch | null> {
    for (;;) {
      for (const done of this.#segments.filter(isDrained)) {
        if (done !== this.#writing?.segment) await this.#discard(done);
      }
      const segment = this.#segments.find((each) => !isDrained(each));
      if (segment === undefined) return null;
      const frames = await this.#framesOf(segment, maxItems, maxBytes);
      const oldest = frames[0];
      if (oldest === undefined) continue;
      segment.oldestAt = oldest.time;
      segment.total ??= segment.next + (await countUnacknowledged(segment));
      this.#out = segment;
      return {
        payloads: frames.map(({ payload }) => payload),
        following: () => this.#following(segment, frames.at(-1) ?? oldest),
        acknowledge: async (count) => {
          this.#out = null;
          const last = frames[count - 1];
          if (last === undefined) return;
          advance(segment, last);
          if (isDrained(segment) && segment !== this.#writing?.segment) await this.#discard(segment);
          else await writeHeader(segment);
        },
      };
    }
  }

  /** Adopts the segments of dead agents and puts them before its own. True if there were any. */
  async adopt(): Promise<boolean> {
    const { segments: adopted, empty } = await this.#adoption();
    for (const path of empty) await this.#remove(path);
    this.#segments.unshift(...adopted);
    if (adopted.length > 0)
      this.#options.log.info({ segments: adopted.length }, 'results of an earlier agent adopted');
    return adopted.length > 0;
  }

  /**
   * Bytes and results that wait (those of earlier releases as far as they are counted), and the time of the oldest; null = none
   * waits.
   */
  status(): { bytes: number; results: number; oldestAt: number | null } {
    const waiting = this.#segments.filter((segment) => !isDrained(segment));
    const bytes = waiting.reduce((sum, segment) => sum + segment.size - segment.acknowledged, 0);
    const results = waiting.reduce((sum, { total, next }) => sum + Math.max(0, (total ?? next) - next), 0);
    return { bytes, results, oldestAt: waiting[0]?.oldestAt ?? null };
  }

  async close(): Promise<void> {
    await this.#finishSegment();
    for (const segment of this.#segments) {
      if (isDrained(segment)) await this.#discard(segment);
      else await segment.file?.close();
    }
  }

  async #newSegment(): Promise<{ segment: Segment; file: fs.FileHandle }> {
    const { home, instanceId, now } = this.#options;
    this.#names += 1;
    await makeFolder(home.folder);
    await home.sign();
    const made = await createSegment(home.folder, { instanceId, number: this.#names, time: now() });
    this.#segments.push(made.segment);
    return (this.#writing = made);
  }

  async #finishSegment(): Promise<void> {
    const file = this.#writing?.file;
    this.#writing = null;
    await file?.close().catch(() => undefined);
  }

  /** Drops the oldest segments until `bytes` more fit within the cap. */
  async #makeRoom(bytes: number): Promise<void> {
    let total = this.#segments.reduce((sum, segment) => sum + segment.size, bytes);
    while (total > this.#options.capBytes) {
      // A segment that is being sent is kept.
      const candidate = this.#segments.find((segment) => segment !== this.#out);
      if (candidate === undefined) return;
      if (candidate === this.#writing?.segment) await this.#finishSegment();
      total -= candidate.size;
      const count = await this.#giveUp(candidate);
      await this.#discard(candidate);
      if (count > 0) this.#options.lost(count, 'the outbox reached its size cap');
    }
  }

  /** Passes on what is dropped with a segment; returns how many results that are. */
  async #giveUp(segment: Segment): Promise<number> {
    let count = 0;
    try {
      while (!isDrained(segment) && this.#segments.includes(segment)) {
        const frames = await this.#framesOf(segment, 1000, 1024 * 1024);
        count += frames.length;
        for (const { payload } of frames) this.#options.dropped?.(payload);
        const last = frames.at(-1);
        if (last !== undefined) advance(segment, last);
      }
    } catch (error) {
      this.#options.log.warn({ err: toError(error) }, 'dropped segment could not be counted');
    }
    return count;
  }

  async #following(
    { file, format, size: to, ...segment }: Segment,
    last: FoundFrame,
  ): Promise<Buffer | null> {
    const one = { maxItems: 1, maxBytes: 0 };
    const range = { from: last.end, to, next: last.number + 1, ...one };
    const [next] = file === null ? [] : (await readFrames(file, format, range)).frames;
    if (next !== undefined) return next.payload;
    const other = this.#segments.find((each) => each.path !== segment.path && !isDrained(each));
    const [first] = other === undefined ? [] : await this.#framesOf(other, one.maxItems, one.maxBytes);
    return first?.payload ?? null;
  }

  /** Unacknowledged frames of a segment. Skips damage, which is reported, so it may return none. */
  async #framesOf(segment: Segment, maxItems: number, maxBytes: number): Promise<FoundFrame[]> {
    const { acknowledged: from, size: to, next, format } = segment;
    try {
      segment.file ??= await openFile(segment.path);
      const read = await readFrames(segment.file, format, { from, to, next, maxItems, maxBytes });
      if (read.damage !== null) await this.#skip(segment, read.damage);
      return read.frames;
    } catch (error) {
      // Trouble that passes: the segment may be read later.
      if (passing.has(codeOf(error) ?? '')) throw error;
      this.#segments = this.#segments.filter((other) => other !== segment);
      if (segment === this.#writing?.segment) await this.#finishSegment();
      await segment.file?.close().catch(() => undefined);
      const missing = segment.total === null ? null : segment.total - segment.next;
      await this.#options.damage.unreadable(segment.path, missing, error);
      return [];
    }
  }

  /** Continues after damage. Frames that were never called safe, because a crash cut their write short, are not lost. */
  async #skip(segment: Segment, { from, to, next, lost }: Damage): Promise<void> {
    const { total, size, isHeaderDamaged } = segment;
    const isEnd = to >= size;
    // Without numbers or a header it is not known how many frames there were.
    const missing =
      lost ?? (isEnd ? (isHeaderDamaged ? null : Math.max(0, (total ?? next) - segment.next)) : 1);
    segment.acknowledged = to;
    segment.next = isEnd ? Math.max(total ?? next, next) : next;
    if (!isEnd || missing !== 0) await this.#options.damage.ofPart(segment, { from, to, lost: missing });
  }

  async #discard(segment: Segment): Promise<void> {
    this.#segments = this.#segments.filter((other) => other !== segment);
    await segment.file?.close().catch(() => undefined);
    // Cut exactly between two frames.
    const { total, next, path } = segment;
    if (total !== null && next < total) await this.#options.damage.ofFile(path, total - next);
    await this.#remove(path);
  }

  /** A file that cannot be removed now is removed when the disk is good again. */
  async #remove(path: string): Promise<void> {
    await fs.rm(path, { force: true }).then(
      () => this.#toRemove.delete(path),
      () => this.#toRemove.add(path),
    );
    if (this.#toRemove.has(path))
      this.#options.log.debug({ file: basename(path) }, 'file cannot be removed yet');
  }
}

function checkWanted({ isGivenUp }: AppendState): void {
  if (isGivenUp) throw new Error('nobody waits for this write any more');
}

function advance(segment: Segment, { end, number }: FoundFrame): void {
  segment.acknowledged = end;
  segment.next = number + 1;
  // A crash may have left frames that the header does not count yet.
  if (segment.total !== null) segment.total = Math.max(segment.total, segment.next);
}
