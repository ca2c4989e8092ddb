import { reasonOf, type Reason } from '../../../protocol/reasons.ts';
import { tryKey, type ReadRun, type ReadTest, type ReadTry } from './lines.ts';
import type { ReadMarks } from './marks.ts';
import type { ProgramEnd } from '../place/place.ts';
import type { SuiteDetails, SuiteTest, SuiteTotals } from '../../interface/suite-run.ts';
import { shortened } from '../../../shortened.ts';

/** The outcome of a suite's tests, individually and together. */

export type JudgedTest = {
  test: ReadTest;
  status: SuiteTest['status'];
  degraded: boolean;
  /** Null = it never started. */
  last: ReadTry | null;
  /** The last try, or the one that failed. */
  errors: string[];
};

export type Verdict = {
  failure: Reason | null;
  degraded: { message: string } | null;
  runStatus: SuiteDetails['runStatus'];
  totals: SuiteTotals;
  /** Errors of the run itself. */
  errors: string[];
};

/** Number of run-level errors in the result, and characters of each. */
const maxErrors = 50;
const maxErrorLength = 4096;

/** The tests of all runs of one command: the last run that contains a test decides. */
export function judgedTests(runs: readonly ReadRun[], marks: ReadMarks): JudgedTest[] {
  const tests = new Map<string, ReadTest>();
  for (const run of runs) {
    if (run.mode === 'test') for (const [id, test] of run.tests) tests.set(id, test);
  }
  const marked = new Set(marks.degraded.map(({ test }) => test));
  return [...tests.values()].map((test) => judge(test, marks, marked));
}

function judge(test: ReadTest, marks: ReadMarks, marked: ReadonlySet<string | null>): JudgedTest {
  const last = test.tries.at(-1) ?? null;
  const judged: JudgedTest = {
    test,
    status: 'passed',
    degraded: false,
    last,
    errors: [],
  };
  if (last === null || last.status === null) return { ...judged, status: 'interrupted' };
  const isMarked = marked.has(tryKey(test.id, last.retry));
  const outcome = outcomeOf(test.tries, last.expectedStatus);
  if (outcome === 'skipped') {
    const cut = test.tries.every(({ status }) => status === 'interrupted');
    return { ...judged, status: cut ? 'interrupted' : 'skipped' };
  }
  if (outcome === 'expected') return { ...judged, degraded: isMarked };
  const failing = test.tries.findLast((each) => isFailure(each)) ?? last;
  if (outcome === 'flaky') return { ...judged, status: 'flaky', degraded: isMarked, errors: failing.errors };
  // Failed soft assertions are ignored if the test marks itself as degraded.
  const onlySoft =
    last.status === 'failed' &&
    last.expectedStatus === 'passed' &&
    last.errorCount > 0 &&
    (marks.soft.get(tryKey(test.id, last.retry)) ?? 0) >= last.errorCount;
  if (isMarked && onlySoft) return { ...judged, degraded: true, errors: last.errors };
  const status = failing.status === 'timedOut' ? 'timedOut' : 'failed';
  return { ...judged, status, errors: failing.errors };
}

/** Whether a try had another outcome than its test expects. */
export const isFailure = ({ status, expectedStatus }: ReadTry): boolean =>
  status !== null && status !== 'skipped' && status !== 'interrupted' && status !== expectedStatus;

/** Same as Playwright's `TestCase.outcome()`. */
function outcomeOf(
  tries: readonly ReadTry[],
  expectedStatus: string,
): 'skipped' | 'expected' | 'unexpected' | 'flaky' {
  const ended = tries.filter(({ status }) => status !== null && status !== 'interrupted');
  const skipped = ended.filter(({ status }) => status === 'skipped');
  const expected = ended.filter(({ status }) => status !== 'skipped' && status === expectedStatus);
  const unexpected = ended.length - skipped.length - expected.length;
  if (expected.length === 0 && unexpected === 0) return 'skipped';
  if (unexpected === 0) return 'expected';
  return expected.length === 0 && (skipped.length === 0 || expectedStatus !== 'skipped')
    ? 'unexpected'
    : 'flaky';
}

export function totalsOf(tests: readonly JudgedTest[]): SuiteTotals {
  const count = (status: SuiteTest['status']) => tests.filter((each) => each.status === status).length;
  return {
    tests: tests.length,
    passed: count('passed'),
    failed: count('failed'),
    flaky: count('flaky'),
    skipped: count('skipped'),
    timedOut: count('timedOut'),
    interrupted: count('interrupted'),
    degraded: tests.filter(({ degraded }) => degraded).length,
  };
}

/** `8 tests: 5 passed (1 degraded), 1 failed, 1 flaky, 1 skipped`. */
export function summaryOf(totals: SuiteTotals): string {
  const { tests, passed, degraded, failed, timedOut, flaky, skipped, interrupted } = totals;
  const parts = [
    `${passed} passed${degraded === 0 ? '' : ` (${degraded} degraded)`}`,
    `${failed + timedOut} failed`,
    ...(flaky === 0 ? [] : [`${flaky} flaky`]),
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
    ...(interrupted === 0 ? [] : [`${interrupted} did not finish`]),
  ];
  return `${tests} ${tests === 1 ? 'test' : 'tests'}: ${parts.join(', ')}`;
}

