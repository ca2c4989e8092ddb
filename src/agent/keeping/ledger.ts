import { randomUUID } from 'node:crypto';
import { fieldsOf, parsedJson } from '../../json-values.ts';

/**
 * Up to when every due run of the held checks is reported and acknowledged. It counts open runs by stretches of a
 * second, so that a day without the service takes a few megabytes at most.
 */
export type Ledger = {
  /** A run that is due at this moment has been taken up. `at`: when, if not at that moment. */
  open: (dueAt: number, at?: number) => void;
  /** The service has the final result of a run that is due at this moment, or the run will be reported in another way. */
  settle: (dueAt: number) => void;
  /**
   * The last moment at or before which nothing is open. `earliest`: the first moment that nobody has taken up. `waitingSince`: when
   * the oldest result came that the service does not have yet; absent = none waits.
   */
  reportedTo: (now: number, earliest: number | null, waitingSince?: number | null) => number;
};

const stretchMs = 1_000;
/**
 * A run that was taken up so long before every result that waits has none among them: no run takes so long. Its result was
 * damaged on disk, where nobody can read whose it was.
 */
const forgetMs = 26 * 3_600_000;

type Stretch = { count: number; openedAt: number };

export function createLedger(): Ledger {
  const stretches = new Map<number, Stretch>();
  const stretchOf = (dueAt: number) => Math.floor(dueAt / stretchMs) * stretchMs;
  return {
    open: (dueAt, at = dueAt) => {
      const key = stretchOf(dueAt);
      const known = stretches.get(key);
      if (known === undefined) stretches.set(key, { count: 1, openedAt: at });
      else {
        known.count += 1;
        known.openedAt = Math.max(known.openedAt, at);
      }
    },
    settle: (dueAt) => {
      const key = stretchOf(dueAt);
      const known = stretches.get(key);
      if (known !== undefined && known.count > 1) known.count -= 1;
      else stretches.delete(key);
    },
    reportedTo: (now, earliest, waitingSince) => {
      let first = Math.min(now + 1, earliest ?? Infinity);
      const forgetBefore = Math.min(now, waitingSince ?? now) - forgetMs;
      for (const [key, { openedAt }] of stretches) {
        if (openedAt < forgetBefore) stretches.delete(key);
        else if (key < first) first = key;
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

/** The moments of a final result of the process with this tag: of its run, or of runs that it reports as missed. Null = another result. */
export function momentsOf(
  payload: Buffer,
  tag: string,
): { checkId: string; from: number; to: number } | null {
  const from = settledMoment(payload, tag);
  if (from === null) return null;
  const { checkId, status, details } = fieldsOf(parsedJson(payload.toString()));
  const last = status === 'missed' ? momentOf(fieldsOf(details)['to']) : null;
  return typeof checkId === 'string' ? { checkId, from, to: last ?? from } : null;
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
