import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/helpers/setup.ts'],
    pool: 'forks',
    // Most tests wait for sockets and timers, so two files at a time serve even one core.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // All tests have ended by then.
    teardownTimeout: 2_000,
  },
});
