import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/helpers/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/helpers/global-setup.ts',
    pool: 'forks',
    // Most tests wait for sockets, timers and other processes: three files at a time keep two cores busy.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // All tests have ended by then.
    teardownTimeout: 2_000,
  },
});
