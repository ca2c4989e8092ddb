import type { ResultStatus } from '../../protocol/result.ts';

/** Rules that select the checks of a trigger and derive a session's status from its runs (facts, 5.5 and 5.6). Pure. */

/** Absent fields and empty lists restrict nothing; all that are given must match. */
export type Target = {
  /** Matches if any of the outer lists matches; all tags of a list must match. `!tag` = must not have it. */
  matchTags?: readonly (readonly string[])[];
  checkId?: readonly string[];
  groupId?: number;
};

/** Whether a target includes a check with these tags (its own and its group's). */
export function matchesTags(tags: readonly string[], matchTags: Target['matchTags']): boolean {
  if (matchTags === undefined || matchTags.length === 0) return true;
  const has = new Set(tags);
  return matchTags.some((all) =>
    all.every((tag) => (tag.startsWith('!') ? !has.has(tag.slice(1)) : has.has(tag))),
  );
}

/** Ids to which a target restricts the checks; null = no restriction. */
export function idsOfTarget({ checkId }: Target): readonly string[] | null {
  return checkId === undefined || checkId.length === 0 ? null : checkId;
}

/** The fields of a run that decide about its session's status. */
export type RunState = { status: ResultStatus | null; state: string | null };

export const finalCheckStatuses = ['PASSED', 'FAILED', 'DEGRADED', 'TIMED_OUT', 'CANCELLED'] as const;
export const checkStatuses = [
  'STARTED',
  'PROGRESS',
  'PROGRESS_FAILED',
  'PROGRESS_DEGRADED',
  ...finalCheckStatuses,
] as const;
export type CheckSessionStatus = (typeof checkStatuses)[number];

export const testStatuses = ['RUNNING', 'PASSED', 'FAILED', 'CANCELLED'] as const;
export type TestSessionStatus = (typeof testStatuses)[number];

const isBad = (status: ResultStatus | null) => status === 'failed' || status === 'errored';

export const isOver = (runs: readonly RunState[]): boolean => runs.every(({ status }) => status !== null);

/**
 * One cancelled run makes a session CANCELLED. A run that never took place makes it TIMED_OUT, unless another failed.
 */
export function checkSessionStatus(runs: readonly RunState[]): CheckSessionStatus {
  const some = (is: (run: RunState) => boolean) => runs.some(is);
  const failed = some(({ status }) => isBad(status));
  const degraded = some(({ status }) => status === 'degraded');
  if (!isOver(runs)) {
    if (failed) return 'PROGRESS_FAILED';
    if (degraded) return 'PROGRESS_DEGRADED';
    return some(({ status, state }) => status !== null || state === 'leased') ? 'PROGRESS' : 'STARTED';
  }
  if (some(({ status }) => status === 'cancelled')) return 'CANCELLED';
  if (failed) return 'FAILED';
  if (some(({ status }) => status === 'missed')) return 'TIMED_OUT';
  return degraded ? 'DEGRADED' : 'PASSED';
}

/** A run that never took place fails a test session, because the check was not tested. */
export function testSessionStatus(runs: readonly RunState[]): TestSessionStatus {
  const status = checkSessionStatus(runs);
  if (!isOver(runs)) return 'RUNNING';
  if (status === 'CANCELLED') return status;
  return status === 'PASSED' || status === 'DEGRADED' ? 'PASSED' : 'FAILED';
}

/** Statuses of check sessions that correspond to this status of a test session. */
export const checkStatusesOf: { readonly [S in TestSessionStatus]: readonly CheckSessionStatus[] } = {
  RUNNING: ['STARTED', 'PROGRESS', 'PROGRESS_FAILED', 'PROGRESS_DEGRADED'],
  PASSED: ['PASSED', 'DEGRADED'],
  FAILED: ['FAILED', 'TIMED_OUT'],
  CANCELLED: ['CANCELLED'],
};

/** The last of `lines` that fit into limits on their number and their total characters. */
export function lastLines(lines: readonly string[], max: { lines: number; chars: number }): string[] {
  let from = lines.length;
  let chars = 0;
  while (from > 0 && lines.length - from < max.lines) {
    chars += (lines[from - 1]?.length ?? 0) + 1;
    if (chars > max.chars) break;
    from -= 1;
  }
  return lines.slice(from);
}
