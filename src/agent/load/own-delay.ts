import { closeSync, openSync, readSync } from 'node:fs';
import { createFiguresReader, type FiguresReader, type HostFigures } from './host-figures.ts';
import { waitedMsOf } from './readings.ts';

/**
 * Measures how much the agent itself was late while attempts ran: because other programs had its cores, because the
 * quota of its container was used up, or because its own event loop was busy. A measured time contains this delay, so
 * it must be known before a target is blamed.
 */
export type OwnDelay = {
  /** Starts a stopwatch for one attempt. `withChildren`: customer code runs in processes of its own. */
  begin: (withChildren: boolean) => DelayStopwatch;
  close: () => void;
};

export type DelayStopwatch = {
  /** The delay since the start. */
  read: () => DelayReading;
  /** Stops the stopwatch. Repeated calls are harmless. */
  end: () => void;
};

/** All in milliseconds since the stopwatch began. Null = this host does not tell. */
export type DelayReading = {
  elapsedMs: number;
  /** The event loop was later than a timer asked for. */
  loopMs: number;
  /** The main thread was ready to run and had no core; includes the time during which a quota stopped it. */
  waitedMs: number | null;
  throttledMs: number | null;
  /** No task of the agent's cgroup could run. */
  stoppedMs: number | null;
  childrenWaitedMs: number | null;
  /** Percent of the last 10 s. */
  pressurePercent: number | null;
};

export type DelaySources = {
  /** Monotonic milliseconds. */
  clock: () => number;
  /** Milliseconds for which the main thread has waited for a core; null if unknown. */
  waitedMs: () => number | null;
  figures: FiguresReader;
  close?: () => void;
};

/** Interval of the timer whose lateness is measured. */
export const tickMs = 100;
/** Timers are up to a millisecond late, and a short collection of garbage delays nobody. */
const toleranceMs = 5;
/** The figures of the host cost tens of microseconds, so attempts that begin within this time share them. */
const figuresEveryMs = 1000;

export function createOwnDelay(sources: DelaySources = systemSources()): OwnDelay {
  const { clock, waitedMs, figures } = sources;
  let timer: NodeJS.Timeout | null = null;
  let dueAt = 0;
  let late = 0;
  let running = 0;
  let withChildrenRunning = 0;
  let lastFigures: { at: number; withChildren: boolean; values: HostFigures } | null = null;

  const lateBy = (now: number): number => {
    const by = timer === null ? 0 : now - dueAt;
    return by > toleranceMs ? by : 0;
  };
  const read = (withChildren: boolean): HostFigures => {
    const values = figures.read(withChildren);
    lastFigures = { at: clock(), withChildren, values };
    return values;
  };
  const recent = (withChildren: boolean): HostFigures => {
    const usable = lastFigures !== null && (lastFigures.withChildren || !withChildren);
    if (usable && lastFigures !== null && clock() - lastFigures.at < figuresEveryMs)
      return lastFigures.values;
    return read(withChildren);
  };
  const tick = (): void => {
    const now = clock();
    late += lateBy(now);
    dueAt = now + tickMs;
    if (running === 0) return stop();
    // Processes of scripts may end before the attempt does, and then nobody can read how long they waited.
    if (withChildrenRunning > 0) recent(true);
    timer?.refresh();
  };
  const stop = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };

  return {
    begin: (withChildren) => {
      running += 1;
      if (withChildren) withChildrenRunning += 1;
      if (timer === null) {
        dueAt = clock() + tickMs;
        timer = setTimeout(tick, tickMs).unref();
      }
      const startedAt = clock();
      const start = { late: late + lateBy(startedAt), waited: waitedMs(), figures: recent(withChildren) };
      let ended = false;
      return {
        read: () => {
          const now = clock();
          const end = read(withChildren);
          return {
            elapsedMs: now - startedAt,
            loopMs: late + lateBy(now) - start.late,
            waitedMs: grown(start.waited, waitedMs()),
            throttledMs: grown(start.figures.throttledMs, end.throttledMs),
            stoppedMs: grown(start.figures.stoppedMs, end.stoppedMs),
            childrenWaitedMs: grown(start.figures.childrenWaitedMs, end.childrenWaitedMs),
            pressurePercent: end.pressurePercent,
          };
        },
        end: () => {
          if (ended) return;
          ended = true;
          running -= 1;
          if (withChildren) withChildrenRunning -= 1;
        },
      };
    },
    close: () => {
      stop();
      sources.close?.();
    },
  };
}

/** The growth of a counter; null if it is unknown. A process that moved to another cgroup may see a smaller value. */
function grown(from: number | null, to: number | null): number | null {
  return from === null || to === null ? null : Math.max(0, to - from);
}

function systemSources(): DelaySources {
  const clock = (): number => performance.now();
  return { clock, figures: createFiguresReader(clock), ...mainThreadWait() };
}

/** Reads the wait of the main thread: 2.5 µs with a descriptor that stays open. */
function mainThreadWait(): Pick<Required<DelaySources>, 'waitedMs' | 'close'> {
  const buffer = Buffer.alloc(96);
  let file: number | null;
  try {
    file = openSync('/proc/self/schedstat', 'r');
  } catch {
    file = null; // not Linux, or a kernel without these figures
  }
  const close = (): void => {
    if (file !== null) closeSync(file);
    file = null;
  };
  return {
    waitedMs: () => {
      if (file === null) return null;
      try {
        return waitedMsOf(buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0)));
      } catch {
        close();
        return null;
      }
    },
    close,
  };
}
