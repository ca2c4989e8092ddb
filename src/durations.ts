/** Durations in milliseconds. A day is 24 hours; calendar days depend on their time zone. */

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
