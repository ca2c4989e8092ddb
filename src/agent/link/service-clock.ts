/**
 * What an answer of the service says about its clock. The times of the call are those of a monotonic clock, all in
 * milliseconds.
 */
export type HeardTime = { sentAt: number; receivedAt: number; serviceTime: number };

/**
 * The service's clock, as this agent knows it.
 *
 * The service read its clock between the beginning and the end of a call, so each call has an earliest and a latest
 * value for the difference between both clocks. A hello begins with the middle (as NTP does, RFC 5905 section 8), which
 * is wrong by up to half of a slow call. Every later answer corrects it to the nearest value that is possible. Quick
 * calls therefore count, and slow ones and long polls do no harm.
 */
export type ServiceClock = {
  /** Compares the clocks anew. */
  begin: (heard: HeardTime) => void;
  /** Corrects the comparison by another answer. Does nothing before `begin`. */
  correct: (heard: HeardTime) => void;
  /** Milliseconds of the service's clock minus the monotonic one; null before `begin`. */
  offsetMs: () => number | null;
};

/** The service tells whole milliseconds, and has cut off the rest. */
const cutOffMs = 1;
/**
 * A larger correction than one answer can need is a clock that was set, here or there, or a replica with a wrong one.
 * The schedule does not follow those until the next hello. Without time synchronisation, clocks part by a few
 * milliseconds between two answers.
 */
const maxCorrectionMs = 100;

export function createServiceClock(): ServiceClock {
  let offsetMs: number | null = null;
  /** How far `offsetMs` can be from the truth, by the answer that it began with. */
  let doubtMs = 0;
  const range = ({ sentAt, receivedAt, serviceTime }: HeardTime) => ({
    earliest: serviceTime - receivedAt,
    latest: serviceTime + cutOffMs - sentAt,
  });
  return {
    begin: (heard) => {
      const { earliest, latest } = range(heard);
      offsetMs = (earliest + latest) / 2;
      doubtMs = (latest - earliest) / 2;
    },
    correct: (heard) => {
      if (offsetMs === null) return;
      const { earliest, latest } = range(heard);
      const corrected = Math.min(Math.max(offsetMs, earliest), latest);
      if (Math.abs(corrected - offsetMs) > Math.max(maxCorrectionMs, doubtMs)) return;
      doubtMs = Math.min(doubtMs, latest - earliest);
      offsetMs = corrected;
    },
    offsetMs: () => offsetMs,
  };
}
