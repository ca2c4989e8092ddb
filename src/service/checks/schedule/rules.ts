import { createHash } from 'node:crypto';
import { columnOf } from '../types/table.ts';

/**
 * When checks are due: pure rules for the specification's frequency and frequencyOffset (facts 2.0; contract: "Rules
 * of grading").
 */

/** Allowed values of `frequency`, in minutes. 0 = every `frequencyOffset` seconds. */
export const frequencies = [0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440] as const;
/** Allowed values by check type. */
export const frequenciesOf = columnOf<readonly number[]>(({ minFrequency }) =>
  frequencies.filter((frequency) => frequency >= minFrequency),
);
/** Allowed values of `frequencyOffset` with frequency 0: the seconds between runs. */
export const subMinuteOffsets = [10, 20, 30] as const;
export const defaultFrequency = 10;

type Timing = { frequency: number; frequencyOffset?: number | null };

/** Largest frequencyOffset for a frequency of a minute or more (specification, rules 2 and 3). */
export function maxFrequencyOffset(frequency: number): number {
  return frequency <= 60 ? Math.floor(frequency * 10) : Math.ceil(frequency / 60);
}

/** The problem of an offset as the end of a sentence ("must be …"); null = none. */
export function offsetProblem({ frequency, frequencyOffset }: Timing): string | null {
  if (frequency === 0) {
    return subMinuteOffsets.some((offset) => offset === frequencyOffset)
      ? null
      : `must be ${subMinuteOffsets.slice(0, -1).join(', ')} or ${subMinuteOffsets.at(-1)} (seconds between runs) when frequency is 0`;
  }
  if (frequencyOffset === undefined || frequencyOffset === null) return null;
  const max = maxFrequencyOffset(frequency);
  if (Number.isInteger(frequencyOffset) && frequencyOffset >= 1 && frequencyOffset <= max) return null;
  return `must be a whole number from 1 to ${max} when frequency is ${frequency}`;
}

/** Seconds between runs. With frequency 0 the offset is the interval. */
export function intervalSeconds({ frequency, frequencyOffset }: Timing): number {
  return frequency === 0 ? (frequencyOffset ?? subMinuteOffsets[0]) : frequency * 60;
}

/**
 * Seconds after each epoch-aligned multiple of the interval at which a check is due; at least 0 and less than the
 * interval. An explicit offset counts units that make its range span the interval: 6 s up to 60 minutes, 1 h above.
 * Without an explicit offset, and with frequency 0, whose offset is the interval, it is a hash of the check's id with
 * millisecond precision. Checks created together are therefore spread evenly.
 */
export function offsetSeconds(timing: Timing, checkId: string): number {
  const interval = intervalSeconds(timing);
  const { frequency, frequencyOffset } = timing;
  if (frequency !== 0 && frequencyOffset !== undefined && frequencyOffset !== null) {
    return (frequencyOffset * (frequency <= 60 ? 6 : 3600)) % interval;
  }
  const hash = createHash('sha256').update(checkId).digest().readUIntBE(0, 6);
  return (hash % (interval * 1000)) / 1000;
}
