import { lstat } from 'node:fs/promises';
import { relative } from 'node:path';
import { protocolLimits } from '../../../protocol/agent-calls.ts';
import type { Reason } from '../../../protocol/reasons.ts';
import type { KeptFile } from '../../playwright/files.ts';
import { collectFiles } from './files.ts';
import { readRuns, type ReadAttachment } from './lines.ts';
import { noMarks, readMarks } from './marks.ts';
import type { ProgramEnd, SuitePlace } from '../place/place.ts';
import type { SuiteDetails, SuiteTest, SuiteTotals } from '../../interface/suite-run.ts';
import { judgedTests, summaryOf, verdictOf, type JudgedTest } from './verdict.ts';
import { shortened } from '../../../shortened.ts';

export type SuiteReport = {
  failure: Reason | null;
  degraded: { message: string } | null;
  runStatus: SuiteDetails['runStatus'];
  /** Null = no Playwright process got far enough to report it. */
  playwrightVersion: string | null;
  totals: SuiteTotals;
  errors: string[];
  tests: SuiteTest[];
  testsLeftOut: number;
  files: KeptFile[];
  /** Values that tests named as secrets. */
  secrets: string[];
  /** Why the secrets are not complete. */
  lostSecret: string | null;
  /** Milliseconds since the epoch; null = no test started. */
  firstTestAt: number | null;
  /** Lines for the run's log. */
  notes: string[];
};

/** Characters of JSON for the tests of a result. */
const testsText = 1024 * 1024;
/** The temporary name of a project's config during the run (suite/config.ts). */
const movedConfig = /\.as-given(?:-\d+)?(\.[cm]?[jt]s)\b/g;
/** Number of an attempt's artifacts that are reserved for the agent. */
const maxFiles = 90;

/**
 * Reads `place.report` after a suite's test command, when none of its processes runs any more. Customer code could have
 * written all of it, so it is checked and bounded. Never throws.
 */
export async function readSuiteReport(options: {
  place: SuitePlace;
  end: Pick<ProgramEnd, 'code' | 'signal' | 'exceeded'>;
  /** The last lines that the command printed, without colours. */
  lastLines: readonly string[];
  maxFiles?: number;
  /** Size limit of one artifact; the protocol's limit applies as well. */
  artifactBytes?: number;
}): Promise<SuiteReport> {
  const { place } = options;
  // Customer code may have replaced it with a link.
  const isOwn = (await lstat(place.report).catch(() => null))?.isDirectory() ?? false;
  const runs = isOwn ? await readRuns(place.report) : [];
  const marks = isOwn ? await readMarks(place.report) : noMarks();
  const tests = judgedTests(runs, marks);
  const lastLines = options.lastLines.map((line) =>
    line.replaceAll(`${place.project}/`, '').replaceAll(movedConfig, '$1'),
  );
  const verdict = verdictOf({ ...options, lastLines, runs, tests, marks });
  const { files, names, notes } = await collectFiles({
    place,
    runs,
    tests,
    verdict,
    fileOf: ({ file }) => relativeFile(file, place),
    limit: options.maxFiles ?? maxFiles,
    artifactBytes: Math.min(options.artifactBytes ?? Infinity, protocolLimits.artifactBytes),
  });
  const fitted = fittingTests(tests, place, names);
  const starts = tests.flatMap(({ test }) => test.tries.map(({ startTime }) => startTime));
  return {
    ...verdict,
    playwrightVersion: runs.map((run) => run.playwrightVersion).find((version) => version !== '') ?? null,
    tests: fitted,
    testsLeftOut: tests.length - fitted.length,
    files,
    secrets: [...marks.secrets],
    lostSecret: marks.lostSecret,
    firstTestAt: starts.length === 0 ? null : starts.reduce((a, b) => Math.min(a, b)),
    notes: [
      ...(tests.length === 0 ? [] : [summaryOf(verdict.totals)]),
      ...new Set(runs.flatMap((run) => run.notes)),
      ...notes,
    ],
  };
}

const importance: { readonly [status in SuiteTest['status']]: number } = {
  failed: 0,
  timedOut: 0,
  flaky: 1,
  interrupted: 2,
  passed: 3,
  skipped: 4,
};

/** As many tests as fit, failed ones first; then steps, in the same order. The result is in the order of the run. */
function fittingTests(
  tests: readonly JudgedTest[],
  place: SuitePlace,
  names: ReadonlyMap<ReadAttachment, string>,
): SuiteTest[] {
  const ranked = tests
    .map((judged, index) => ({ judged, index }))
    .sort((a, b) => importance[a.judged.status] - importance[b.judged.status] || a.index - b.index);
  let left = testsText;
  const taken: { index: number; judged: JudgedTest; test: SuiteTest }[] = [];
  for (const { judged, index } of ranked) {
    const test = suiteTestOf(judged, place, names);
    const { length } = JSON.stringify(test);
    if (length > left) continue;
    left -= length;
    taken.push({ index, judged, test });
  }
  for (const { judged, test } of taken) {
    const steps = judged.last?.steps ?? [];
    const { length } = JSON.stringify(steps);
    if (length > left) continue;
    left -= length;
    test.steps = steps;
  }
  return taken.sort((a, b) => a.index - b.index).map(({ test }) => test);
}

function suiteTestOf(
  judged: JudgedTest,
  place: SuitePlace,
  names: ReadonlyMap<ReadAttachment, string>,
): SuiteTest {
  const { test, status, degraded, last, errors } = judged;
  return {
    title: test.title,
    titlePath: test.titlePath,
    file: relativeFile(test.file, place),
    line: test.line,
    project: test.project,
    tags: test.tags,
    status,
    degraded,
    durationMs: last?.durationMs ?? 0,
    retries: last?.retry ?? 0,
    errors: errors.slice(0, 5).map((error) => shortened(error, 4096)),
    steps: [],
    attachments: test.tries
      .flatMap(({ attachments }) => attachments)
      .map((each) => ({
        name: shortened(each.name, 200),
        contentType: each.contentType,
        artifact: names.get(each) ?? null,
      })),
  };
}

function relativeFile(file: string, place: SuitePlace): string {
  const fromWorking = relative(place.working, file);
  return shortened(fromWorking.startsWith('..') ? relative(place.project, file) : fromWorking, 1024);
}
