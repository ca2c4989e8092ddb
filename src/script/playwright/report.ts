import { join, relative } from 'node:path';
import type { ScriptType } from '../../protocol/check-types.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import { bounds } from '../child/capture/format.ts';
import { callsWithSteps, readCapture, tryKey, type Capture } from './capture.ts';
import { attachedFile, picturesBelow, readOwnFile, type KeptFile } from './files.ts';
import type { PlaywrightRun, StepRun, TestRun } from '../interface/playwright-run.ts';
import { scriptTypeRows } from '../child/script-types.ts';
import { amountOf, listOf, textOf, textsOf } from '../process/unchecked.ts';
import { fieldsOf, parsedJson } from '../../json-values.ts';
import { shortened } from '../../shortened.ts';

export type ReportOptions = {
  checkType: ScriptType;
  runtimeVersion: string;
  playwrightVersion: string;
  /** The folder of the run's files, and its path during the run. Only files below it are taken. */
  folder: string;
  originalFolder: string;
  scriptFolder: string;
  outputFolder: string;
  captureFolder: string;
  /** The output of our reporter and of Playwright's JSON reporter. */
  reporterFile: string;
  jsonReport: string;
  /** Milliseconds since the epoch. */
  startTime: number;
};

/** Many times the size of an ordinary report, but limited, because it is read on the machine that measures checks. */
const reportBytes = 16 * 1024 * 1024;

/**
 * Reads the files that a run left on disk. The script could have written all of them, so they are checked and bounded;
 * it never throws. Null = there is no complete report: the processes exited early.
 */
export async function readPlaywrightReport(options: ReportOptions): Promise<PlaywrightRun | null> {
  const text = await readOwnFile(options.reporterFile, reportBytes);
  if (text === null) return null;
  const capture = await readCapture(options.captureFolder);
  const report = fieldsOf(parsedJson(text));
  if (report['version'] !== 1) {
    const failure = reasonOf('SCRIPT_INVALID', "the run's report is damaged: the script wrote over it");
    return runOf(options, { failure, capture });
  }
  if (report['complete'] !== true) return null;

  const budget: Budget = { steps: bounds.steps, errorText: 128 * 1024 };
  const given = listOf(report['tests'], bounds.tests).map((each) => testOf(each, options, budget));
  const runErrors = textsOf(report['errors'], bounds.errors, bounds.errorText);
  const verdict = judge(given, runErrors, report['began'] === true, capture);
  const files = await keptFiles(given, options);
  const starts = given.map(({ startTime }) => startTime);
  const ends = given.map(({ startTime, run }) => startTime + run.durationMs);
  const startTime = amountOf(report['startTime']) || options.startTime;
  const endTime = Math.max(startTime, amountOf(report['endTime']));
  const durationMs = given.length === 0 ? endTime - startTime : Math.max(...ends) - Math.min(...starts);
  return runOf(options, { ...verdict, capture, files, startTime, endTime, durationMs, given, runErrors });
}

type GivenTest = {
  id: string;
  retry: number;
  ok: boolean;
  timedOut: boolean;
  errorCount: number;
  startTime: number;
  attachments: { name: string; path: string; contentType: string }[];
  run: TestRun;
};

/** Limits for all tests of a run together: steps, and characters of errors. */
type Budget = { steps: number; errorText: number };

function testOf(value: unknown, options: ReportOptions, budget: Budget): GivenTest {
  const test = fieldsOf(value);
  const error = (text: string): string => {
    const kept = shortened(text, Math.max(0, budget.errorText));
    budget.errorText -= kept.length;
    return kept;
  };
  // Before those of steps, which are the same.
  const errors = textsOf(test['errors'], bounds.errors, bounds.errorText).map(error);
  const stepsOf = (steps: unknown, depth: number): StepRun[] =>
    depth > bounds.stepDepth
      ? []
      : listOf(steps, bounds.steps).flatMap((each) => {
          if (budget.steps-- <= 0) return [];
          const step = fieldsOf(each);
          return [
            {
              title: textOf(step['title'], bounds.title),
              category: textOf(step['category'], 100),
              startTime: amountOf(step['startTime']),
              durationMs: amountOf(step['durationMs']),
              error:
                typeof step['error'] === 'string' ? error(textOf(step['error'], bounds.shortText)) : null,
              steps: stepsOf(step['steps'], depth + 1),
            },
          ];
        });
  const ok = test['ok'] === true;
  const status = test['status'];
  return {
    id: textOf(test['id'], 200),
    retry: amountOf(test['retry']),
    ok,
    timedOut: status === 'timedOut' || status === 'interrupted' || test['expectedStatus'] !== 'passed',
    errorCount: amountOf(test['errorCount']),
    startTime: amountOf(test['startTime']),
    attachments: listOf(test['attachments'], bounds.attachments).map((each) => {
      const { name, path, contentType } = fieldsOf(each);
      return {
        name: textOf(name, bounds.title),
        // The folder has since been moved.
        path: join(options.folder, relative(options.originalFolder, textOf(path, 4096))),
        contentType: textOf(contentType, 200),
      };
    }),
    run: {
      title: textOf(test['title'], bounds.title),
      titlePath: textsOf(test['titlePath'], 50, bounds.title),
      status: ok
        ? status === 'skipped'
          ? 'skipped'
          : 'passed'
        : status === 'timedOut' || status === 'interrupted'
          ? status
          : 'failed',
      degraded: false,
      durationMs: amountOf(test['durationMs']),
      errors,
      steps: stepsOf(test['steps'], 1),
    },
  };
}

