/**
 * What an answer of the service says about its clock. The times of the call are those of a monotonic clock, all in
 * milliseconds.
 */
export type HeardTime = { sentAt: number; receivedAt: number; serviceTime: number };

/**
 * The service's clock, as this agent knows it.
 *
 * The service read its clock between the beginning and the end of a call, so each call has an earliest and a latest
 * value for the difference between both clocks. The first hello begins with the middle (as NTP does, RFC 5905 section 8),
 * which is wrong by up to half of a slow call. The middle of what all answers allow is taken when that is narrower
 * than ever before. Any other answer corrects the difference to the nearest value that is possible. Quick calls therefore count, and
 * slow ones and long polls do no harm.
 */
export type HeardClock = {
  /** Takes the time of a hello. Keeps what is known if it is possible by this answer, and begins anew if not. */
  begin: (heard: HeardTime) => void;
  /** Corrects the difference by another answer. Does nothing before `begin`. */
  correct: (heard: HeardTime) => void;
  /** Milliseconds of the service's clock minus the monotonic one; null before `begin`. */
  offsetMs: () => number | null;
  /** Whether one of the clocks was set: all quick answers of some seconds say so. A hello is due. */
  isDisputed: () => boolean;
};

/** Times of the service are whole milliseconds, rounded down. */
const roundedMs = 1;
/**
 * What one answer may correct: clocks part slowly, and one that is being corrected moves by at most 5 ms in a second
 * (steady-clock.ts). A larger difference is a clock that was set, or a replica that has just started with a bad measurement.
 */
const leastCorrectionMs = 20;
const correctionRate = 0.005;
/** By how much what is possible becomes wider: quartz clocks part by less. */
const driftRate = 0.0002;
/** A call that is not longer shows the difference well. */
const quickMs = 1_000;
/** So many quick answers in a row, over at least this time, and none that agreed. */
const disputes = 3;
const disputedMs = 10_000;

export function createHeardClock(): HeardClock {
  let offsetMs: number | null = null;
  /** How far `offsetMs` can be from the truth, by the best answer so far. */
  let doubtMs = 0;
  let agreedAt = 0;
  let refused = 0;
  let heardAt = 0;
  /** What all answers allow, and how narrow it was when its middle was taken. */
  let possible = { earliest: -Infinity, latest: Infinity };
  let narrowestMs = Infinity;
  const range = ({ sentAt, receivedAt, serviceTime }: HeardTime) => ({
    earliest: serviceTime - receivedAt,
    latest: serviceTime + roundedMs - sentAt,
  });
  const agree = ({ receivedAt }: HeardTime): void => {
    agreedAt = receivedAt;
    refused = 0;
  };
  return {
    begin: (heard) => {
      const { earliest, latest } = range(heard);
      agree(heard);
      if (offsetMs !== null && offsetMs >= earliest && offsetMs <= latest) return;
      offsetMs = (earliest + latest) / 2;
      doubtMs = (latest - earliest) / 2;
      possible = { earliest, latest };
      narrowestMs = latest - earliest;
    },
    correct: (heard) => {
      if (offsetMs === null) return;
      const widerMs = Math.max(0, heard.receivedAt - heardAt) * driftRate;
      heardAt = heard.receivedAt;
      const { earliest, latest } = range(heard);
      const corrected = Math.min(Math.max(offsetMs, earliest), latest);
      const sinceMs = Math.max(0, heard.receivedAt - agreedAt);
      if (Math.abs(corrected - offsetMs) > leastCorrectionMs + sinceMs * correctionRate + doubtMs) {
        if (heard.receivedAt - heard.sentAt <= quickMs) refused += 1;
        return;
      }
      agree(heard);
      doubtMs = Math.min(doubtMs, latest - earliest);
      offsetMs = corrected;
      const both = {
        earliest: Math.max(possible.earliest - widerMs, earliest),
        latest: Math.min(possible.latest + widerMs, latest),
      };
      // A clock was set a little, or is being corrected.
      possible = both.earliest <= both.latest ? both : { earliest, latest };
      const width = possible.latest - possible.earliest;
      if (width >= narrowestMs) return;
      narrowestMs = width;
      offsetMs = (possible.earliest + possible.latest) / 2;
    },
    offsetMs: () => offsetMs,
    isDisputed: () => refused >= disputes && heardAt - agreedAt >= disputedMs,
  };
}
