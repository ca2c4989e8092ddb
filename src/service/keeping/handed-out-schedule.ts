import type { Schedule } from '../../protocol/schedule.ts';

/** The schedule that was handed out; null in rows of earlier releases. */
export type HandedOut = { [name in keyof Schedule]: number | null };

/** `present`: the schedule of the check by now. */
export function handedOutSchedule(
  { intervalSeconds, offsetSeconds }: HandedOut,
  present: Schedule,
): Schedule {
  return intervalSeconds === null || offsetSeconds === null ? present : { intervalSeconds, offsetSeconds };
}

/** Whether the check has another schedule than the one that was handed out. */
export function isRescheduled(handedOut: HandedOut, present: Schedule): boolean {
  const { intervalSeconds, offsetSeconds } = handedOutSchedule(handedOut, present);
  return intervalSeconds !== present.intervalSeconds || offsetSeconds !== present.offsetSeconds;
}

/**
 * Whether the check has a first moment (`moment`) that was not handed out: an edit of the schedule sets one, and so does a deployment
 * that runs the check at once. Without one, a replica of an earlier release has handed the edit out already.
 */
export function isEdited(handedOut: HandedOut, moment: Date | null): moment is Date {
  return handedOut.intervalSeconds !== null && moment !== null;
}
