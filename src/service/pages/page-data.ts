/**
 * The JSON that the service sends to its own page, in addition to the public API's. Times are in ISO format, durations
 * in milliseconds.
 */

export type Overview = {
  account: { name: string };
  checks: ShownCheck[];
  locations: ShownLocation[];
};

export type ShownCheck = {
  id: string;
  name: string;
  checkType: string;
  activated: boolean;
  muted: boolean;
  tags: readonly string[];
  locations: readonly string[];
  privateLocations: readonly string[];
  /** Minutes; 0 = every `frequencyOffset` seconds. */
  frequency: number;
  frequencyOffset: number | null;
  /** Null before the first result. */
  status: { status: string; reason: { message: string } | null; lastStartedAt: string } | null;
  /** The last final results, newest first. */
  results: { status: string; responseTime: number; runLocation: string; startedAt: string }[];
};

export type ShownLocation = {
  name: string;
  slugName: string;
  agentCount: number;
  lastSeen: string | null;
  runningAgents: { version: string; count: number }[];
  keyCount: number;
};

/** A job that an agent is running, or that waits for one. */
export type RunningRun = {
  sequenceId: string;
  runLocation: string;
  isScheduled: boolean;
  state: 'running' | 'waiting for an agent';
  stage: string | null;
  /** Since the run was leased or became due, by the service's clock. */
  elapsed: number;
  cancelRequested: boolean;
  /** The route that cancels the run; null = it cannot be cancelled. */
  cancelPath: string | null;
  /** The last log lines. */
  log: string[];
};

/** A run of a suite, for the graphs. */
export type SuiteRun = {
  id: string;
  status: string;
  responseTime: number;
  runLocation: string;
  startedAt: string;
  totals: object | null;
};
