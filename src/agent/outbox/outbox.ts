import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { ownerBeatMs } from '../folders/owner.ts';
import { openOutboxHome, type OutboxHome } from './home.ts';
import { PendingResults } from './pending.ts';
import { SegmentStore, type Batch } from './segments.ts';

/** Limits of the outbox, in bytes; tests make them small. */
export type OutboxLimits = {
  segmentBytes: number;
  /** On disk. Above it the oldest segment is dropped, counted and reported. */
  capBytes: number;
  /** In memory, while writing to disk fails. Above it the oldest result is dropped. */
  memoryBytes: number;
};

export const outboxLimits: OutboxLimits = {
  segmentBytes: 8 * 1024 * 1024,
  capBytes: 512 * 1024 * 1024,
  memoryBytes: 64 * 1024 * 1024,
};

export type OutboxOptions = {
  /** The folder that all agents of a data directory share. */
  folder: string;
  instanceId: string;
  log: Log;
  metrics: AgentMetrics;
  /** Called with every fault of the agent itself. */
  fault: (error: Error, message: string) => void;
  now: () => number;
  limits?: OutboxLimits;
};

export type OutboxStatus = {
  diskBytes: number;
  memoryBytes: number;
  diskResults: number;
  memoryResults: number;
  /** Time of the oldest result that waits; null = none waits. */
  oldestAt: number | null;
  /** The last error if writing to disk currently fails. */
  diskError: Error | null;
};

