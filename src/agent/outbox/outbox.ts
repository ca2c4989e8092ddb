import { toError } from '../../errors.ts';
import { DiskDeadline, DiskHangs } from '../folders/disk-deadline.ts';
import { ownerBeatMs } from '../folders/owner.ts';
import { createAside, type Aside } from './aside.ts';
import { createCommitTimer } from './commit-timer.ts';
import { createDamageReport } from './damage-report.ts';
import { DiskWatch } from './disk-watch.ts';
import { openOutboxHome, type OutboxHome } from './home.ts';
import { outboxLimits, type OutboxOptions, type OutboxStatus } from './options.ts';
import { PendingResults, type Pending } from './pending.ts';
import { SegmentStore, type AppendState, type Batch } from './segments.ts';

/** Results that finish within this time share one write. */
const commitDelayMs = 10;
/** The same for results that nobody waits for. A process that is killed before the write has not reported them, so its successor makes these runs. */
const calmDelayMs = 50;
const commitBytes = 4 * 1024 * 1024;
const diskRetryMs = 1000;
const leastTrialBytes = 64 * 1024;

/**
 * Results that wait to be sent: written to disk before they are sent, removed once the service has them.
 *
 * Appends are committed in groups by synchronous writes while the next group gathers, so the disk's latency limits
 * how late a result is sent, not how many are sent. Results are read back from disk and sent oldest first, so memory
 * does not grow with a backlog. If writing to disk fails, results wait in memory and are sent from there.
 */
export class Outbox {
  readonly #home: OutboxHome;
  readonly #store: SegmentStore;
  readonly #options: OutboxOptions;
  readonly #pending: PendingResults;
  #flushing: Promise<void> | null = null;
  readonly #commitTimer = createCommitTimer(() => void this.#flush());
  #beatTimer: NodeJS.Timeout | undefined;
  #batchOut: 'disk' | 'memory' | null = null;
  readonly #disk: DiskWatch;
  readonly #deadline: DiskDeadline;
  readonly #aside: Aside;
  #closed = false;
  #filled: ((isCalm: boolean) => void) | null = null;

  private constructor(home: OutboxHome, options: OutboxOptions, deadline: DiskDeadline) {
    this.#home = home;
    this.#options = options;
    const { segmentBytes, capBytes, memoryBytes, memoryResults } = options.limits ?? outboxLimits;
    this.#pending = new PendingResults({ bytes: memoryBytes, results: memoryResults ?? Infinity });
    const lost = (count: number, why: string) => this.#lost(count, why);
    this.#aside = createAside(options.folder, options.now);
    const damage = createDamageReport({ ...options, aside: this.#aside });
    this.#store = new SegmentStore({ ...options, home, segmentBytes, capBytes, lost, damage });
    this.#deadline = deadline;
    this.#disk = new DiskWatch({
      tryDisk: async () => {
        this.#deadline.check();
        const bytes = Math.max(leastTrialBytes, this.#pending.firstGroupBytes(commitBytes));
        await this.#deadline.within(this.#store.tryDisk(bytes));
      },
      onRefused: (error) => {
        options.metrics.outboxDiskErrors += 1;
        const consequence = 'they wait in memory and are sent from there';
        options.fault(error, `results cannot be written to disk; ${consequence}`);
      },
      onGood: () => {
        options.log.info('results are written to disk again');
        void this.#flush();
        if (this.#store.status().bytes > 0) this.#notify();
      },
      everyMs: diskRetryMs,
    });
  }

  /**
   * Opens this process's outbox below `folder` and adopts the results of dead agents. If the disk takes no files,
   * results wait in memory from the start. Rejects with the file system's error if the path can never be used.
   */
  static async open(options: OutboxOptions): Promise<Outbox> {
    let unusable: Error | null = null as Error | null; // set by the callback
    const deadline = options.disk ?? new DiskDeadline();
    const home = await openOutboxHome(options, deadline, (error) => (unusable = toError(error)));
    const outbox = new Outbox(home, options, deadline);
    if (unusable !== null) outbox.#disk.refused(unusable);
    // A disk that hangs is searched later.
    if (!deadline.hangs) {
      await outbox.#store.adopt().catch((error: unknown) => {
        options.log.warn({ err: toError(error) }, 'cannot search for results of earlier agents yet');
      });
    }
    outbox.#beatTimer = setInterval(() => void outbox.#beat(), ownerBeatMs);
    return outbox;
  }

