/**
 * Which moments a record of missed runs has: pure functions. Two records of one check may overlap in time: an agent that does
 * not know of an edit of the schedule reports moments of the former one.
 */

/** Due moments of one check at one location, milliseconds since the epoch. */
export type Span = { from: number; to: number; count: number };

/** Intervals are whole seconds. A mean distance that is not comes from a gap. */
const secondMs = 1_000;

/** Milliseconds between two moments, 0 if there is only one; null = they are not evenly spaced. */
export function stepOf({ from, to, count }: Span): number | null {
  if (count <= 2) return to - from;
  const stepMs = (to - from) / (count - 1);
  return stepMs > 0 && stepMs % secondMs === 0 ? stepMs : null;
}

const isWithin = ({ from, to }: Span, at: number) => from <= at && at <= to;

/** Whether a moment is one of the record's. If those are not evenly spaced, each between its ends counts. */
export function hasMoment(span: Span, at: number): boolean {
  const stepMs = stepOf(span);
  return isWithin(span, at) && (stepMs === null || at === span.from || (at - span.from) % stepMs === 0);
}

/** The moments of a stored record. */
export const spanOf = ({ from, to, count }: { from: Date; to: Date; count: number }): Span => ({
  from: from.getTime(),
  to: to.getTime(),
  count,
});

/** Evenly spaced moments without those for which `isLeftOut`: the parts that are left. */
export function partsOf<Part extends Span>(span: Part, isLeftOut: (at: number) => boolean): Part[] {
  const stepMs = span.count > 1 ? (span.to - span.from) / (span.count - 1) : 0;
  const parts: Part[] = [];
  let part: Part | null = null;
  for (let index = 0; index < span.count; index++) {
    const at = span.from + index * stepMs;
    if (isLeftOut(at)) part = null;
    else if (part === null) parts.push((part = { ...span, from: at, to: at, count: 1 }));
    else {
      part.to = at;
      part.count += 1;
    }
  }
  return parts;
}

/** The parts of a record whose moments none of the others has. Moments that are not evenly spaced are left whole or out. */
export function outside<Part extends Span>(span: Part, others: readonly Span[]): Part[] {
  const near = others.filter(({ from, to }) => from <= span.to && to >= span.from);
  if (near.length === 0) return [span];
  if (stepOf(span) !== null) return partsOf(span, (at) => near.some((other) => hasMoment(other, at)));
  return near.some((other) => isWithin(other, span.from) && isWithin(other, span.to)) ? [] : [span];
}
