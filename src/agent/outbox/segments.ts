import { constants, promises as fs } from 'node:fs';
import { basename, join } from 'node:path';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { makeFolder } from '../folders/owner.ts';
import type { OutboxHome } from './home.ts';
import { framed, openSegment, readFrames, writeAcknowledged, type Frame } from './segment.ts';
import { isOutOfSpace } from '../../system-errors.ts';
import { countUnacknowledged, createSegment, isDrained, type Segment } from './segment-file.ts';

/** Results to send next, oldest first. */
export type Batch = {
  payloads: Buffer[];
  /** The service has accepted the first `count`: they are removed from the outbox, and the others are sent again. */
  acknowledge: (count: number) => Promise<void>;
};

type StoreOptions = {
  home: OutboxHome;
  instanceId: string;
  segmentBytes: number;
  capBytes: number;
  log: Log;
  metrics: AgentMetrics;
  fault: (error: Error, message: string) => void;
  /** Called when results had to be dropped. */
  lost: (count: number, why: string) => void;
  now: () => number;
};

const damagedFilesKept = 8;

/** The outbox's files: appended to at one end, read and acknowledged at the other, limited by dropping the oldest. */
export class SegmentStore {
  readonly #options: StoreOptions;
  #segments: Segment[] = [];
  #writing: { segment: Segment; file: fs.FileHandle } | null = null;
  #names = 0;
  /** Large enough for most groups. Appends run one after another, so one buffer is enough. */
  readonly #scratch = Buffer.allocUnsafeSlow(128 * 1024);
  /** The segment of the batch that has not been settled yet. */
  #out: Segment | null = null;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Writes payloads in one synchronous write. Rejects if the write fails and keeps none of them then. */
  async append(payloads: readonly Buffer[], time: number): Promise<void> {
    const bytes = framed(payloads, time, this.#scratch);
    await this.#makeRoom(bytes.length);
    const { segment, file } = this.#writing ?? (await this.#newSegment());
    let written = 0;
    try {
      while (written < bytes.length) {
        const step = await file.write(bytes, written, bytes.length - written, segment.size + written);
        written += step.bytesWritten;
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
    if (isDrained(segment)) segment.oldestAt = time;
    segment.size += bytes.length;
    if (segment.frames !== null) segment.frames += payloads.length;
    if (segment.size >= this.#options.segmentBytes) await this.#finishSegment();
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
      segment.frames ??= await countUnacknowledged(segment);
      this.#out = segment;
      return {
        payloads: withinBytes(frames, maxBytes),
        acknowledge: async (count) => {
          this.#out = null;
          const last = frames[count - 1];
          if (last === undefined) return;
          segment.acknowledged = last.end;
          // Damage that was skipped may have hidden some results.
          if (segment.frames !== null) segment.frames = Math.max(0, segment.frames - count);
          if (isDrained(segment) && segment !== this.#writing?.segment) await this.#discard(segment);
          else if (segment.file !== null) {
            await writeAcknowledged(segment.file, segment.acknowledged).catch(() => undefined);
          }
        },
      };
    }
  }

  /** Adopts the segments of dead agents and puts them before its own. True if there were any. */
  async adopt(): Promise<boolean> {
    const adopted: Segment[] = [];
    for (const name of await this.#options.home.adopt()) {
      const path = join(this.#options.home.folder, name);
      const opened = await openSegment(path);
      if (typeof opened === 'string') {
        if (opened === 'damaged') await this.#setAside(path, 'a whole segment');
        await fs.rm(path, { force: true });
        continue;
      }
      const { size, acknowledged, file } = opened;
      await file.close();
      adopted.push({
        path,
        size,
        acknowledged,
        file: null,
        oldestAt: Number(name.split('-', 1)[0]),
        frames: null,
      });
    }
    this.#segments.unshift(...adopted);
    if (adopted.length > 0)
      this.#options.log.info({ segments: adopted.length }, 'results of an earlier agent adopted');
    return adopted.length > 0;
  }

  /**
   * Bytes and results that wait (adopted ones as far as they are counted), and the time of the oldest; null = none
   * waits.
   */
  status(): { bytes: number; results: number; oldestAt: number | null } {
    const waiting = this.#segments.filter((segment) => !isDrained(segment));
    const bytes = waiting.reduce((sum, segment) => sum + segment.size - segment.acknowledged, 0);
    const results = waiting.reduce((sum, { frames }) => sum + (frames ?? 0), 0);
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
    makeFolder(home.folder);
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
      const count = await this.#countFrames(candidate);
      await this.#discard(candidate);
      if (count > 0) this.#options.lost(count, 'the outbox reached its size cap');
    }
  }

  async #countFrames(segment: Segment): Promise<number> {
    let count = 0;
    try {
      while (!isDrained(segment) && this.#segments.includes(segment)) {
        const frames = await this.#framesOf(segment, Infinity, segment.size);
        count += frames.length;
        segment.acknowledged = frames.at(-1)?.end ?? segment.acknowledged;
      }
    } catch (error) {
      this.#options.log.warn({ err: toError(error) }, 'dropped segment could not be counted');
    }
    return count;
  }

  /** Unacknowledged frames of a segment. Skips unreadable ones, so it may return none. */
  async #framesOf(segment: Segment, maxItems: number, maxBytes: number): Promise<Frame[]> {
    try {
      segment.file ??= await fs.open(segment.path, constants.O_RDWR);
    } catch (error) {
      this.#segments = this.#segments.filter((other) => other !== segment);
      if (segment === this.#writing?.segment) await this.#finishSegment();
      this.#options.metrics.outboxDamaged += 1;
      this.#options.fault(toError(error), 'outbox segment cannot be opened; its results are lost');
      return [];
    }
    const range = { from: segment.acknowledged, to: segment.size, maxItems, maxBytes };
    const { frames, stop } = await readFrames(segment.file, range);
    if (frames.length > 0 || stop === null) return frames;
    if (stop.kind === 'torn') {
      // A crash cut the write short; this result was never reported as safe.
      segment.size = segment.acknowledged;
    } else {
      await this.#setAside(
        segment.path,
        stop.resumeAt === null ? 'everything after one position' : 'one result',
      );
      segment.acknowledged = stop.resumeAt ?? segment.size;
    }
    return [];
  }

  /** Keeps a copy of a damaged segment for inspection; its readable results are still sent. */
  async #setAside(path: string, cost: string): Promise<void> {
    this.#options.metrics.outboxDamaged += 1;
    this.#options.fault(new Error(`damaged outbox segment; lost: ${cost}`), 'outbox segment is damaged');
    const folder = join(this.#options.home.folder, 'damaged');
    try {
      await fs.mkdir(folder, { recursive: true, mode: 0o700 });
      if ((await fs.readdir(folder)).length >= damagedFilesKept) return;
      await fs.copyFile(path, join(folder, basename(path)));
    } catch (error) {
      this.#options.log.warn({ err: toError(error) }, 'damaged segment could not be set aside');
    }
  }

  async #discard(segment: Segment): Promise<void> {
    this.#segments = this.#segments.filter((other) => other !== segment);
    await segment.file?.close().catch(() => undefined);
    await fs.rm(segment.path, { force: true }).catch(() => undefined);
  }
}

function withinBytes(frames: Frame[], maxBytes: number): Buffer[] {
  let bytes = 0;
  const payloads: Buffer[] = [];
  for (const { payload } of frames) {
    bytes += payload.length + 1;
    if (payloads.length > 0 && bytes > maxBytes) break;
    payloads.push(payload);
  }
  return payloads;
}
