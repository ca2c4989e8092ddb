import { defineConfig } from 'vitest/config';

/** Tests of the container images: scripts/test-images.mjs builds them first. */
export default defineConfig({
  test: {
    include: ['test/images/**/*.test.ts'],
    globalSetup: 'test/images/global-setup.ts',
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 5_000,
  },
});
