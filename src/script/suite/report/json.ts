import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { ReadTest, ReadTry } from './lines.ts';
import type { JudgedTest, Verdict } from './verdict.ts';

/**
 * The JSON report of a suite: Playwright's own with our block added, or, for a run that was cut off, a report in the
 * same format.
 */

type ServiceBlock = Pick<Verdict, 'runStatus' | 'totals' | 'degraded'>;

/**
 * Adds our block as `_service` to the end of a report that Playwright wrote. It does not read the whole report, which
 * may be large. A file that does not end like an object is left unchanged.
 */
export async function addServiceBlock(path: string, block: ServiceBlock): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    const { size } = await file.stat();
    const tail = Buffer.alloc(Math.min(size, 64));
    await file.read(tail, 0, tail.length, size - tail.length);
    const brace = /\}\s*$/.exec(tail.toString('latin1'));
    if (brace === null || size < 3) return;
    const end = size - tail.length + brace.index;
    const text = Buffer.from(`,\n  "_service": ${JSON.stringify(serviceBlock(block))}\n}\n`);
    await file.write(text, 0, text.length, end);
    await file.truncate(end + text.length);
  } finally {
    await file.close();
  }
}

const serviceBlock = ({ runStatus, totals, degraded }: ServiceBlock) => ({
  status: runStatus,
  degraded: degraded?.message ?? null,
  totals,
});

type Suite = {
  title: string;
  file: string;
  line: number;
  column: number;
  specs: unknown[];
  suites: Suite[];
};

/** A report in the format of Playwright's JSON reporter, from the lines that were written until the run was cut off. */
export function jsonReportOf(options: {
  tests: readonly JudgedTest[];
  /** Relative, as reports have it. */
  fileOf: (test: ReadTest) => string;
  errors: readonly string[];
  startTime: number;
  block: ServiceBlock;
}): string {
  const { tests, fileOf, block } = options;
  const roots: Suite[] = [];
  for (const judged of tests) {
    const { test } = judged;
    const file = fileOf(test);
    const [first = file, ...describes] = test.titlePath.slice(0, -1);
    let suite = suiteIn(roots, first, file, 0);
    for (const title of describes) suite = suiteIn(suite.suites, title, file, test.line);
    suite.specs.push(specOf(judged, file));
  }
  const count = (status: string) => tests.filter((each) => outcomeOf(each) === status).length;
  const report = {
    config: {},
    suites: roots,
    errors: options.errors.map((message) => ({ message })),
    stats: {
      startTime: timeOf(options.startTime),
      duration: 0,
      expected: count('expected'),
      skipped: count('skipped'),
      unexpected: count('unexpected'),
      flaky: count('flaky'),
    },
    _service: serviceBlock(block),
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

function suiteIn(suites: Suite[], title: string, file: string, line: number): Suite {
  const last = suites.findLast((each) => each.title === title && each.file === file);
  if (last !== undefined) return last;
  const suite: Suite = { title, file, line, column: 0, specs: [], suites: [] };
  suites.push(suite);
  return suite;
}

function outcomeOf({ status }: JudgedTest): 'expected' | 'unexpected' | 'flaky' | 'skipped' {
  if (status === 'passed') return 'expected';
  if (status === 'flaky') return 'flaky';
  return status === 'skipped' || status === 'interrupted' ? 'skipped' : 'unexpected';
}

function specOf(judged: JudgedTest, file: string): unknown {
  const { test, last } = judged;
  const outcome = outcomeOf(judged);
  return {
    title: test.title,
    ok: outcome !== 'unexpected',
    tags: test.tags.map((tag) => tag.replace(/^@/, '')),
    tests: [
      {
        timeout: 0,
        annotations: [],
        expectedStatus: last?.expectedStatus ?? 'passed',
        projectId: test.project,
        projectName: test.project,
        // A try that was cut off, or never started, has none.
        results: test.tries.filter(({ status }) => status !== null).map((each) => resultOf(each)),
        status: outcome,
      },
    ],
    id: test.id,
    file,
    line: test.line,
    column: 0,
  };
}

function resultOf(each: ReadTry): unknown {
  return {
    workerIndex: 0,
    parallelIndex: 0,
    status: each.status,
    duration: each.durationMs,
    errors: each.errors.map((message) => ({ message })),
    ...(each.errors[0] === undefined ? {} : { error: { message: each.errors[0] } }),
    stdout: [],
    stderr: [],
    retry: each.retry,
    startTime: timeOf(each.startTime),
    annotations: [],
    attachments: each.attachments.map(({ name, contentType, path }) => ({
      name,
      contentType,
      ...(path === null ? {} : { path }),
    })),
  };
}

/** The lines may contain anything in place of a time. */
function timeOf(milliseconds: number): string {
  const time = new Date(milliseconds);
  return Number.isNaN(time.getTime()) ? new Date(0).toISOString() : time.toISOString();
}
