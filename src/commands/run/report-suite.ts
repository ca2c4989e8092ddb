import { errorLines, list, milliseconds, oneLine, texts } from './report-script.ts';
import { isFields, type Fields } from '../../json-values.ts';

/** The terminal report of a Playwright suite's result: test counts, failed tests, durations. */

const maxFailed = 50;
const maxOthers = 100;
const counted: readonly (readonly [field: string, words: string, always: boolean])[] = [
  ['passed', 'passed', true],
  ['degraded', 'degraded', true],
  ['failed', 'failed', true],
  ['flaky', 'flaky', true],
  ['timedOut', 'timed out', false],
  ['skipped', 'skipped', false],
  ['interrupted', 'interrupted', false],
];
/** Statuses in the order of the report: those with errors first. */
const marks: readonly (readonly [status: string, mark: string])[] = [
  ['failed', 'FAILED'],
  ['timedOut', 'TIMEOUT'],
  ['interrupted', 'CUT OFF'],
  ['flaky', 'flaky'],
  ['passed', 'ok'],
  ['skipped', 'skip'],
];

/**
 * Blocks of lines; `shownError` is an error that the report has already shown. The log is not included: `run` prints it live,
 * and it is among the files.
 */
export function suiteSections(details: Fields, shownError: string | null): string[][] {
  const tests = list(details['tests']);
  const of = (status: string) => tests.filter((test) => test['status'] === status);
  const [failed, others] = [marks.slice(0, 3), marks.slice(3)].map((some) =>
    some.flatMap(([status, mark]) => of(status).map((test) => ({ test, mark }))),
  );
  const leftOut = Number(details['testsLeftOut'] ?? 0);
  const notShown =
    leftOut + Math.max(0, (failed?.length ?? 0) - maxFailed) + Math.max(0, (others?.length ?? 0) - maxOthers);
  return [
    [...totalsLine(details['totals']), ...toolsLine(details)],
    texts(details['errors'])
      .filter((text) => text !== shownError)
      .slice(0, 10)
      .flatMap(errorLines),
    ...(failed ?? [])
      .slice(0, maxFailed)
      .map(({ test, mark }) => [
        testLine(test, mark),
        ...texts(test['errors']).slice(0, 5).flatMap(errorLines),
      ]),
    [
      ...(others ?? []).slice(0, maxOthers).map(({ test, mark }) => testLine(test, mark)),
      ...(notShown > 0 ? [`and ${notShown} more tests: see the saved report`] : []),
    ],
    list(details['stages']).map(stageLine),
  ];
}

function totalsLine(totals: unknown): string[] {
  if (!isFields(totals) || totals['tests'] === 0) return [];
  const parts = counted.flatMap(([field, words, always]) => {
    const count = Number(totals[field] ?? 0);
    return always || count > 0 ? [`${count} ${words}`] : [];
  });
  const tests = Number(totals['tests'] ?? 0);
  return [`${tests} ${tests === 1 ? 'test' : 'tests'}: ${parts.join(', ')}`];
}

const cacheWords: { readonly [state: string]: string } = {
  hit: 'dependencies from the cache',
  miss: 'dependencies installed',
  refreshed: 'dependencies installed again',
  off: 'dependencies installed (cache disabled)',
};

function toolsLine(details: Fields): string[] {
  const named = (value: unknown): string[] =>
    isFields(value)
      ? [[value['name'], value['version']].filter((part) => typeof part === 'string').join(' ')]
      : [];
  const playwright = details['playwrightVersion'];
  const cache = cacheWords[String(details['dependencyCache'])];
  const parts = [
    ...(typeof playwright === 'string' ? [`Playwright ${playwright}`] : []),
    ...named(details['engine']),
    ...named(details['packageManager']),
    ...(cache === undefined ? [] : [cache]),
  ];
  return parts.length === 0 ? [] : [oneLine(parts.join(', '))];
}

function testLine(test: Fields, mark: string): string {
  const project = test['project'];
  const title = texts(test['titlePath']).join(' › ') || String(test['title']);
  const retries = Number(test['retries'] ?? 0);
  const words = [
    test['degraded'] === true ? 'DEGR' : mark,
    ...(typeof project === 'string' && project !== '' ? [`[${project}]`] : []),
    title,
  ];
  const [first = '', ...rest] = words;
  const tries = retries === 0 ? '' : `  after ${retries} ${retries === 1 ? 'retry' : 'retries'}`;
  return `${first.padEnd(7)} ${oneLine(rest.join(' '))}  ${milliseconds(test['durationMs'])}${tries}`;
}

function stageLine(stage: Fields): string {
  const seconds = Number(stage['durationMs'] ?? 0) / 1000;
  return `${oneLine(String(stage['name'])).padEnd(12)}${seconds.toFixed(1).padStart(9)} s`;
}