  /** Takes one result as JSON. Resolves when it is on disk, or in memory if the write failed; never rejects. */
  add(json: string, isCalm = false): Promise<void> {
    return new Promise((resolve) => {
      const payload = Buffer.from(json);
      const [held, time] = [this.#disk.error !== null || this.#closed, this.#options.now()];
      this.#dropped(this.#pending.add({ payload, isCalm, time, settle: held ? null : resolve }));
      if (held) {
        resolve();
        this.#notify();
      } else {
        const delayMs = isCalm ? calmDelayMs : commitDelayMs;
        this.#flushSoon(this.#pending.bytes >= commitBytes ? 0 : delayMs);
      }
    });
  }

  /** The oldest results that fit in one batch; null if there are none. Only one batch at a time. */
  async nextBatch(maxItems: number, maxBytes: number): Promise<Batch | null> {
    if (this.#batchOut !== null) throw new Error('the previous batch has not been settled');
    const batch = (await this.#diskBatch(maxItems, maxBytes)) ?? this.#memoryBatch(maxItems, maxBytes);
    if (batch === null) return null;
    this.#batchOut ??= 'disk';
    return {
      ...batch,
      acknowledge: async (count) => {
        this.#batchOut = null;
        await this.#unlessItHangs(batch.acknowledge(count));
        if (this.#pending.count > 0) this.#flushSoon(commitDelayMs);
      },
    };
  }

  /** Calls `listener` whenever there may be something to send; `isCalm`: nobody waits for it. */
  onFilled(listener: (isCalm: boolean) => void): void {
    this.#filled = listener;
  }

  /** Sets aside, for inspection, a result that the service refuses permanently. */
  async quarantine(payload: Buffer): Promise<void> {
    const { instanceId, log } = this.#options;
    await this.#unlessItHangs(this.#aside.keepRefused(instanceId, payload)).catch((error: unknown) => {
      log.warn({ err: toError(error) }, 'refused result could not be set aside');
    });
  }

  status(): OutboxStatus {
    const { bytes, results, oldestAt } = this.#store.status();
    return {
      diskBytes: bytes,
      memoryBytes: this.#pending.bytes,
      diskResults: results,
      memoryResults: this.#pending.count,
      oldestAt: oldestAt ?? this.#pending.oldest?.time ?? null,
      memoryFull: this.#pending.isHalfFull,
      diskError: this.#disk.error,
    };
  }

  isEmpty(): boolean {
    return this.#pending.count === 0 && this.#flushing === null && this.#store.status().bytes === 0;
  }

  /** Writes the remaining results and closes the files. Unsent results stay on disk for the next agent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#disk.close();
    clearInterval(this.#beatTimer);
    this.#commitTimer.stop();
    await this.#flush();
    await this.#flush();
    if (!this.#deadline.hangs) await this.#unlessItHangs(this.#store.close());
    if (this.#pending.count > 0)
      this.#lost(this.#pending.count, 'they could not be written to disk before the agent stopped');
    if (!this.#deadline.hangs) await this.#unlessItHangs(this.#home.close());
  }

  #notify(isCalm = false): void {
    this.#filled?.(isCalm);
  }

  #flushSoon(delayMs: number): void {
    if (this.#closed) return;
    this.#commitTimer.within(delayMs);
  }

  /** Commits everything pending. During a commit, further calls wait for the same one. */
  #flush(): Promise<void> {
    this.#flushing ??= this.#commitAll().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  async #commitAll(): Promise<void> {
    // A batch that is sent from memory must not also be on disk once it is acknowledged. A bad disk is tried by its
    // watch only, and once more at the end.
    while (this.#pending.count > 0 && this.#batchOut !== 'memory') {
      if (this.#disk.error !== null && !this.#closed) return;
      const group = this.#pending.takeGroup(commitBytes);
      try {
        await this.#write(group);
      } catch (error) {
        this.#dropped(this.#pending.putBack(group));
        this.#disk.refused(error);
        this.#sendFromMemory();
        return;
      }
      for (const { settle } of group) settle?.();
      this.#notify(group.every(({ isCalm }) => isCalm));
    }
  }

  /** Writes a group to disk, or rejects and keeps none of it there, even if the write ends later. */
  async #write(group: readonly Pending[]): Promise<void> {
    this.#deadline.check();
    const write: AppendState = { isGivenUp: false, isDone: false };
    const payloads = group.map(({ payload }) => payload);
    const time = group[0]?.time ?? this.#options.now();
    try {
      await this.#deadline.within(this.#store.append(payloads, time, write));
    } catch (error) {
      // Only what follows the write hangs: the group is safe.
      if (!write.isDone) {
        write.isGivenUp = true;
        throw error;
      }
      this.#disk.refused(error);
      this.#sendFromMemory();
    }
  }

  /** The oldest results on disk; null if there are none, or if the disk hangs. */
  async #diskBatch(maxItems: number, maxBytes: number): Promise<Batch | null> {
    if (this.#deadline.hangs) return null;
    const next = this.#store.next(maxItems, maxBytes);
    const late = (batch: Batch | null) => void batch?.acknowledge(0);
    const batch = await this.#unlessItHangs(next, late);
    if (!batch) return null;
    return { ...batch, following: async () => (await this.#unlessItHangs(batch.following())) ?? null };
  }

  /** The value of an operation on the disk; undefined if it hangs, which is reported. Other errors are passed on. */
  async #unlessItHangs<T>(operation: Promise<T>, onLate?: (value: T) => void): Promise<T | undefined> {
    try {
      return await this.#deadline.within(operation, onLate);
    } catch (error) {
      if (!(error instanceof DiskHangs)) throw error;
      this.#disk.refused(error);
      this.#sendFromMemory();
      return undefined;
    }
  }

  /** Nobody waits for the disk any more. */
  #sendFromMemory(): void {
    this.#pending.settleAll();
    // Only after this flush: batches are taken from memory only while no write is in progress.
    setImmediate(() => this.#notify());
  }

  #memoryBatch(maxItems: number, maxBytes: number): Batch | null {
    if (this.#disk.error === null || this.#flushing !== null) return null;
    const entries = this.#pending.peek(maxItems, maxBytes);
    if (entries.length === 0) return null;
    this.#batchOut = 'memory';
    return {
      payloads: entries.map(({ payload }) => payload),
      following: () => Promise.resolve(this.#pending.at(entries.length)),
      acknowledge: (count) => {
        this.#pending.remove(new Set(entries.slice(0, count)));
        return Promise.resolve();
      },
    };
  }

  #dropped(results: readonly Pending[]): void {
    if (results.length === 0) return;
    for (const { payload } of results) this.#options.dropped?.(payload);
    this.#lost(results.length, 'they could not be written to disk, and the memory for them is full');
  }

  #lost(count: number, why: string): void {
    this.#options.metrics.resultsDropped += count;
    this.#options.fault(new Error(`${count} results dropped: ${why}`), 'results dropped');
  }

  async #beat(): Promise<void> {
    if (this.#deadline.hangs) return;
    try {
      await this.#deadline.within(this.#lookAround());
    } catch (error) {
      // Without a result to write, this is how a disk that turned bad is noticed.
      this.#disk.refused(error);
      this.#sendFromMemory();
    }
  }

  async #lookAround(): Promise<void> {
    if (this.#disk.error === null) await this.#home.beat();
    // Other agents may have died, or may have been silent long enough to be adopted; their runs are repeated if
    // that continues.
    if (await this.#store.adopt()) this.#notify();
    await this.#aside.pruneHourly();
  }
}
