import type { Log } from '../../log.ts';
import type { DiskDeadline } from '../folders/disk-deadline.ts';
import type { AgentMetrics } from '../metrics/counters.ts';

/** Limits of the outbox, in bytes and results; tests make them small. */
export type OutboxLimits = {
  segmentBytes: number;
  /** On disk. Above it the oldest segment is dropped, counted and reported. */
  capBytes: number;
  /** In memory, while writing to disk fails. Above it the oldest result is dropped; claiming stops at half of it. */
  memoryBytes: number;
  memoryResults?: number;
};

export const outboxLimits: OutboxLimits = {
  segmentBytes: 8 * 1024 * 1024,
  capBytes: 1024 * 1024 * 1024,
  memoryBytes: 64 * 1024 * 1024,
  memoryResults: 50_000,
};

export type OutboxOptions = {
  /** The folder that all agents of a data directory share. */
  folder: string;
  instanceId: string;
  log: Log;
  metrics: AgentMetrics;
  /** Called with every fault of the agent itself. */
  fault: (error: Error, message: string) => void;
  now: () => number;
  /** Called with each result that is dropped to stay within the limits. */
  dropped?: (payload: Buffer) => void;
  limits?: OutboxLimits;
  /** Shared with everything else that uses the data folder; absent = one of its own. */
  disk?: DiskDeadline;
};

export type OutboxStatus = {
  diskBytes: number;
  memoryBytes: number;
  diskResults: number;
  memoryResults: number;
  /** Time of the oldest result that waits; null = none waits. */
  oldestAt: number | null;
  /** True if the memory has no room for more runs. */
  memoryFull: boolean;
  /** The last error if writing to disk currently fails. */
  diskError: Error | null;
};
