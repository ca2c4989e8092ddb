/**
 * Decides whether a notification may be tried now. The notifications of one subject (for example a check) to one
 * channel are a sequence: no two are tried at once, and none is delivered after a newer one. Pure.
 */

/** A notification of the sequence that is not finished. */
export type OpenNotification = {
  id: string;
  /** Tries that have failed. */
  attempts: number;
  /** Whether a try runs now, here or in another replica. */
  isTried: boolean;
  /** Whether it has waited so long that nobody will try it any more. */
  isLost: boolean;
};

export type NextTry =
  /** Delivered or dropped already. */
  | { kind: 'finished' }
  /** An older one comes first, or a try of this one runs. */
  | { kind: 'wait' }
  /** Dropped: its try failed, and a newer one says more. */
  | { kind: 'superseded' }
  /** Try it. `drops` are the older ones that it makes pointless. */
  | { kind: 'try'; drops: string[] };

/** `sequence`: the unfinished notifications, oldest first. */
export function nextTry(sequence: readonly OpenNotification[], id: string): NextTry {
  const at = sequence.findIndex((each) => each.id === id);
  const own = sequence[at];
  if (own === undefined) return { kind: 'finished' };
  const newer = sequence.slice(at + 1);
  if ([own, ...newer].some(({ isTried }) => isTried)) return { kind: 'wait' };
  if (own.attempts > 0 && newer.length > 0) return { kind: 'superseded' };
  const older = sequence.slice(0, at);
  // One that was never tried comes first, so that a channel that works gets every alert.
  const isAhead = older.some(({ isTried, attempts, isLost }) => isTried || (attempts === 0 && !isLost));
  return isAhead ? { kind: 'wait' } : { kind: 'try', drops: older.map((each) => each.id) };
}
