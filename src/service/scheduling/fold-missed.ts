import type { ReasonCode } from '../../protocol/reasons.ts';
import type { OpenMissed } from './missed.ts';

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
 * spaced, because a run that takes place after all is cut out of it by its moment. After an edit of the schedule they are not.
 */
export function foldMissed(options: {
  open: OpenMissed | null;
  items: readonly Missed[];
  live: readonly Date[];
  stepMs: number;
}): Folded {
  const { open, live, stepMs } = options;
  const items = withoutOverlaps(options.items);
  const own = new Set(items.flatMap(({ from, count }) => (count === 1 ? [from] : [])));
  const going = live.map((at) => at.getTime()).filter((at) => !own.has(at));
  const isFreeBetween = (after: number, before: number) => !going.some((at) => after < at && at < before);

  const begin = open?.from.getTime() ?? -Infinity;
  const later = items.filter(({ to }) => to >= begin).sort((a, b) => a.from - b.from);
  // From the record backwards, so that each joins what is already there.
  const earlier = items.flatMap((item) => before(item, begin) ?? []).sort((a, b) => b.from - a.from);

  let record = open;
  // The new record that grows at the moment is the last of each list.
  const newer: Missed[] = [];
  for (const item of later) {
    const current = newer.at(-1);
    const last = current?.to ?? record?.to.getTime() ?? -Infinity;
    const rest = after(item, last);
    if (rest === null) continue;
    const isSame = (current?.code ?? record?.reason) === rest.code;
    const isEven = staysEven(current ?? spanOf(record), rest);
    const joins = isSame && isEven && rest.from - last <= stepMs && isFreeBetween(last, rest.from);
    if (joins && current !== undefined) {
      newer.splice(-1, 1, { ...current, to: rest.to, count: current.count + rest.count });
    } else if (joins && record !== null) {
      record = { ...record, to: new Date(rest.to), count: record.count + rest.count };
    } else newer.push(rest);
  }
  const older: Missed[] = [];
  for (const item of earlier) {
    const current = older.at(-1);
    const next = current?.from ?? record?.from.getTime() ?? Infinity;
    const isSame = (current?.code ?? record?.reason) === item.code;
    const isEven = staysEven(item, current ?? spanOf(record));
    const joins = isSame && isEven && next - item.to <= stepMs && isFreeBetween(item.to, next);
    if (joins && current !== undefined) {
      older.splice(-1, 1, { ...current, from: item.from, count: current.count + item.count });
    } else if (joins && record !== null) {
      record = { ...record, from: new Date(item.from), count: record.count + item.count };
    } else older.push(item);
  }
  const fresh = [...older, ...newer].map((item) => ({ item, isOpen: item === newer.at(-1) }));
  return { grown: record === open ? null : record, fresh };
}

/** The same moments, each in one item: two processes may report the same ones. */
function withoutOverlaps(items: readonly Missed[]): Missed[] {
  let last = -Infinity;
  return items
    .toSorted((a, b) => a.from - b.from)
    .flatMap((item) => {
      const rest = after(item, last);
      last = Math.max(last, item.to);
      return rest ?? [];
    });
}

/** The part of evenly spaced moments that is later than `last`; null = none. */
function after(item: Missed, last: number): Missed | null {
  if (item.from > last) return item;
  if (item.to <= last || item.count <= 1) return null;
  const stepMs = stepOf(item);
  const known = Math.floor((last - item.from) / stepMs) + 1;
  return { ...item, from: item.from + known * stepMs, count: item.count - known };
}

/** The part that is earlier than `first`. */
function before(item: Missed, first: number): Missed | null {
  if (item.to < first) return item;
  if (item.from >= first) return null;
  const stepMs = stepOf(item);
  const count = Math.ceil((first - item.from) / stepMs);
  return { ...item, to: item.from + (count - 1) * stepMs, count };
}

type Span = Pick<Missed, 'from' | 'to' | 'count'>;

const spanOf = (record: OpenMissed | null): Span | null =>
  record === null ? null : { from: record.from.getTime(), to: record.to.getTime(), count: record.count };

/** Whether all moments of both are evenly spaced. */
function staysEven(first: Span | null, second: Span | null): boolean {
  if (first === null || second === null) return true;
  const betweenMs = second.from - first.to;
  return [first, second].every((span) => span.count === 1 || stepOf(span) === betweenMs);
}

const stepOf = ({ from, to, count }: Span): number => (to - from) / (count - 1);
