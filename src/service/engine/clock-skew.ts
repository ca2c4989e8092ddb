/** Clocks of replicas, and corrections of one clock, differ by less: what is later than this from now was written by a wrong clock. */
export const clockSkewMs = 60_000;

/** The same in a statement. */
export const clockSkewSql = `interval '${clockSkewMs} milliseconds'`;
