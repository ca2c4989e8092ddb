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

/** What the page shows; there is one page, so there is one state. */
export const state = {
  page: 1,
  /** In lower case. */
  filter: '',
  checks: [] as ShownCheck[],
  /** When the checks were read, as the page shows it; null = not yet. */
  readAt: null as string | null,
  /** The check that is folded open, and what is known of its runs. */
  open: null as string | null,
  runs: [] as ListedResult[],
  suiteRuns: [] as SuiteRun[],
  running: [] as RunningRun[],
  /** The run whose details are folded open, and what is shown of it once it is read. */
  openRun: null as string | null,
  run: null as { id: string; content: HTMLElement[] } | null,
};

export function openCheck(id: string | null): void {
  Object.assign(state, { open: id, runs: [], suiteRuns: [], running: [], openRun: null, run: null });
}

let draw = (): void => undefined;

/** Names the function that draws the state. */
export function drawWith(given: () => void): void {
  draw = given;
}

/** Draws the page again after a change of the state. */
export function changed(): void {
  draw();
}
