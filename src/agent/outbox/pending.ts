/** A result that is not on disk yet. `settle` resolves the call that added it; null = already resolved. */
export type Pending = {
  readonly payload: Buffer;
  readonly time: number;
  /** Nobody waits for it. */
  readonly isCalm: boolean;
  settle: (() => void) | null;
};

/** Results in memory, oldest first, until they are written to disk. They stay here while the disk cannot be written. */
export class PendingResults {
  readonly #cap: { bytes: number; results: number };
  #entries: Pending[] = [];
  #bytes = 0;
  /** The first ones, which are being sent. They are not dropped, or they would count as sent and as lost. */
  #sending = 0;

  constructor(cap: { bytes: number; results: number }) {
    this.#cap = cap;
  }

  /** True if half of the memory is used: the other half is for the results of runs that have started. */
  get isHalfFull(): boolean {
    return this.#bytes > this.#cap.bytes / 2 || this.#entries.length > this.#cap.results / 2;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#entries.length;
  }

  get oldest(): Pending | undefined {
    return this.#entries[0];
  }

  /** Adds one at the end; returns the oldest ones, which were dropped to stay within the cap. */
  add(entry: Pending): Pending[] {
    this.#entries.push(entry);
    this.#bytes += entry.payload.length;
    return this.#dropExcess();
  }

  /** Removes and returns the oldest, up to `maxBytes` but at least one. */
  takeGroup(maxBytes: number): Pending[] {
    const { count, bytes } = this.#firstGroup(maxBytes);
    this.#bytes -= bytes;
    return this.#entries.splice(0, count);
  }

  /** Bytes that `takeGroup` would take. */
  firstGroupBytes(maxBytes: number): number {
    return this.#firstGroup(maxBytes).bytes;
  }

  /** Puts a group back at the front; returns those that were dropped to stay within the cap. */
  putBack(group: readonly Pending[]): Pending[] {
    this.#entries = [...group, ...this.#entries];
    for (const { payload } of group) this.#bytes += payload.length;
    return this.#dropExcess();
  }

  /** The oldest, to be sent: up to `maxBytes` with a separator each, but at least one. They stay until `remove` is called. */
  peek(maxItems: number, maxBytes: number): Pending[] {
    let bytes = 0;
    const entries: Pending[] = [];
    for (const entry of this.#entries) {
      bytes += entry.payload.length + 1;
      if (entries.length === maxItems || (entries.length > 0 && bytes > maxBytes)) break;
      entries.push(entry);
    }
    this.#sending = entries.length;
    return entries;
  }

  /** The payload at a place in their order, from 0. */
  at(index: number): Buffer | null {
    return this.#entries[index]?.payload ?? null;
  }

  /** Ends the sending of what `peek` has returned. */
  remove(sent: ReadonlySet<Pending>): void {
    this.#sending = 0;
    this.#entries = this.#entries.filter((entry) => {
      if (sent.has(entry)) this.#bytes -= entry.payload.length;
      return !sent.has(entry);
    });
  }

  /** Resolves the calls that wait for the disk. */
  settleAll(): void {
    for (const entry of this.#entries) {
      entry.settle?.();
      entry.settle = null;
    }
  }

  #firstGroup(maxBytes: number): { count: number; bytes: number } {
    let bytes = 0;
    let count = 0;
    for (const { payload } of this.#entries) {
      if (count > 0 && bytes + payload.length > maxBytes) break;
      bytes += payload.length;
      count += 1;
    }
    return { count, bytes };
  }

  #dropExcess(): Pending[] {
    const dropped: Pending[] = [];
    const isOver = () => this.#bytes > this.#cap.bytes || this.#entries.length > this.#cap.results;
    while (isOver() && this.#entries.length > this.#sending + 1) {
      const [oldest] = this.#entries.splice(this.#sending, 1);
      if (oldest === undefined) break;
      oldest.settle?.();
      this.#bytes -= oldest.payload.length;
      dropped.push(oldest);
    }
    return dropped;
  }
}
