export type LogBounds = { first: number; last: number; characters: number };

/** Lines of the run's own log, and characters of each half. What a suite prints is in an artifact as a whole. */
export const logBounds = {
  usual: { first: 400, last: 100, characters: 256 * 1024 },
  suite: { first: 2000, last: 500, characters: 256 * 1024 },
} as const satisfies { [kind: string]: LogBounds };
