export type LogBounds = { first: number; last: number; characters: number };

/**
 * Limits of a run's log: lines, and characters of its first and last halves. The complete output of a suite is an
 * artifact.
 */
export const logBounds = {
  usual: { first: 400, last: 100, characters: 256 * 1024 },
  suite: { first: 2000, last: 500, characters: 256 * 1024 },
} as const satisfies { [kind: string]: LogBounds };
