import Type from 'typebox';
import { badRequest } from './errors.ts';

/** A stretch of time in a query, as Unix seconds. */

const UnixSeconds = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 253_402_300_799, description }));

export const unixRangeFields = {
  from: UnixSeconds('Unix seconds, inclusive.'),
  to: UnixSeconds('Unix seconds, exclusive.'),
};

/** Reads the stretch; a limit that is left out does not limit. Throws 400 if it ends before it begins. */
export function unixRange({ from, to }: { from?: number; to?: number }): {
  from: Date | null;
  to: Date | null;
} {
  if (from !== undefined && to !== undefined && from >= to) throw badRequest({ from: ['must be before to'] });
  const date = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000));
  return { from: date(from), to: date(to) };
}
