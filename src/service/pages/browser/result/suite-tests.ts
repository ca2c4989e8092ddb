import { count, list, text, type Fields } from '../base/outside.ts';

/** Shows one test of a Playwright suite. */

/** The colour of a test's line. */
export function suiteTestStatus({ status, degraded }: Fields): 'passed' | 'degraded' | 'failed' | 'idle' {
  if (status === 'skipped') return 'idle';
  if (status !== 'passed' && status !== 'flaky') return 'failed';
  return degraded === true || status === 'flaky' ? 'degraded' : 'passed';
}

/** Project, file, describe blocks, title. */
export function suiteTestTitle({ titlePath, title, project }: Fields): string {
  const path = list(titlePath)
    .slice(0, 20)
    .map((part) => text(part, 200))
    .filter(Boolean);
  const place = text(project, 100);
  return text((place === '' ? '' : `[${place}] `) + (path.length > 0 ? path.join(' › ') : text(title)), 500);
}

/** Sorts failed tests first, then degraded ones. */
export const suiteTestRank = (test: Fields): number =>
  ({ failed: 0, degraded: 1, passed: 2, idle: 3 })[suiteTestStatus(test)];

export function suiteTestState({ status, degraded, retries }: Fields): string {
  const again = count(retries);
  return [
    text(status, 40),
    degraded === true ? 'degraded' : '',
    again > 0 ? `${again} ${again === 1 ? 'retry' : 'retries'}` : '',
  ]
    .filter(Boolean)
    .join(', ');
}
