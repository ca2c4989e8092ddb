import type { ModelEndpoint } from '../../config/analysis.ts';
import { toError } from '../../errors.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import { ChatError } from '../analyses/chat.ts';
import type { AgenticAction } from './statements.ts';
import type { Variable } from '../checks/storage/settings.ts';
import { BrowserGone, NoBrowser, openBrowser, type OpenBrowser } from './browser.ts';
import { createCourse, type Course, type Ended } from './course.ts';
import { explore, type ExploringLimits } from './explore.ts';
import { maxScreenshotBytes, type Page } from './page.ts';
import type { RunFile } from './run-files.ts';
import { within } from '../../time-limit.ts';

/** Performs one run of an agentic check: replays its script, or lets a model find one. */

export const usualLimits: ExploringLimits & { runMs: number } = {
  runMs: 240_000,
  callMs: 60_000,
  turns: 40,
  actions: 100,
  tokens: 200_000,
  answerTokens: 1_000,
  suggestions: 10,
};

export type Performed = Ended & {
  /** Files of the run: a screenshot of the final page and the script that passed. */
  files: RunFile[];
};

export type Task = {
  prompt: string;
  skills: readonly string[];
  /** Script of the previous run; null = there is none. */
  script: readonly AgenticAction[] | null;
  /** Variables that the prompt may use; for duplicate names the first one counts. */
  variables: readonly Variable[];
  endpoint: ModelEndpoint | null;
  /** Path of the browser; null = the Chromium found on this machine. */
  browser: string | null;
  /** Stops the run. If its reason is `Cancelled`, the result contains what was done so far. */
  signal: AbortSignal;
  now: () => number;
  limits?: typeof usualLimits;
};

/** Time limit for the screenshot after a timeout, because the browser may be the cause of the timeout. */
const lastCaptureMs = 5_000;

/** Abort reason of a run that a user cancelled. */
export class Cancelled extends Error {}

/** Rejects only for an internal error, or when `signal` fires with a reason other than Cancelled. */
export async function perform(task: Task): Promise<Performed> {
  const captured: Captured = { picture: null };
  const ended = await endOf(task, captured);
  const script = ended.status !== 'passed' ? null : ended.details.replayed ? task.script : ended.actions;
  const files: RunFile[] = [];
  if (captured.picture !== null) {
    files.push({
      name: 'screenshot.jpg',
      type: 'screenshot',
      contentType: 'image/jpeg',
      bytes: captured.picture,
    });
  }
  if (script !== null) {
    const bytes = Buffer.from(`${JSON.stringify(script, null, 2)}\n`);
    files.push({ name: 'script.json', type: 'file', contentType: 'application/json', bytes });
  }
  return { ...ended, files };
}

/** The screenshot of the page at the end of the run; null if none could be taken. */
type Captured = { picture: Buffer | null };

async function endOf(task: Task, captured: Captured): Promise<Ended> {
  const { prompt, variables, now, skills, limits = usualLimits } = task;
  const course = createCourse({ prompt, variables, now });
  if (task.endpoint === null) {
    const message = 'agentic checks need a model: set ANALYSIS_API_URL and ANALYSIS_MODEL of the service';
    return course.ended('errored', reasonOf('TYPE_UNAVAILABLE', message));
  }
  // A real timer is needed: a signal of AbortSignal.timeout that only a combined signal refers to may be collected
  // early.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), limits.runMs);
  const ending = AbortSignal.any([task.signal, late.signal]);
  const capture = async (page: Page) => {
    if (!ending.aborted) captured.picture = await pictureOf(page, course);
  };
  // No screenshot after a cancellation or a shutdown, which must not be delayed.
  const captureLast = async (page: Page) => {
    if (!task.signal.aborted) captured.picture = await within(pictureOf(page, course), lastCaptureMs);
  };
  try {
    if (task.script !== null && task.script.length > 0) {
      const { script } = task;
      const isDone = await withBrowser(task.browser, { signal: ending, captureLast }, async ({ page }) => {
        const holds = await replay(course, page, script);
        if (holds) await capture(page);
        return holds;
      });
      if (isDone) return course.ended('passed', null);
    }
    // A new browser, so that the model does not see the state that the script left behind.
    const { endpoint } = task;
    return await withBrowser(task.browser, { signal: ending, captureLast }, ({ page }) =>
      explore(course, { page, endpoint, skills, limits, signal: ending }).finally(() => capture(page)),
    );
  } catch (error) {
    if (task.signal.aborted) {
      if (!(task.signal.reason instanceof Cancelled)) throw error;
      return course.ended('cancelled', reasonOf('CANCELLED', 'cancelled while running'));
    }
    if (late.signal.aborted) {
      const message = `the task was not completed within ${limits.runMs / 1000} s`;
      return course.ended('failed', reasonOf('TIMEOUT', message));
    }
    const { message } = toError(error);
    if (error instanceof ChatError) return course.ended('errored', reasonOf('INTERNAL', message));
    if (error instanceof NoBrowser || error instanceof BrowserGone) {
      return course.ended('errored', reasonOf('BROWSER_UNAVAILABLE', message));
    }
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns null if no screenshot can be taken; never rejects. */
async function pictureOf(page: Page, { usedSecrets }: Course): Promise<Buffer | null> {
  const base64 = await page.screenshot(usedSecrets).catch(() => '');
  const bytes = Buffer.from(base64, 'base64');
  // The bytes come from the process that runs pages, so only a JPEG is accepted.
  const isPicture = bytes.length <= maxScreenshotBytes && bytes[0] === 0xff && bytes[1] === 0xd8;
  return isPicture ? bytes : null;
}

/**
 * Throws NoBrowser. When `signal` fires, a last screenshot is taken and the browser closes, so that pending calls
 * reject.
 */
async function withBrowser<T>(
  program: string | null,
  { signal, captureLast }: { signal: AbortSignal; captureLast: (page: Page) => Promise<void> },
  work: (browser: OpenBrowser) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  let browser: OpenBrowser;
  try {
    browser = await openBrowser(program);
  } catch (error) {
    if (error instanceof NoBrowser) throw error;
    throw new NoBrowser(`the browser did not start: ${toError(error).message.slice(0, 500)}`);
  }
  const close = () => browser.close().catch(() => undefined);
  let closed: Promise<void> | null = null;
  const end = () => {
    closed = captureLast(browser.page).then(close, close);
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    signal.throwIfAborted();
    return await work(browser);
  } finally {
    signal.removeEventListener('abort', end);
    await (closed ?? close());
  }
}

/** Replays a script. Returns whether every action was possible and every assertion held. */
async function replay(course: Course, page: Page, script: readonly AgenticAction[]): Promise<boolean> {
  course.beginReplay();
  let isComplete = true;
  try {
    for (const action of script) await course.take(page, action);
  } catch (error) {
    // Without a browser the run cannot continue with the model either.
    if (error instanceof BrowserGone) throw error;
    course.note('message', 'replay', null, course.firstLine(error));
    isComplete = false;
  }
  if (isComplete && course.brokenAssertion() === undefined) {
    course.summarise('The script of an earlier run was replayed.');
    return true;
  }
  course.discardReplay();
  return false;
}
