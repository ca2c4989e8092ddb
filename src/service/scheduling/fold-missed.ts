import type { ReasonCode } from '../../protocol/reasons.ts';
import type { OpenMissed } from './missed.ts';
import { outside, spanOf, type Span } from './missed-moments.ts';

/** Which record a missed run belongs to: a pure function of the rows of one check at one location. */

/** Runs of one check at one location that did not take place. */
export type Missed = {
  accountId: string;
  checkId: string;
  checkType: string;
  runLocation: string;
  /** Due moments, milliseconds since the epoch. */
  from: number;
  to: number;
  count: number;
  code: ReasonCode;
};

type Folded = {
  /** The open record, if it has grown. */
  grown: OpenMissed | null;
  /** New records. `isOpen`: later runs may extend it. */
  fresh: { item: Missed; isOpen: boolean }[];
};

/**
 * Folds missed runs into the open record or into new ones, so that no moment is in two records. A run extends a record
 * only if both have the same reason and nothing lies between them: no run that may still take place (`live`, its due
 * moments), and no moment at all (`stepMs` is the time between two runs). The second rule is for a record that was written
 * after a later run had ended: that run closed no record, because there was none yet. And the moments of a record are evenly
 * spaced, because a run that takes place after all is cut out of it by its moment. After an edit of the schedule they are not, so
 * those of two schedules are two records, even where they overlap in time.
 */
export function foldMissed(options: {
  open: OpenMissed | null;
  items: readonly Missed[];
  live: readonly Date[];
  stepMs: number;
}): Folded {
  const { open, live, stepMs } = options;
  const items = withoutDoubles(options.items, open && spanOf(open));
  const own = new Set(items.flatMap(({ from, count }) => (count === 1 ? [from] : [])));
  const going = live.map((at) => at.getTime()).filter((at) => !own.has(at));
  const isFreeBetween = (after: number, before: number) => !going.some((at) => after < at && at < before);

  const begin = open?.from.getTime() ?? -Infinity;
  const later = items.filter(({ to }) => to >= begin).sort((a, b) => a.from - b.from);
  // From the record backwards, so that each joins what is already there.
  const earlier = items.filter(({ to }) => to < begin).sort((a, b) => b.from - a.from);

  let record = open;
  // The new record that grows at the moment is the last of each list.
  const newer: Missed[] = [];
  /** Moments of another schedule, which overlap with others in time. */
  const beside: Missed[] = [];
  for (const item of later) {
    const current = newer.at(-1);
    const last = current?.to ?? record?.to.getTime() ?? -Infinity;
    const isSame = (current?.code ?? record?.reason) === item.code;
    const isEven = staysEven(current ?? (record && spanOf(record)), item);
    const joins = isSame && isEven && item.from - last <= stepMs && isFreeBetween(last, item.from);
    // The open record is always the one that ends last.
    if (item.from < last) (item.to > last ? newer : beside).push(item);
    else if (joins && current !== undefined) {
      newer.splice(-1, 1, { ...current, to: item.to, count: current.count + item.count });
    } else if (joins && record !== null) {
      record = { ...record, to: new Date(item.to), count: record.count + item.count };
    } else newer.push(item);
  }
  const older: Missed[] = [];
  for (const item of earlier) {
    const current = older.at(-1);
    const next = current?.from ?? record?.from.getTime() ?? Infinity;
    const isSame = (current?.code ?? record?.reason) === item.code;
    const isEven = staysEven(item, current ?? (record && spanOf(record)));
    const joins = isSame && isEven && next - item.to <= stepMs && isFreeBetween(item.to, next);
    if (joins && current !== undefined) {
      older.splice(-1, 1, { ...current, from: item.from, count: current.count + item.count });
    } else if (joins && record !== null) {
      record = { ...record, from: new Date(item.from), count: record.count + item.count };
    } else older.push(item);
  }
  const fresh = [...older, ...beside, ...newer].map((item) => ({ item, isOpen: item === newer.at(-1) }));
  return { grown: record === open ? null : record, fresh };
}

/** The moments that are not in the open record, each in one item: two processes may report the same ones. */
function withoutDoubles(items: readonly Missed[], open: Span | null): Missed[] {
  const kept: Missed[] = [];
  /** Those that do not end before the next item begins. */
  let recent: Span[] = open === null ? [] : [open];
  for (const item of items.toSorted((a, b) => a.from - b.from)) {
    recent = recent.filter(({ to }) => to >= item.from);
    for (const part of outside(item, recent)) {
      kept.push(part);
      recent.push(part);
    }
  }
  return kept;
}

/** Whether all moments of both are evenly spaced. */
function staysEven(first: Span | null, second: Span | null): boolean {
  if (first === null || second === null) return true;
  const betweenMs = second.from - first.to;
  return [first, second].every(
    ({ from, to, count }) => count === 1 || (to - from) / (count - 1) === betweenMs,
  );
}
