/** Durations in milliseconds. A day is 24 hours; days of a calendar belong to their time zone. */

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
