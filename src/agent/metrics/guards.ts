import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { createFiguresOfGuards, type GuardFigures } from './guard-figures.ts';
import { createIdleWatch } from './idle-watch.ts';
import { judge, stopsClaiming, type Guard, type GuardName, type GuardSources } from './guard-rules.ts';

/** Checks the agent's own state every few seconds. docs/guards.md has a section for each guard. */
export type Guards = {
  start: () => void;
  raised: () => readonly Guard[];
  stopClaiming: () => boolean;
  /** The agent's own condition has kept it from taking jobs for a minute. */
  takesNoJobs: () => boolean;
  /** Milliseconds, measured since the last reading. */
  eventLoopDelayMs: () => { p99: number; max: number };
  stop: () => void;
};

const everyMs = 5000;

/**
 * Each check judges all guards anew from what is measured at that time. `figures` never rejects. A guard that cannot be
 * measured is not raised.
 */
export function createGuards(
  sources: GuardSources,
  figures: () => Promise<GuardFigures> = createFiguresOfGuards(sources.dataDir),
): Guards {
  let raised: Guard[] = [];
  let delay: IntervalHistogram | null = null;
  let state = { p99: 0, max: 0 };
  let timer: NodeJS.Timeout | undefined;
  const idle = createIdleWatch(() => performance.now());

  const check = async () => {
    const measured = await figures();
    if (delay !== null) {
      state = { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
      delay.reset();
    }
    raised = judge({ ...sources, ...measured, lateByMs: state.max, rssBytes: process.memoryUsage.rss() });
    const has = (test: (name: GuardName) => boolean) => raised.some(({ name }) => test(name));
    idle.note({
      stopsClaiming: has((name) => stopsClaiming.has(name)),
      serviceAway: has((name) => name === 'service'),
    });
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
    takesNoJobs: idle.takesNoJobs,
    eventLoopDelayMs: () => state,
    stop: () => {
      clearInterval(timer);
      delay?.disable();
    },
  };
}
