import type { LogBounds } from '../job-types/log-bounds.ts';
import type { LogEntry } from '../../protocol/result.ts';

/** The log of one attempt: its first and its last lines if it has more than a result can hold. */
export type AttemptLog = {
  add: (entry: LogEntry) => void;
  /** The lines for the result; a line in the middle reports how many were omitted. */
  entries: () => LogEntry[];
};

/** Collects lines; `onLog` receives each of them, up to ten times as many as are kept. */
export function createAttemptLog(
  bounds: LogBounds,
  onLog: ((entry: LogEntry) => void) | undefined,
): AttemptLog {
  const first: LogEntry[] = [];
  const last: LogEntry[] = [];
  let firstLength = 0;
  let lastLength = 0;
  let leftOut = 0;
  let forwarded = 0;
  const maxForwarded = 10 * (bounds.first + bounds.last);
  return {
    add: (entry) => {
      forwarded += 1;
      if (forwarded <= maxForwarded) onLog?.(entry);
      const { length } = entry.msg;
      const fits = first.length < bounds.first && firstLength + length <= bounds.characters;
      // Once a line did not fit in the first half, all later lines go to the second half.
      if (leftOut === 0 && last.length === 0 && fits) {
        first.push(entry);
        firstLength += length;
        return;
      }
      last.push(entry);
      lastLength += length;
      while (last.length > bounds.last || (lastLength > bounds.characters && last.length > 1)) {
        lastLength -= last.shift()?.msg.length ?? 0;
        leftOut += 1;
      }
    },
    entries: () => {
      const [next] = last;
      if (leftOut === 0 || next === undefined) return [...first, ...last];
      const between: LogEntry = {
        time: next.time,
        level: 'info',
        msg: `… ${leftOut} lines omitted`,
      };
      return [...first, between, ...last];
    },
  };
}
