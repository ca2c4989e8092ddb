import type { RingEvent } from './ring.ts';

/** One open stream of events. */
export type EventStream = {
  readonly accountId: string;
  readonly apiKeyId: string;
  /** Null = opened with the key itself. */
  readonly sessionId: string | null;
  /** Null = all checks. */
  readonly checkId: string | null;
  /** Writes these events, or one reset in place of too many. `newest`: the id that a reset has. */
  deliver(events: readonly RingEvent[], newest: string): void;
  /** Tells the page to read its data again. */
  reset(reason: ResetReason, newest: string): void;
  beat(): void;
  /** Whether events are left out at present, so that `deliver` must be called again soon. */
  isBusy(): boolean;
  end(): void;
};

export type ResetReason = 'TOO_OLD' | 'CONNECTION_LOST' | 'MANY_CHANGES' | 'LATE_CHANGES';

/** What a stream writes to: the part of a server's response that it needs. */
export type Sink = {
  readonly writableLength: number;
  write(text: string): unknown;
  end(): unknown;
  destroy(): unknown;
};

/** Above this many events a second, a page reads its data again instead. */
export const maxPerSecond = 200;
/** While there are that many, one reset comes this often. */
const resetEveryMs = 5_000;
/** A reader that leaves more than this unread is cut off. It may come back and continue. */
const maxUnread = 256 * 1024;

/** Creates a stream. `clock`: milliseconds that only grow. */
export function createStream(
  sink: Sink,
  options: Pick<EventStream, 'accountId' | 'apiKeyId' | 'sessionId' | 'checkId'> & { clock: () => number },
): EventStream {
  const { accountId, apiKeyId, sessionId, checkId, clock } = options;
  let second = clock();
  let seen = 0;
  let busy = false;
  let skipped = 0;
  let lastReset = -Infinity;

  function write(text: string): void {
    if (text === '') return;
    if (sink.writableLength > maxUnread) sink.destroy();
    else sink.write(text);
  }
  const reset = (reason: ResetReason, newest: string, left = 0) => {
    const data = left === 0 ? { reason } : { reason, events: left };
    write(`id: ${newest}\nevent: reset\ndata: ${JSON.stringify(data)}\n\n`);
  };

  return {
    accountId,
    apiKeyId,
    sessionId,
    checkId,
    deliver: (events, newest) => {
      const own = checkId === null ? events : events.filter((event) => event.checkId === checkId);
      const time = clock();
      if (time - second >= 1000) {
        if (seen <= maxPerSecond) busy = false;
        second = time;
        seen = 0;
      }
      seen += own.length;
      if (seen > maxPerSecond) busy = true;
      if (busy) skipped += own.length;
      if (skipped > 0 && (!busy || time - lastReset >= resetEveryMs)) {
        reset('MANY_CHANGES', newest, skipped);
        skipped = 0;
        lastReset = time;
        // The page reads everything up to now.
        return;
      }
      if (!busy) write(own.map(({ text }) => text).join(''));
    },
    reset: (reason, newest) => reset(reason, newest),
    beat: () => write(': still here\n\n'),
    isBusy: () => busy,
    end: () => void sink.end(),
  };
}
