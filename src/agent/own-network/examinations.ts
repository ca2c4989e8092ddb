import { examine, type ExaminationOptions } from './examination.ts';
import type { Failure, Probes } from './facts.ts';

/** Examinations of the own network: one at a time, few in a minute, shared by all failures of the same moment. */
export type Examinations = {
  /** Answers that say how the network was at the end of this failure; null = it was examined too often to ask again. */
  of: (failure: Pick<Failure, 'endedAt'>) => Promise<Probes | null>;
  /** The latest answers in which nothing can have been missed; null = there are none. */
  latest: () => Probes | null;
};

/** Answers that prove trouble count for this time. */
export const troubleKeptMs = 5000;
/** Answers that prove a working network must be about as new as the failure. */
export const healthKeptMs = 1000;
const perMinute = 30;

/** `proxies`: those to ask, read at each examination. `onAnswers` is called with the answers of each examination. */
export function createExaminations(
  options: ExaminationOptions & {
    onExamination: () => void;
    proxies: () => readonly { address: string; port: number }[];
    onAnswers: (probes: Probes) => void;
  },
): Examinations {
  const { now, onExamination, proxies, onAnswers } = options;
  let running: { startedAt: number; probes: Promise<Probes> } | null = null;
  let latest: Probes | null = null;
  let minute = { from: 0, count: 0 };

  const start = (): Promise<Probes> => {
    minute.count += 1;
    onExamination();
    const probes = answers();
    running = { startedAt: now(), probes };
    return probes;
  };
  const answers = async (): Promise<Probes> => {
    try {
      const done = await examine(proxies(), options);
      if (!done.wasDelayed) latest = done;
      onAnswers(done);
      return done;
    } finally {
      running = null;
    }
  };

  return {
    latest: () => latest,
    of: async ({ endedAt }) => {
      if (running !== null && running.startedAt >= endedAt - healthKeptMs) return running.probes;
      await running?.probes;
      // Another waiter may have started one meanwhile.
      if (running !== null) return running.probes;
      if (now() - minute.from > 60_000) minute = { from: now(), count: 0 };
      // Old answers do not say how the network was during this failure.
      if (minute.count >= perMinute)
        return latest !== null && now() - latest.at <= troubleKeptMs ? latest : null;
      return start();
    },
  };
}
