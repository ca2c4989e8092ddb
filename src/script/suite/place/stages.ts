import type { LogEntry } from '../../../protocol/result.ts';
import type { SuiteDetails, SuiteStage } from '../../interface/suite-run.ts';

/** The stages of one run. Each is logged when it begins, while it takes long, and when it is finished. */
export type SuiteStages = {
  /** The stages that began, in order; the last one may still be running. */
  readonly times: SuiteDetails['stages'];
  /** Runs one stage; rejects as `work` does. */
  run: <T>(name: SuiteStage, work: () => Promise<T>) => Promise<T>;
  /** `stage test had been running for 1750 s`, for the message of a run that was stopped; null between two stages. */
  current: () => string | null;
};

export type SuiteStagesOptions = {
  log: (level: LogEntry['level'], msg: string) => void;
  onStage: (stage: SuiteStage) => void;
  /** Milliseconds between two log lines of a long stage. */
  everyMs?: number;
};

const defaultEveryMs = 60_000;

export function createStages({ log, onStage, everyMs = defaultEveryMs }: SuiteStagesOptions): SuiteStages {
  const times: SuiteDetails['stages'] = [];
  let going: { name: SuiteStage; began: number } | null = null;
  return {
    times,
    run: async (name, work) => {
      const began = performance.now();
      const time = { name, startTime: Date.now(), durationMs: 0 };
      times.push(time);
      going = { name, began };
      onStage(name);
      log('info', `stage ${name} began`);
      const timer = setInterval(
        () => log('info', `still in stage ${name}, ${Math.round((performance.now() - began) / 1000)} s`),
        everyMs,
      );
      try {
        return await work();
      } finally {
        clearInterval(timer);
        time.durationMs = Math.round(performance.now() - began);
        going = null;
        log('info', `stage ${name} finished after ${(time.durationMs / 1000).toFixed(1)} s`);
      }
    },
    current: () => {
      if (going === null) return null;
      return `stage ${going.name} had been running for ${Math.round((performance.now() - going.began) / 1000)} s`;
    },
  };
}