/** The outcome of a command with these runs. `lastLines` = the last lines that it printed. */
export function verdictOf(options: {
  runs: readonly ReadRun[];
  tests: readonly JudgedTest[];
  marks: ReadMarks;
  end: Pick<ProgramEnd, 'code' | 'signal' | 'exceeded'>;
  lastLines: readonly string[];
}): Verdict {
  const { tests, marks } = options;
  const runs = options.runs.filter(({ mode }) => mode === 'test');
  const errors = [...new Set(runs.flatMap((run) => run.errors))]
    .slice(0, maxErrors)
    .map((text) => shortened(text, maxErrorLength));
  const failure = failureOf({ ...options, runs, errors });
  const degraded = tests.filter((each) => each.degraded);
  const reasons = new Set(
    marks.degraded
      .filter(({ test }) => degraded.some(({ test: { id }, last }) => test === tryKey(id, last?.retry ?? 0)))
      .map(({ reason }) => reason)
      .filter((reason) => reason !== ''),
  );
  const message = shortened([...reasons].join('; '), 4095);
  return {
    failure,
    degraded:
      failure !== null || degraded.length === 0
        ? null
        : { message: message === '' ? 'a test marked the check as degraded' : message },
    runStatus: runStatusOf(runs, failure),
    totals: totalsOf(tests),
    errors,
  };
}

function runStatusOf(runs: readonly ReadRun[], failure: Reason | null): SuiteDetails['runStatus'] {
  const statuses = new Set(runs.map(({ status }) => status));
  if (statuses.size === 0) return null;
  if (statuses.has('timedout')) return 'timedout';
  if (statuses.has(null) || statuses.has('interrupted')) return 'interrupted';
  return failure === null ? 'passed' : 'failed';
}

type Given = {
  runs: readonly ReadRun[];
  tests: readonly JudgedTest[];
  errors: readonly string[];
  end: Pick<ProgramEnd, 'code' | 'signal' | 'exceeded'>;
  lastLines: readonly string[];
};

function failureOf(given: Given): Reason | null {
  const { runs, tests, errors, end, lastLines } = given;
  const timedOut = runs.find(({ status }) => status === 'timedout');
  if (timedOut !== undefined) {
    return reasonOf(
      'SCRIPT_TIMEOUT',
      `Timed out waiting ${timedOut.globalTimeout}ms from config.globalTimeout.`,
    );
  }
  const failed = tests.filter(({ status }) => status === 'failed' || status === 'timedOut');
  const [first] = failed;
  if (first !== undefined) {
    const line = firstLine(first.errors[0] ?? first.status);
    const count = `${failed.length} of ${tests.length} ${tests.length === 1 ? 'test' : 'tests'} failed`;
    return reasonOf('TEST_FAILED', `${count}: ${first.test.titlePath.slice(1).join(' › ')}: ${line}`);
  }
  const error = errors.find((text) => text.trim() !== '');
  if (error !== undefined) {
    if (/^(Error: )?No tests found/.test(error)) {
      return reasonOf(
        'SCRIPT_INVALID',
        'No tests found: compare projects, tags and the test command of the check with the tests in its bundle',
      );
    }
    return reasonOf('SCRIPT_THREW', firstLine(error));
  }
  const cut = runs.some(({ status }) => status === null || status === 'interrupted');
  if (end.exceeded !== null || end.signal !== null) {
    const why =
      end.exceeded === null ? `by ${end.signal}` : `because it used more ${end.exceeded} than allowed`;
    return reasonOf('SCRIPT_KILLED', `the test command was killed ${why}`);
  }
  const began = runs.some(({ playwrightVersion }) => playwrightVersion !== '');
  if (!began) {
    if (end.code === 0) {
      return reasonOf(
        'SCRIPT_INVALID',
        'the test command ran no Playwright tests: it must call `playwright test`, directly or through a package.json script',
      );
    }
    const errorLine = lastLines.find((line) => /^\s*(?:(?:\[?[A-Z]\w*)?Error\b|error:).*\S/.test(line));
    if (errorLine !== undefined && end.code !== null) return reasonOf('SCRIPT_THREW', firstLine(errorLine));
  }
  if (cut && tests.some(({ status }) => status === 'interrupted')) {
    const left = tests.filter(({ status }) => status === 'interrupted').length;
    return reasonOf(
      'SCRIPT_THREW',
      `the run was interrupted: ${left} of ${tests.length} tests did not finish`,
    );
  }
  if (end.code === 0) return null;
  // Playwright counts failed soft assertions as failures, even if a test marks itself as degraded.
  if (end.code === 1 && tests.some(({ degraded, errors: own }) => degraded && own.length > 0)) return null;
  const printed = lastLines.slice(-5).map((line) => shortened(line.trim(), 300));
  return reasonOf(
    'SCRIPT_THREW',
    `the test command exited with code ${end.code}${printed.length === 0 ? '' : `: ${printed.join(' | ')}`}`,
  );
}

function firstLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return shortened(lines.find((line) => line !== '') ?? 'unknown error', 1000);
}
