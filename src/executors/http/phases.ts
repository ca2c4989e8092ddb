import type { Timings } from '../../protocol/result.ts';

/** The phases that a hop measures; `remainder` and `total` are derived from them. */
export const phases = ['dns', 'connect', 'tunnel', 'tls', 'firstByte', 'download'] as const;
export type Phase = (typeof phases)[number];

/** Microseconds as integers, so that parts add up to their total without rounding errors. */
export type Microseconds = number;

/** The duration of each phase of one request over one connection, during and after it. */
export type PhaseRecord = {
  startedAt: Microseconds;
  endedAt: Microseconds | null;
  spent: { [P in Phase]?: Microseconds };
  /** The current phase and its start; null between phases. */
  current: Phase | null;
  since: Microseconds;
};

/** The monotonic clock. */
export function clock(): Microseconds {
  return Math.round(performance.now() * 1000);
}

export function startPhases(): PhaseRecord {
  const now = clock();
  return { startedAt: now, endedAt: null, spent: {}, current: null, since: now };
}

/** Ends the current phase, if any, and starts `next`; null = the time that follows belongs to no phase. */
export function enterPhase(record: PhaseRecord, next: Phase | null): void {
  const now = clock();
  if (record.current !== null) {
    record.spent[record.current] = (record.spent[record.current] ?? 0) + now - record.since;
  }
  record.current = next;
  record.since = now;
}

/** Removes a phase that did not take place; its time counts as remainder. */
export function dropPhase(record: PhaseRecord, phase: Phase): void {
  if (record.current === phase) record.current = null;
  delete record.spent[phase];
}

/** Ends the current phase and the record. */
export function endPhases(record: PhaseRecord): void {
  enterPhase(record, null);
  record.endedAt = record.since;
}

/** Timings of one record in milliseconds. */
export function timingsOf(record: PhaseRecord): Timings {
  return summed([record], (record.endedAt ?? clock()) - record.startedAt);
}

/** Timings in milliseconds of several records that ran one after another within `total`. */
export function summed(records: readonly PhaseRecord[], total: Microseconds): Timings {
  const timings: Timings = { total: total / 1000 };
  let accounted = 0;
  for (const phase of phases) {
    let spent: number | undefined;
    for (const record of records) {
      const part = record.spent[phase];
      if (part !== undefined) spent = (spent ?? 0) + part;
    }
    if (spent === undefined) continue;
    accounted += spent;
    timings[phase] = spent / 1000;
  }
  timings.remainder = (total - accounted) / 1000;
  return timings;
}