/** Results that finish within this time share one write. */
const commitDelayMs = 10;
const commitBytes = 4 * 1024 * 1024;
const diskRetryMs = 1000;

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
  #commitTimer: NodeJS.Timeout | undefined;
  #beatTimer: NodeJS.Timeout | undefined;
  #batchOut: 'disk' | 'memory' | null = null;
  #diskError: Error | null = null;
  #closed = false;
  #filled: (() => void) | null = null;

  private constructor(home: OutboxHome, options: OutboxOptions) {
    this.#home = home;
    this.#options = options;
    const { segmentBytes, capBytes, memoryBytes } = options.limits ?? outboxLimits;
    this.#pending = new PendingResults(memoryBytes);
    const lost = (count: number, why: string) => this.#lost(count, why);
    this.#store = new SegmentStore({ ...options, home, segmentBytes, capBytes, lost });
  }

  /** Opens this process's outbox below `folder` and adopts the results of dead agents. */
  static async open(options: OutboxOptions): Promise<Outbox> {
    const home = await openOutboxHome(options.folder, options.instanceId);
    const outbox = new Outbox(home, options);
    await outbox.#store.adopt().catch((error: unknown) => {
      options.log.warn({ err: toError(error) }, 'cannot search for results of earlier agents yet');
    });
    outbox.#beatTimer = setInterval(() => void outbox.#beat(), ownerBeatMs);
    return outbox;
  }

  /** Takes one serialised result. Resolves when it is on disk, or in memory if the write failed; never rejects. */
  add(json: string): Promise<void> {
    return new Promise((resolve) => {
      const payload = Buffer.from(json);
      const held = this.#diskError !== null || this.#closed;
      this.#dropped(this.#pending.add({ payload, time: this.#options.now(), settle: held ? null : resolve }));
      if (held) {
        resolve();
        this.#notify();
      } else {
        this.#flushSoon(this.#pending.bytes >= commitBytes ? 0 : commitDelayMs);
      }
    });
  }

  /** The oldest results that fit in one batch; null if there are none. Only one batch at a time. */
  async nextBatch(maxItems: number, maxBytes: number): Promise<Batch | null> {
    if (this.#batchOut !== null) throw new Error('the previous batch has not been settled');
    const batch = (await this.#store.next(maxItems, maxBytes)) ?? this.#memoryBatch(maxItems, maxBytes);
    if (batch === null) return null;
    this.#batchOut ??= 'disk';
    return {
      payloads: batch.payloads,
      acknowledge: async (count) => {
        this.#batchOut = null;
        await batch.acknowledge(count);
        if (this.#pending.count > 0) this.#flushSoon(this.#diskError === null ? commitDelayMs : diskRetryMs);
      },
    };
  }

  /** Calls `listener` whenever there may be something to send. */
  onFilled(listener: () => void): void {
    this.#filled = listener;
  }

  /** Sets aside, for inspection, a result that the service refuses permanently. */
  async quarantine(payload: Buffer): Promise<void> {
    await this.#home.setAside(payload).catch((error: unknown) => {
      this.#options.log.warn({ err: toError(error) }, 'refused result could not be set aside');
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
      diskError: this.#diskError,
    };
  }

  isEmpty(): boolean {
    return this.#pending.count === 0 && this.#flushing === null && this.#store.status().bytes === 0;
  }

  /** Writes the remaining results and closes the files. Unsent results stay on disk for the next agent. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#beatTimer);
    clearTimeout(this.#commitTimer);
    await this.#flush();
    await this.#flush();
    await this.#store.close();
    if (this.#pending.count > 0)
      this.#lost(this.#pending.count, 'they could not be written to disk before the agent stopped');
    await this.#home.close();
  }

  #notify(): void {
    this.#filled?.();
  }

  #flushSoon(delayMs: number): void {
    if (this.#closed) return;
    if (delayMs === 0) {
      clearTimeout(this.#commitTimer);
      this.#commitTimer = undefined;
      void this.#flush();
      return;
    }
    this.#commitTimer ??= setTimeout(() => {
      this.#commitTimer = undefined;
      void this.#flush();
    }, delayMs);
  }

  /** Commits everything pending. During a commit, further calls wait for the same one. */
  #flush(): Promise<void> {
    this.#flushing ??= this.#commitAll().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  async #commitAll(): Promise<void> {
    // A batch that is sent from memory must not also be on disk once it is acknowledged.
    while (this.#pending.count > 0 && this.#batchOut !== 'memory') {
      const group = this.#pending.takeGroup(commitBytes);
      try {
        await this.#store.append(
          group.map(({ payload }) => payload),
          group[0]?.time ?? this.#options.now(),
        );
      } catch (error) {
        this.#dropped(this.#pending.putBack(group));
        this.#diskRefused(toError(error));
        return;
      }
      if (this.#diskError !== null) this.#options.log.info('results are written to disk again');
      this.#diskError = null;
      for (const { settle } of group) settle?.();
      this.#notify();
    }
  }

  #diskRefused(error: Error): void {
    if (this.#diskError === null) {
      this.#options.metrics.outboxDiskErrors += 1;
      this.#options.fault(error, 'results cannot be written to disk and are held in memory');
    }
    this.#diskError = error;
    this.#pending.settleAll();
    this.#flushSoon(diskRetryMs);
    // Only after this flush: batches are taken from memory only while no write is in progress.
    setImmediate(() => this.#notify());
  }

  #memoryBatch(maxItems: number, maxBytes: number): Batch | null {
    if (this.#diskError === null || this.#flushing !== null) return null;
    const entries = this.#pending.peek(maxItems, maxBytes);
    if (entries.length === 0) return null;
    this.#batchOut = 'memory';
    return {
      payloads: entries.map(({ payload }) => payload),
      acknowledge: (count) => {
        this.#pending.remove(new Set(entries.slice(0, count)));
        return Promise.resolve();
      },
    };
  }

  #dropped(count: number): void {
    if (count > 0) this.#lost(count, 'they could not be written to disk, and the memory for them is full');
  }

  #lost(count: number, why: string): void {
    this.#options.metrics.resultsDropped += count;
    this.#options.fault(new Error(`${count} results dropped: ${why}`), 'results dropped');
  }

  async #beat(): Promise<void> {
    try {
      await this.#home.beat();
      // Other agents may have died, or may have been silent long enough to be adopted; their runs are repeated if
      // that continues.
      if (await this.#store.adopt()) this.#notify();
    } catch (error) {
      this.#options.log.warn({ err: toError(error) }, 'outbox folder could not be touched');
    }
  }
}
