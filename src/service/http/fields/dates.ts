import Type from 'typebox';

/**
 * Moments in answers. `created_at` and `updated_at`, which the specification calls dates, are days. Dates that begin
 * or end something (`startsAt`, `firstSeen`, `from`) include the time.
 */
export const date = Type.String({ format: 'date' });
export const dateTime = Type.String({ format: 'date-time' });

/** The day of a moment in UTC: `2026-03-04`. */
export function dayOf(at: Date): string;
export function dayOf(at: Date | null): string | null;
export function dayOf(at: Date | null): string | null {
  return at?.toISOString().slice(0, 10) ?? null;
}
