import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bounds, type RunReport, type StepReport, type TestReport } from '../capture/format.ts';
import { errorText, plainText, type ErrorParts } from '../capture/text.ts';
import type { Step, TestResult } from '../capture/reporter-types.ts';
import { shortened } from '../shortened.ts';

/** The part of Playwright's reporter interface that the reporter uses, the same in all runtimes. */
type Config = { rootDir?: string; version?: string };
type Suite = { allTests: () => TestCase[] };
type TestCase = {
  id: string;
  title: string;
  expectedStatus: string;
  titlePath: () => string[];
  ok: () => boolean;
};

/** Milliseconds between two writes of the report during the run. */
const partialEveryMs = 1000;
const marks: { readonly [status: string]: string } = { passed: 'passed', skipped: 'skipped' };
/** Maximum number of reported lines, which leaves room for the script's own output. */
const maxReported = 200;

/**
 * Playwright's reporter of a run: writes `outputFile` (RunReport) at the end, and every second during the run, so that
 * a run that is cut off leaves its results so far. Passes on what tests print.
 */
// oxlint-disable-next-line import/no-default-export -- where Playwright looks for a reporter
export default class CaptureReporter {
  readonly #outputFile: string;
  readonly #startTime = Date.now();
  readonly #errors: string[] = [];
  readonly #tests = new Map<string, { test: TestCase; result: TestResult; ended: boolean }>();
  #bytesLeft: number = bounds.attachedBytes;
  #attached = 0;
  #reported = 0;
  #rootDir = '';
  #playwrightVersion = '';
  #began = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: { outputFile: string }) {
    this.#outputFile = options.outputFile;
  }

  onBegin(config: Config, suite: Suite): void {
    this.#rootDir = config.rootDir ?? '';
    this.#playwrightVersion = config.version ?? '';
    this.#began = suite.allTests().length > 0;
    this.#write(false);
    this.#timer = setInterval(() => this.#write(false), partialEveryMs).unref();
  }

  onTestBegin(test: TestCase, result: TestResult): void {
    if (this.#tests.size >= bounds.tests && !this.#tests.has(test.id)) return;
    // A later try of a test replaces the earlier one.
    this.#tests.set(test.id, { test, result, ended: false });
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    this.onTestBegin(test, result);
    const entry = this.#tests.get(test.id);
    if (entry === undefined) return;
    entry.ended = true;
    this.#report(`${marks[result.status] ?? 'FAILED'} ${test.title}`, result.duration);
    this.#keepBodies(result);
  }

  onStepEnd(_test: TestCase, _result: TestResult, step: Step): void {
    if (step.category !== 'test.step') return;
    this.#report(`${step.error === undefined ? 'step' : 'FAILED step'} ${step.title}`, step.duration);
  }

  /** Sends a line to the run's log, through the process that runs the tests. */
  #report(event: string, ms: number): void {
    if (++this.#reported > maxReported) return;
    const sendLine: unknown = Reflect.get(globalThis, Symbol.for('location-agent.sendLine'));
    const line = `${shortened(event.replaceAll(/\s+/g, ' '), 300)} (${Math.round(ms)} ms)`;
    if (typeof sendLine === 'function') (sendLine as (line: string) => void)(line); // set by main.ts
  }

  /** Saves attachments that are text or bytes as files next to the report. */
  #keepBodies(result: TestResult): void {
    for (const attachment of result.attachments) {
      const { body, name, path } = attachment;
      if (body === undefined || path !== undefined || body.length > this.#bytesLeft) continue;
      this.#bytesLeft -= body.length;
      try {
        const folder = join(dirname(this.#outputFile), 'attached');
        mkdirSync(folder, { recursive: true });
        const safe = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, 100);
        const file = join(folder, `${++this.#attached}-${safe === '' ? 'attachment' : safe}`);
        writeFileSync(file, body, { mode: 0o600, flag: 'wx' });
        attachment.path = file;
      } catch {
        // If there is no room, the file is missing.
      }
    }
  }

  onStdOut(chunk: string | Buffer): void {
    process.stdout.write(chunk);
  }

  onStdErr(chunk: string | Buffer): void {
    process.stderr.write(chunk);
  }

  onError(error: ErrorParts & { location?: unknown }): void {
    if (this.#errors.length < bounds.errors) {
      this.#errors.push(errorText(error, this.#rootDir, bounds.errorText));
    }
  }

  onEnd(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#write(true);
  }

  #write(complete: boolean): void {
    const report: RunReport = {
      version: 1,
      complete,
      playwrightVersion: this.#playwrightVersion,
      startTime: this.#startTime,
      endTime: Date.now(),
      began: this.#began,
      errors: this.#errors,
      tests: this.#testReports(),
    };
    try {
      const partial = `${this.#outputFile}.partial`;
      mkdirSync(dirname(this.#outputFile), { recursive: true });
      writeFileSync(partial, JSON.stringify(report), { mode: 0o600 });
      renameSync(partial, this.#outputFile);
    } catch {
      // Without its report the run counts as failed, with a reason.
    }
  }

  #testReports(): TestReport[] {
    let stepsLeft: number = bounds.steps;
    const stepsOf = (steps: Step[], depth: number): StepReport[] => {
      if (depth > bounds.stepDepth) return [];
      const reports: StepReport[] = [];
      for (const step of steps) {
        if (stepsLeft-- <= 0) break;
        reports.push({
          title: plainText(step.title, bounds.title),
          category: step.category,
          startTime: step.startTime.getTime(),
          // Playwright gives -1 for a step that has not ended.
          durationMs: step.duration < 0 ? Math.max(0, Date.now() - step.startTime.getTime()) : step.duration,
          error: step.error === undefined ? null : errorText(step.error, this.#rootDir, 1024),
          steps: stepsOf(step.steps, depth + 1),
        });
      }
      return reports;
    };
    return [...this.#tests.values()].map(({ test, result, ended }) => ({
      id: test.id,
      retry: result.retry,
      title: plainText(test.title, bounds.title),
      // The first is the root's name and the second the project's.
      titlePath: test
        .titlePath()
        .slice(2)
        .map((title) => plainText(title, bounds.title)),
      status: ended ? result.status : 'interrupted',
      expectedStatus: test.expectedStatus,
      ok: ended && (result.status === 'skipped' || result.status === test.expectedStatus),
      startTime: result.startTime.getTime(),
      durationMs: ended ? result.duration : Math.max(0, Date.now() - result.startTime.getTime()),
      errors: result.errors
        .slice(0, bounds.errors)
        .map((error) => errorText(error, this.#rootDir, bounds.errorText)),
      errorCount: result.errors.length,
      steps: stepsOf(result.steps, 1),
      attachments: result.attachments
        .filter((each) => each.path !== undefined)
        .slice(0, bounds.attachments)
        .map(({ name, path, contentType }) => ({ name, path: path ?? '', contentType })),
    }));
  }
}
