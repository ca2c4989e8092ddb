import type { Wait } from '../base/wait.ts';

/** What `GET /v1/checks-overview` returns. */

export const states = ['failing', 'errored', 'degraded', 'waiting', 'passing', 'paused'] as const;
export type State = (typeof states)[number];
export type Counts = { readonly all: number; readonly muted: number } & { readonly [S in State]: number };
export type GroupCounts = Counts & { readonly id: number; readonly name: string };

export type HourBar = {
  readonly from: string;
  readonly passed: number;
  readonly degraded: number;
  readonly failed: number;
  readonly errored: number;
  readonly missed: number;
};

export type Entry = {
  readonly id: string;
  readonly name: string;
  readonly checkType: string;
  readonly muted: boolean;
  readonly tags: readonly string[];
  readonly groupId: number | null;
  readonly groupName: string | null;
  readonly state: State;
  readonly reason: string | null;
  readonly bars: readonly HourBar[];
  readonly availability: number | null;
  readonly p95: number | null;
  readonly lastRunAt: string | null;
  readonly nextRunAt: string | null;
  readonly waits: Wait | null;
};

export type Overview = {
  readonly totals: Counts;
  readonly tags: readonly string[];
  readonly groups: readonly GroupCounts[];
  /** Checks that match the filter. */
  readonly length: number;
  readonly entries: readonly Entry[];
};