type Verdict = { failure: Reason | null; degraded: PlaywrightRun['degraded'] };

/**
 * Degraded: the script marked itself so, and nothing failed hard. Failed soft assertions are then ignored; otherwise
 * they fail the check. Changes the tests' own status and mark accordingly.
 */
function judge(given: GivenTest[], runErrors: string[], began: boolean, capture: Capture): Verdict {
  const onlySoft = (test: GivenTest) =>
    !test.ok &&
    !test.timedOut &&
    test.errorCount > 0 &&
    (capture.softFailures.get(tryKey(test)) ?? 0) >= test.errorCount;
  const keys = new Set(given.map(tryKey));
  const marks = capture.marks.filter(({ test }) => test === null || keys.has(test));
  const failed = given.filter(({ ok }) => !ok);
  const isDegraded = marks.length > 0 && runErrors.length === 0 && failed.every(onlySoft);
  if (isDegraded) {
    for (const test of given) {
      test.run.degraded = !test.ok || marks.some((mark) => mark.test === tryKey(test));
      if (!test.ok) test.run.status = 'passed';
    }
    const message = [...new Set(marks.map(({ reason }) => reason).filter((reason) => reason !== ''))].join(
      '; ',
    );
    return {
      failure: given.length === 0 ? noTests : null,
      degraded: {
        message: message === '' ? 'the script marked the check as degraded' : shortened(message, 4095),
      },
    };
  }
  return { failure: failureOf(given, runErrors, began), degraded: null };
}

const noTests = reasonOf(
  'SCRIPT_INVALID',
  "the script has no tests: add a test('title', async ({ page }) => { … }) from @playwright/test",
);

function failureOf(given: readonly GivenTest[], runErrors: string[], began: boolean): Reason | null {
  const failed = given.filter(({ ok }) => !ok);
  const [first] = failed;
  if (first !== undefined) {
    const line = firstLine(first.run.errors[0] ?? first.run.status);
    return reasonOf(
      'TEST_FAILED',
      `${failed.length} of ${given.length} ${given.length === 1 ? 'test' : 'tests'} failed: ${first.run.title}: ${line}`,
    );
  }
  const error = runErrors[0];
  if (error === undefined) return given.length === 0 ? noTests : null;
  if (/^(Error: )?No tests found/.test(error)) return noTests;
  const line = firstLine(error);
  if (/^Timed out waiting .*(test|teardown)/.test(line)) return reasonOf('SCRIPT_TIMEOUT', line);
  const invalid =
    !began &&
    /^(SyntaxError\b|Error: Cannot find (module|package)|Error: Requiring )|Cannot use import statement|Unexpected token/.test(
      line,
    );
  return reasonOf(invalid ? 'SCRIPT_INVALID' : 'SCRIPT_THREW', line);
}

function firstLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return shortened(lines.find((line) => line !== '') ?? 'unknown error', 1000);
}

async function keptFiles(given: readonly GivenTest[], options: ReportOptions): Promise<KeptFile[]> {
  const attached = given.flatMap(({ attachments }) => attachments).slice(0, bounds.attachments);
  const files: KeptFile[] = [];
  const add = (file: KeptFile | null) => {
    if (file !== null && files.every(({ path }) => path !== file.path)) files.push(file);
  };
  for (const attachment of attached) add(await attachedFile(attachment, options));
  (await picturesBelow(options.scriptFolder, options.folder)).forEach(add);
  const report = await attachedFile(
    { path: options.jsonReport, name: 'report', contentType: 'application/json' },
    options,
  );
  if (report !== null) files.push({ ...report, type: 'report' });
  return files;
}

type Parts = {
  failure: Reason | null;
  capture: Capture;
  degraded?: PlaywrightRun['degraded'];
  files?: KeptFile[];
  startTime?: number;
  endTime?: number;
  durationMs?: number;
  given?: GivenTest[];
  runErrors?: string[];
};

function runOf(options: ReportOptions, parts: Parts): PlaywrightRun {
  const { capture, failure, given = [], runErrors = [] } = parts;
  const startTime = parts.startTime ?? options.startTime;
  const reported = [...runErrors, ...given.flatMap(({ ok, run }) => (ok ? [] : run.errors))];
  const errors = failure === null || reported.length > 0 ? reported : [failure.message];
  const own = scriptTypeRows[options.checkType];
  const apiCalls = callsWithSteps(
    capture.calls,
    given.map(({ id, retry, run }) => ({ id, retry, steps: run.steps })),
  );
  return {
    failure,
    degraded: parts.degraded ?? null,
    durationMs: Math.max(0, parts.durationMs ?? 0),
    details: {
      runtimeVersion: options.runtimeVersion,
      playwrightVersion: options.playwrightVersion,
      startTime,
      endTime: parts.endTime ?? startTime,
      errors: errors.slice(0, 50),
      tests: given.map(({ run }) => run),
      ...(own.visitsPages
        ? {
            pages: capture.visits,
            traceSummary: { ...capture.counts, userScriptErrors: errors.length },
          }
        : {}),
      ...(own.listsApiCalls || apiCalls.length > 0 ? { apiCalls } : {}),
    },
    files: parts.files ?? [],
  };
}
