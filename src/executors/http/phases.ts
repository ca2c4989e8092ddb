import type { Timings } from '../../protocol/result.ts';

/** The phases that a hop measures; `remainder` and `total` follow from them. */
export const phases = ['dns', 'connect', 'tunnel', 'tls', 'firstByte', 'download'] as const;
export type Phase = (typeof phases)[number];

/** Microseconds as whole numbers, so that parts add up to their total without rounding errors. */
export type Microseconds = number;

/** How long each phase of one request over one connection took, while it runs and afterwards. */
export type PhaseRecord = {
  startedAt: Microseconds;
  endedAt: Microseconds | null;
  spent: { [P in Phase]?: Microseconds };
  /** The phase under way and when it began; null between phases. */
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

/** Ends the phase under way, if any, and begins `next`; null = what follows belongs to no phase. */
export function enterPhase(record: PhaseRecord, next: Phase | null): void {
  const now = clock();
  if (record.current !== null) {
    record.spent[record.current] = (record.spent[record.current] ?? 0) + now - record.since;
  }
  record.current = next;
  record.since = now;
}

/** Forgets a phase that turned out not to take place: its time counts to the remainder. */
export function dropPhase(record: PhaseRecord, phase: Phase): void {
  if (record.current === phase) record.current = null;
  delete record.spent[phase];
}

/** Ends the phase under way and the record. */
export function endPhases(record: PhaseRecord): void {
  enterPhase(record, null);
  record.endedAt = record.since;
}

/** Timings in milliseconds of one record. */
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
