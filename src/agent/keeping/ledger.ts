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
  const head = headPattern.exec(payload.subarray(0, headBytes).toString('latin1'));
  const tail = tailPattern.exec(payload.subarray(-tailBytes).toString('latin1'));
  if (head !== null && tail !== null) {
    const [, sequenceId = '', resultType] = head;
    return resultType === 'FINAL' && sequenceId.endsWith(tag) ? momentOf(tail[1]) : null;
  }
  const result = fieldsOf(parsedJson(payload.toString()));
  if (result['resultType'] !== 'FINAL' || !String(result['sequenceId']).endsWith(tag)) return null;
  return momentOf(result['dueAt']);
}

function momentOf(dueAt: unknown): number | null {
  const at = Date.parse(String(dueAt));
  return Number.isNaN(at) ? null : at;
}

/**
 * The beginning and the end of a result as `resultOf` writes it: parts of the object itself, because nothing that contains
 * other values comes before the one or after the other. A batch has hundreds of results, and to parse them all would keep the
 * runs waiting that are due meanwhile. A result of another form is parsed.
 */
const headBytes = 600;
const tailBytes = 100;
const headPattern =
  /^\{"jobId":"[^"\\]*","leaseToken":"[^"\\]*","attempt":\d+,"sequenceId":"([^"\\]*)","checkId":"[^"\\]*","checkType":"[^"\\]*","resultType":"([A-Z]+)"/;
const tailPattern = /,"agentVersion":"[^"\\]*","dueAt":"([^"\\]*)"\}$/;
