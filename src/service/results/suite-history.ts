import { shortened } from '../../shortened.ts';
import type { SuiteTestRow } from './suite-statements.ts';

/** The history of each test of a suite, from the reports of its runs. Nothing in them is trusted. */

export const testStatuses = ['passed', 'degraded', 'failed', 'skipped'] as const;
type TestStatus = (typeof testStatuses)[number];

export type TestHistory = {
  title: string;
  flaky: boolean;
  /** Newest first. */
  runs: { resultId: string; startedAt: string; status: TestStatus; durationMs: number; retries: number }[];
};

const text = (value: unknown, max: number) => (typeof value === 'string' ? shortened(value, max) : '');
const number = (value: unknown) => (typeof value === 'number' && value > 0 ? value : 0);

/** The title of a test, by which its runs belong together: project, file, describe blocks, title. */
function titleOf({ project, titlePath, title }: SuiteTestRow['test']): string {
  const parts = Array.isArray(titlePath) ? titlePath.slice(0, 20).map((part) => text(part, 200)) : [];
  const path = parts.filter((part) => part !== '').join(' › ') || text(title, 500);
  const place = text(project, 100);
  return shortened((place === '' ? '' : `[${place}] `) + path, 500);
}

function statusOf({ status, degraded }: SuiteTestRow['test']): TestStatus {
  if (status === 'skipped') return 'skipped';
  if (status !== 'passed' && status !== 'flaky') return 'failed';
  return degraded === true || status === 'flaky' ? 'degraded' : 'passed';
}

/** Passed after a retry, or changed between passed and failed at least twice. Skipped runs say nothing. */
function isFlaky(runs: TestHistory['runs']): boolean {
  if (runs.some(({ retries, status }) => retries > 0 && (status === 'passed' || status === 'degraded')))
    return true;
  const failed = runs.filter(({ status }) => status !== 'skipped').map(({ status }) => status === 'failed');
  return failed.filter((value, at) => at > 0 && value !== failed[at - 1]).length >= 2;
}

const ranks: { readonly [S in TestStatus]: number } = { failed: 0, degraded: 1, passed: 2, skipped: 3 };

/** Groups rows, newest run first, by test. Tests that fail in their newest run come first. */
export function historyOf(rows: readonly SuiteTestRow[]): TestHistory[] {
  const runs = new Map<string, TestHistory['runs']>();
  for (const { resultId, startedAt, test } of rows) {
    const title = titleOf(test);
    const own = runs.get(title) ?? [];
    runs.set(title, own);
    // Two tests of one run may have the same title: the first one counts.
    if (own.at(-1)?.resultId === resultId) continue;
    own.push({
      resultId,
      startedAt: startedAt.toISOString(),
      status: statusOf(test),
      durationMs: number(test['durationMs']),
      retries: Math.trunc(number(test['retries'])),
    });
  }
  const rank = ({ runs: [newest] }: TestHistory) => (newest === undefined ? 3 : ranks[newest.status]);
  return [...runs]
    .map(([title, own]) => ({ title, flaky: isFlaky(own), runs: own }))
    .sort((a, b) => rank(a) - rank(b));
}
