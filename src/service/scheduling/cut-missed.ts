import { hasMoment, stepOf, type Span } from './missed-moments.ts';

/** What is left of a record of missed runs when one of them has taken place after all: a pure function. */

/**
 * Removes one due moment from a record: nothing is left, one stretch, or two when the moment was in the middle. `stepMs`
 * is the time between two runs; it counts only if the record's own moments are not evenly spaced, for example because
 * the check was deactivated for a part of the time. A moment that cannot be one of the record's changes nothing.
 */
export function cutMissed(record: Span, moment: number, stepMs: number): Span[] {
  const { from, to, count } = record;
  if (moment < from || moment > to) return [record];
  if (count <= 1) return [];
  const rest = count - 1;
  const evenMs = stepOf(record);
  const step = evenMs !== null && hasMoment(record, moment) ? evenMs : stepMs;
  const before = Math.max(from, moment - step);
  const after = Math.min(to, moment + step);
  if (moment === from) return [stretch(rest === 1 ? to : after, to, rest)];
  if (moment === to) return [stretch(from, rest === 1 ? from : before, rest)];
  if (rest < 2) return [record];
  const left = Math.min(rest - 1, Math.round((before - from) / step) + 1);
  const right = rest - left;
  return [stretch(from, left === 1 ? from : before, left), stretch(right === 1 ? to : after, to, right)];
}

const stretch = (from: number, to: number, count: number): Span => ({ from, to, count });
