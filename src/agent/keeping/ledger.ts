import { randomUUID } from 'node:crypto';
import { fieldsOf, parsedJson } from '../../json-values.ts';

/**
 * Up to when every due run of the held checks is reported and acknowledged. It counts open runs by stretches of a
 * second, so that a day without the service takes a few megabytes at most.
 */
export type Ledger = {
  /** A run that is due at this moment has been taken up. */
  open: (dueAt: number) => void;
  /** The service has the final result of a run that is due at this moment. */
  settle: (dueAt: number) => void;
  /** The last moment at or before which nothing is open. `earliest`: the first moment that nobody has taken up. */
  reportedTo: (now: number, earliest: number | null) => number;
};

const stretchMs = 1_000;
/** What is open for longer will never be acknowledged: its result was lost. */
const forgetMs = 26 * 3_600_000;

export function createLedger(): Ledger {
  const counts = new Map<number, number>();
  const stretchOf = (dueAt: number) => Math.floor(dueAt / stretchMs) * stretchMs;
  return {
    open: (dueAt) => {
      const stretch = stretchOf(dueAt);
      counts.set(stretch, (counts.get(stretch) ?? 0) + 1);
    },
    settle: (dueAt) => {
      const stretch = stretchOf(dueAt);
      const count = counts.get(stretch) ?? 0;
      if (count > 1) counts.set(stretch, count - 1);
      else counts.delete(stretch);
    },
    reportedTo: (now, earliest) => {
      let first = Math.min(now + 1, earliest ?? Infinity);
      for (const stretch of counts.keys()) {
        if (stretch < now - forgetMs) counts.delete(stretch);
        else if (stretch < first) first = stretch;
      }
      return first - 1;
    },
  };
}

/** Ends the sequence ids of the runs of one process: 12 hex digits. */
export const createTag = (): string => randomUUID().slice(-tagLength);
const tagLength = 12;

/**
 * A random id that names the process which makes the run. The results of an earlier process wait in the outbox too, and say
 * nothing about the runs that this one has taken up.
 */
export const sequenceIdOf = (tag: string): string => `${randomUUID().slice(0, -tagLength)}${tag}`;

/** The moment of a final result of the process with this tag, as it is sent; null = another result. */
export function settledMoment(payload: Buffer, tag: string): number | null {
  // Most results of other runs are recognised without being parsed. They may be large.
  if (!payload.includes('"dueAt"') || !payload.includes(`${tag}"`)) return null;
  const result = fieldsOf(parsedJson(payload.toString()));
  if (result['resultType'] !== 'FINAL' || !String(result['sequenceId']).endsWith(tag)) return null;
  const at = Date.parse(String(result['dueAt']));
  return Number.isNaN(at) ? null : at;
}
