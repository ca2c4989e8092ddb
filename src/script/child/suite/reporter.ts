import { closeSync, linkSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errorText, plainText, type ErrorParts } from '../capture/text.ts';
import type { Step, TestResult } from '../capture/reporter-types.ts';
import {
  runFiles,
  suiteBounds as bounds,
  type SuiteAttachmentLine,
  type SuiteLine,
  type SuiteStepLine,
} from './format.ts';
import {
  createOwnReporters,
  inWorker,
  suiteSettings,
  withoutEnvironment,
  type OwnReporter,
} from './playwright.ts';

/** The part of Playwright's reporter interface that the reporter uses, the same in all releases since 1.42. */
type Config = { rootDir?: string; version?: string; globalTimeout?: number };
type Suite = { allTests: () => TestCase[]; project?: () => { name?: string } | undefined };
type TestCase = {
  id: string;
  title: string;
  expectedStatus: string;
  location?: { file: string; line: number };
  tags?: string[];
  titlePath: () => string[];
};
type Options = { configDir?: string; _mode?: string };

/** Omitted from the steps of passed tests. */
const quiet = new Set(['fixture', 'attach', 'test.attach']);

/**
 * The agent's reporter of a customer's Playwright suite. Writes each test as a line of a file, has Playwright write its
 * HTML and JSON reports next to it, and keeps attachments when a later run clears the folder. Loaded by
 * PW_TEST_REPORTER, so that neither `--reporter` nor the config can remove it. Never throws.
 */
// oxlint-disable-next-line import/no-default-export -- where Playwright looks for a reporter
export default class SuiteReporter {
  readonly #active: boolean;
  readonly #mode: 'test' | 'merge';
  readonly #startTime = Date.now();
  readonly #stamp = `${this.#startTime}-${process.pid}`;
  readonly #planned = new Set<string>();
  #file: number | null = null;
  #bytesLeft: number = bounds.fileBytes;
  #bodyBytesLeft: number = bounds.bodyBytes;
  #keptFiles = 0;
  #errors = 0;
  #rootDir = '';
  #own: OwnReporter[] = [];

