/**
 * Replicas' clocks, and corrections of one clock, differ by less than this. A time further in the future was written
 * by a wrong clock.
 */
export const clockSkewMs = 60_000;

/** The same in SQL. */
export const clockSkewSql = `interval '${clockSkewMs} milliseconds'`;
