import { AgentError } from '../errors.ts';
import type { PlaywrightRun } from './playwright-run.ts';
import type { Runtime } from './runtimes.ts';
import type { PlaywrightOptions } from './scripts.ts';

/** Runs scripts on Playwright Test, in processes that are kept warm. */
export function createPlaywrightRunner(_options: {
  dataFolder: string;
  slots: number;
  warn: (line: string) => void;
}): {
  run: (runtime: Runtime, options: PlaywrightOptions) => Promise<PlaywrightRun>;
  close: () => Promise<void>;
} {
  return {
    run: () => Promise.reject(new AgentError('INTERNAL', 'Playwright scripts cannot run yet')),
    close: () => Promise.resolve(),
  };
}
