import { toError } from '../../errors.ts';

type DiskWatchOptions = {
  /** Tries the disk; rejects with the file system's error. */
  tryDisk: () => Promise<void>;
  /** Called when the disk begins to refuse. */
  onRefused: (error: Error) => void;
  /** Called when a trial has passed. */
  onGood: () => void;
  everyMs: number;
};

/**
 * Whether the disk takes results. After a refusal the disk is tried at intervals, even if nothing waits to be written,
 * so that a repaired disk is used again.
 */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  #error: Error | null = null;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
  }

  /** The last error; null while the disk takes results. */
  get error(): Error | null {
    return this.#error;
  }

  /** A write has failed. */
  refused(error: unknown): void {
    const isNew = this.#error === null;
    this.#error = toError(error);
    if (isNew) this.#options.onRefused(this.#error);
    this.#tryLater();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #tryLater(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => void this.#try(), this.#options.everyMs);
  }

  async #try(): Promise<void> {
    try {
      await this.#options.tryDisk();
      this.#timer = undefined;
      if (this.#closed) return;
      this.#error = null;
      this.#options.onGood();
    } catch (error) {
      this.#timer = undefined;
      this.#error = toError(error);
      this.#tryLater();
    }
  }
}