  constructor(options: Options = {}) {
    this.#mode = options._mode === 'merge' ? 'merge' : 'test';
    // Not for a list of tests, and not for a Playwright that a test starts.
    this.#active = options._mode !== 'list' && !inWorker();
    if (!this.#active) return;
    this.#quietly(() => {
      const folder = suiteSettings().reportFolder;
      mkdirSync(folder, { recursive: true });
      this.#file = openSync(join(folder, runFiles.lines(this.#stamp)), 'wx', 0o600);
      void this.#createOwn(options.configDir ?? process.cwd(), folder);
    });
  }

  async #createOwn(configDir: string, folder: string): Promise<void> {
    try {
      const created = await createOwnReporters(configDir, [
        ['html', { open: 'never', outputFolder: join(folder, runFiles.html(this.#stamp)) }],
        ['json', { outputFile: join(folder, runFiles.json(this.#stamp)) }],
      ]);
      this.#own = created ?? [];
    } catch {
      // The run continues without these reports.
    }
  }

  printsToStdio(): boolean {
    return false;
  }

  onBegin(config: Config, suite: Suite): void {
    this.#quietly(() => {
      this.#rootDir = config.rootDir ?? '';
      this.#write({
        kind: 'run',
        version: 1,
        mode: this.#mode,
        playwrightVersion: config.version ?? '',
        startTime: this.#startTime,
        globalTimeout: config.globalTimeout ?? 0,
      });
      for (const note of notes()) this.#write({ kind: 'note', text: plainText(note, bounds.title) });
      if (this.#mode === 'test') for (const test of suite.allTests()) this.#plan(test);
    });
    for (const each of this.#own) {
      this.#quietly(() =>
        withoutEnvironment(() => {
          each.onConfigure?.(config);
          each.onBegin?.(suite);
        }),
      );
    }
  }

  #plan(test: TestCase): void {
    if (this.#planned.has(test.id) || this.#planned.size >= bounds.tests) return;
    this.#planned.add(test.id);
    const [, project = '', ...titlePath] = test.titlePath();
    this.#write({
      kind: 'plan',
      id: test.id,
      title: plainText(test.title, bounds.title),
      titlePath: titlePath.slice(0, bounds.titles).map((title) => plainText(title, bounds.title)),
      file: (test.location?.file ?? '').slice(0, bounds.path),
      line: test.location?.line ?? 0,
      project: plainText(project, bounds.title),
      tags: (test.tags ?? []).slice(0, bounds.tags).map((tag) => plainText(tag, bounds.title)),
    });
  }

  onTestBegin(test: TestCase, result: TestResult): void {
    if (this.#mode === 'merge') return;
    this.#quietly(() => {
      this.#plan(test);
      this.#write({ kind: 'begin', id: test.id, retry: result.retry, startTime: result.startTime.getTime() });
    });
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    if (this.#mode === 'merge') return;
    this.#quietly(() => {
      this.#plan(test);
      const failed = result.status !== test.expectedStatus && result.status !== 'skipped';
      const budget = { steps: failed ? bounds.steps.failed : bounds.steps.passed };
      const line: SuiteLine = {
        kind: 'end',
        id: test.id,
        retry: result.retry,
        status: result.status,
        expectedStatus: test.expectedStatus,
        startTime: result.startTime.getTime(),
        durationMs: Math.max(0, result.duration),
        errors: result.errors.slice(0, bounds.errors).map((error) => this.#text(error, bounds.errorText)),
        errorCount: result.errors.length,
        steps: this.#steps(result.steps, failed, budget),
        attachments: result.attachments.slice(0, bounds.attachments).map((each) => this.#attachment(each)),
      };
      if (!this.#write(line) && !this.#write({ ...line, steps: [] })) {
        this.#write({ ...line, steps: [], errors: line.errors.slice(0, 1), attachments: [] });
      }
    });
  }

  #steps(steps: Step[], failed: boolean, budget: { steps: number }, depth = 1): SuiteStepLine[] {
    if (depth > bounds.stepDepth) return [];
    const lines: SuiteStepLine[] = [];
    for (const step of steps) {
      if (!failed && quiet.has(step.category)) continue;
      if (budget.steps-- <= 0) break;
      lines.push({
        title: plainText(step.title, bounds.title),
        category: step.category.slice(0, 100),
        startTime: step.startTime.getTime(),
        // Playwright gives -1 for a step that has not ended.
        durationMs: step.duration < 0 ? Math.max(0, Date.now() - step.startTime.getTime()) : step.duration,
        error: step.error === undefined ? null : this.#text(step.error, bounds.stepError),
        steps: this.#steps(step.steps, failed, budget, depth + 1),
      });
    }
    return lines;
  }

  #text(error: ErrorParts, maxLength: number): string {
    // The project's config has this name during the run.
    return errorText(error, this.#rootDir, maxLength).replaceAll('.as-given.', '.');
  }

  #attachment({ name, path, body, contentType }: TestResult['attachments'][number]): SuiteAttachmentLine {
    return {
      name: plainText(name, bounds.title),
      contentType: contentType.slice(0, 200),
      path: path === undefined ? null : path.slice(0, bounds.path),
      kept: path === undefined ? this.#keepBody(name, body) : this.#keepFile(path),
    };
  }

  #keptPath(name: string): string {
    const folder = join(suiteSettings().reportFolder, runFiles.kept(this.#stamp));
    if (this.#keptFiles++ === 0) mkdirSync(folder, { recursive: true });
    const safe = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(-100);
    return join(folder, `${this.#keptFiles}-${safe === '' ? 'attachment' : safe}`);
  }

  /** The next run of the same command clears Playwright's output folder. A hard link keeps the file and takes no room. */
  #keepFile(path: string): string | null {
    if (this.#keptFiles >= bounds.keptFiles) return null;
    try {
      const kept = this.#keptPath(basename(path));
      linkSync(path, kept);
      return kept;
    } catch {
      return null; // On another file system, or already gone.
    }
  }

  #keepBody(name: string, body: Buffer | undefined): string | null {
    if (body === undefined || body.length > this.#bodyBytesLeft || this.#keptFiles >= bounds.keptFiles)
      return null;
    this.#bodyBytesLeft -= body.length;
    try {
      const kept = this.#keptPath(name);
      writeFileSync(kept, body, { mode: 0o600, flag: 'wx' });
      return kept;
    } catch {
      return null;
    }
  }

  onError(error: ErrorParts): void {
    this.#quietly(() => {
      if (this.#errors++ >= bounds.runErrors) return;
      this.#write({ kind: 'error', text: this.#text(error, bounds.errorText) });
    });
    for (const each of this.#own) this.#quietly(() => each.onError?.(error));
  }

  async onEnd(result: { status: string }): Promise<void> {
    // This is first because the rest takes time, in which the run may be killed.
    this.#quietly(() => this.#write({ kind: 'done', status: result.status, endTime: Date.now() }));
    for (const each of this.#own) {
      try {
        await each.onEnd?.(result);
      } catch {
        // Then this report is missing.
      }
    }
    this.#quietly(() => {
      if (this.#file !== null) closeSync(this.#file);
      this.#file = null;
    });
  }

  /** False = there was no room for it. */
  #write(line: SuiteLine): boolean {
    if (this.#file === null) return true;
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    if (bytes.length > bounds.lineBytes || bytes.length > this.#bytesLeft) return false;
    this.#bytesLeft -= bytes.length;
    writeSync(this.#file, bytes);
    return true;
  }

  #quietly(work: () => unknown): void {
    if (!this.#active) return;
    try {
      work();
    } catch {
      // A full disk costs the line, but must not fail the customer's run.
    }
  }
}

/** The settings that `overlay.ts` has changed in this process. */
function notes(): string[] {
  const settingsNotes: unknown = Reflect.get(globalThis, Symbol.for('location-agent.notes'));
  return Array.isArray(settingsNotes) ? settingsNotes.slice(0, bounds.notes).map(String) : [];
}
