import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/helpers/longest-first.ts';
import longTests from './test/long-tests.json' with { type: 'json' };

/** Files whose tests leave nothing behind in their process: they share processes, and the modules that these have loaded. */
const sharing = ['agent', 'commands', 'executors', 'protocol', 'secrets', 'service'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);
/** Files with a process of their own: statements are timed, or what the process has open is counted. */
const alone = [
  'test/service/db/volume.test.ts',
  'test/agent/warm-up.test.ts',
  'test/executors/dns.test.ts',
  'test/executors/dns/dns-streams.test.ts',
];

/** Patterns of files that a run leaves out, between spaces. */
const leftOut = (process.env['TESTS_LEFT_OUT'] ?? '').split(' ').filter((pattern) => pattern !== '');
if (process.env['TESTS_SUITE'] === 'quick') leftOut.push(...longTests);

export default defineConfig({
  test: {
    globalSetup: 'test/helpers/global-setup.ts',
    pool: 'forks',
    // Most tests wait for sockets, timers and other processes: three files at a time keep two cores busy.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 20_000,
    hookTimeout: 120_000,
    // The default of one second fails on a busy machine. A condition that never holds ends with its test.
    expect: { poll: { timeout: 18_000 } },
    // All tests have ended by then.
    teardownTimeout: 2_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          exclude: ['test/images/**', ...sharing, ...leftOut],
        },
      },
      { extends: true, test: { name: 'alone', include: alone, exclude: leftOut } },
      {
        extends: true,
        test: {
          name: 'sharing',
          include: sharing,
          exclude: [...alone, ...leftOut],
          isolate: false,
          // Embedded databases that live for seconds: to optimise their WebAssembly would take more time than it saves.
          execArgv: ['--liftoff-only'],
        },
      },
    ],
  },
});
