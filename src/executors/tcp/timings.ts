import type { Timings } from '../../protocol/result.ts';

/** Phases of an attempt so far, in milliseconds; undefined = did not take place. */
export type Phases = { [P in Exclude<keyof Timings, 'remainder' | 'total'>]?: number | undefined };

const microseconds = (ms: number) => Math.round(Math.max(0, ms) * 1000) / 1000;

/** The phases, rounded to microseconds, with the remainder that makes them add up to the total. */
export function timingsOf(phases: Phases, totalMs: number): Timings {
  const timings: Timings = { total: 0 };
  let sum = 0;
  for (const name of ['dns', 'connect', 'tunnel', 'tls', 'firstByte', 'download'] as const) {
    const ms = phases[name];
    if (ms === undefined) continue;
    timings[name] = microseconds(ms);
    sum += timings[name];
  }
  timings.remainder = microseconds(totalMs - sum);
  timings.total = microseconds(sum + timings.remainder);
  return timings;
}
