import type { RunningRun, ShownCheck, SuiteRun } from '../../page-data.ts';

/** A result in the public API's lists, as far as the page reads it. */
export type ListedResult = {
  id: string;
  resultType: 'FINAL' | 'ATTEMPT';
  status: string;
  reason: { message: string } | null;
  runLocation: string;
  responseTime: number;
  startedAt: string;
};

/** The state of the page; there is one page, so there is one state. */
export const state = {
  page: 1,
  /** In lower case. */
  filter: '',
  checks: [] as ShownCheck[],
  /** When the checks were read, as the page shows it; null = not yet. */
  readAt: null as string | null,
  /** The expanded check, and its runs as far as they have been read. */
  open: null as string | null,
  runs: [] as ListedResult[],
  suiteRuns: [] as SuiteRun[],
  running: [] as RunningRun[],
  /** The run whose details are expanded, and its view once it has been read. */
  openRun: null as string | null,
  run: null as { id: string; content: HTMLElement[] } | null,
};

export function openCheck(id: string | null): void {
  Object.assign(state, { open: id, runs: [], suiteRuns: [], running: [], openRun: null, run: null });
}

let draw = (): void => undefined;

/** Sets the function that draws the state. */
export function drawWith(given: () => void): void {
  draw = given;
}

/** Redraws the page after a change of the state. */
export function changed(): void {
  draw();
}
