import { promises as fs } from 'node:fs';
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';

/** A problem of the agent itself that affects its work; shown in health and metrics. */
export type Guard = { name: GuardName; message: string };
export const guardNames = ['disk', 'memory', 'event-loop', 'service', 'clock', 'outbox'] as const;
export type GuardName = (typeof guardNames)[number];

/** Guards that stop claiming, because the agent could not report more results. The others are warnings only. */
const stopsClaiming: ReadonlySet<GuardName> = new Set<GuardName>(['disk', 'memory', 'outbox']);

export type Guards = {
  start: () => void;
  raised: () => readonly Guard[];
  stopClaiming: () => boolean;
  /** Milliseconds, measured since the last reading. */
  eventLoopDelayMs: () => { p99: number; max: number };
  stop: () => void;
};

/** The values that the guards check. */
export type GuardSources = {
  dataDir: string;
  memoryLimitBytes: number;
  serviceFailingSince: () => number | null;
  clockSkewMs: () => number | null;
  outbox: () => { diskBytes: number; memoryBytes: number; diskError: Error | null };
  outboxCapBytes: number;
  outboxMemoryBytes: number;
  now: () => number;
};

const everyMs = 5000;
const minFreeBytes = 64 * 1024 * 1024;
const maxMemory = 0.92;
const lateMs = 200;
const serviceAwayMs = 30_000;
const skewMs = 5000;

export function createGuards(sources: GuardSources): Guards {
  let raised: Guard[] = [];
  let delay: IntervalHistogram | null = null;
  let state = { p99: 0, max: 0 };
  let timer: NodeJS.Timeout | undefined;

  const check = async () => {
    const free = await freeBytes(sources.dataDir);
    if (delay !== null) {
      state = { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
      delay.reset();
    }
    raised = judge({ ...sources, freeBytes: free, lateByMs: state.max, rssBytes: process.memoryUsage.rss() });
  };

  return {
    start: () => {
      delay = monitorEventLoopDelay({ resolution: 20 });
      delay.enable();
      void check();
      timer = setInterval(() => void check(), everyMs);
    },
    raised: () => raised,
    stopClaiming: () => raised.some(({ name }) => stopsClaiming.has(name)),
    eventLoopDelayMs: () => state,
    stop: () => {
      clearInterval(timer);
      delay?.disable();
    },
  };
}

/** The guards that are raised now. */
export function judge(
  state: GuardSources & { freeBytes: number | null; lateByMs: number; rssBytes: number },
): Guard[] {
  const guards: Guard[] = [];
  const raise = (name: GuardName, message: string) => guards.push({ name, message });
  const outbox = state.outbox();
  if (outbox.diskError !== null) {
    raise(
      'disk',
      `results cannot be written to disk (${outbox.diskError.message}); the agent takes no more jobs`,
    );
  } else if (state.freeBytes !== null && state.freeBytes < minFreeBytes) {
    raise('disk', `${megabytes(state.freeBytes)} MB are free for results; the agent takes no more jobs`);
  }
  if (outbox.memoryBytes > state.outboxMemoryBytes / 2) {
    raise(
      'outbox',
      `${megabytes(outbox.memoryBytes)} MB of results wait in memory; the agent takes no more jobs`,
    );
  } else if (outbox.diskBytes > state.outboxCapBytes * 0.9) {
    raise(
      'outbox',
      `${megabytes(outbox.diskBytes)} MB of results wait for the service; the agent takes no more jobs`,
    );
  }
  if (state.rssBytes > state.memoryLimitBytes * maxMemory) {
    raise('memory', `the agent uses ${megabytes(state.rssBytes)} of ${megabytes(state.memoryLimitBytes)} MB`);
  }
  if (state.lateByMs > lateMs)
    raise('event-loop', `the event loop is delayed by ${Math.round(state.lateByMs)} ms`);
  const failingSince = state.serviceFailingSince();
  if (failingSince !== null && state.now() - failingSince > serviceAwayMs) {
    const seconds = Math.round((state.now() - failingSince) / 1000);
    raise('service', `the service has not been reached for ${seconds} s`);
  }
  const skew = state.clockSkewMs();
  if (skew !== null && Math.abs(skew) > skewMs) {
    raise('clock', `the clock is ${Math.abs(skew)} ms ${skew > 0 ? 'ahead of' : 'behind'} the service's`);
  }
  return guards;
}

async function freeBytes(folder: string): Promise<number | null> {
  try {
    const stats = await fs.statfs(folder);
    return stats.bavail * stats.bsize;
  } catch {
    return null;
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2);
}
