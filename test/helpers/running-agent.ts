import type { HealthView } from '../../src/agent/metrics/health.ts';

/** The state of an agent that runs and has no trouble, for tests of its health port. */
export const runningAgent: HealthView = {
  state: 'running',
  version: '0.0.0',
  guards: [],
  clockSkewMs: null,
  lostResults: { dropped: 0, damaged: 0 },
  alive: true,
  takesNoJobs: false,
};
