import type { ModelEndpoint } from '../../config/analysis.ts';
import { toError } from '../../errors.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import { ChatError } from '../analyses/chat.ts';
import type { AgenticAction } from './statements.ts';
import type { Variable } from '../checks/storage/settings.ts';
import { BrowserGone, NoBrowser, openBrowser, type OpenBrowser } from './browser.ts';
import { createCourse, type Course, type Ended } from './course.ts';
import { explore, type ExploringLimits } from './explore.ts';
import { mostScreenshot, type Page } from './page.ts';
import type { RunFile } from './run-files.ts';

/** One run of an agentic check: its script again, or a model that finds one. */

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
  /** What it leaves: the page at its end, and the script that passed. */
  files: RunFile[];
};

export type Task = {
  prompt: string;
  skills: readonly string[];
  /** Of the run before; null = there is none. */
  script: readonly AgenticAction[] | null;
  /** Those that the prompt may name; of two with one name the first counts. */
  variables: readonly Variable[];
  endpoint: ModelEndpoint | null;
  /** Null = what is found on this machine. */
  browser: string | null;
  /** Ends the run; with `Cancelled` as its reason the result tells what was done by then. */
  signal: AbortSignal;
  now: () => number;
  limits?: typeof usualLimits;
};

/** For the picture of a page whose run has taken too long: the browser may be why. */
const lastLookMs = 5_000;

/** Why a run is ended that somebody cancelled. */
export class Cancelled extends Error {}

/** Never rejects but for a fault of its own, or when `signal` fires for another reason than Cancelled. */
export async function perform(task: Task): Promise<Performed> {
  const looked: Looked = { picture: null };
  const ended = await endOf(task, looked);
  const script = ended.status !== 'passed' ? null : ended.details.replayed ? task.script : ended.actions;
  const files: RunFile[] = [];
  if (looked.picture !== null) {
    files.push({
      name: 'screenshot.jpg',
      type: 'screenshot',
      contentType: 'image/jpeg',
      bytes: looked.picture,
    });
  }
  if (script !== null) {
    const bytes = Buffer.from(`${JSON.stringify(script, null, 2)}\n`);
    files.push({ name: 'script.json', type: 'file', contentType: 'application/json', bytes });
  }
  return { ...ended, files };
}

/** The page as the run left it, where it could still be looked at. */
type Looked = { picture: Buffer | null };

async function endOf(task: Task, looked: Looked): Promise<Ended> {
  const { prompt, variables, now, skills, limits = usualLimits } = task;
  const course = createCourse({ prompt, variables, now });
  if (task.endpoint === null) {
    const message = 'agentic checks need a model: set ANALYSIS_API_URL and ANALYSIS_MODEL of the service';
    return course.ended('errored', reasonOf('TYPE_UNAVAILABLE', message));
  }
  // Held by its timer: a timeout's signal that only a combined one refers to may be collected before it fires.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), limits.runMs);
  const ending = AbortSignal.any([task.signal, late.signal]);
  const look = async (page: Page) => {
    if (!ending.aborted) looked.picture = await pictureOf(page, course);
  };
  // Who cancels, and a service that stops, need not wait.
  const lookOnceMore = async (page: Page) => {
    if (!task.signal.aborted) looked.picture = await within(lastLookMs, pictureOf(page, course));
  };
  try {
    if (task.script !== null && task.script.length > 0) {
      const { script } = task;
      const isDone = await withBrowser(task.browser, { signal: ending, lookOnceMore }, async ({ page }) => {
        const holds = await replay(course, page, script);
        if (holds) await look(page);
        return holds;
      });
      if (isDone) return course.ended('passed', null);
    }
    // A browser of its own: what the script left behind is not there when it is done again.
    const { endpoint } = task;
    return await withBrowser(task.browser, { signal: ending, lookOnceMore }, ({ page }) =>
      explore(course, { page, endpoint, skills, limits, signal: ending }).finally(() => look(page)),
    );
  } catch (error) {
    if (task.signal.aborted) {
      if (!(task.signal.reason instanceof Cancelled)) throw error;
      return course.ended('cancelled', reasonOf('CANCELLED', 'cancelled while it ran'));
    }
    if (late.signal.aborted) {
      const message = `the task was not done within ${limits.runMs / 1000} s`;
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

/** Null where the page can't be looked at; never rejects. */
async function pictureOf(page: Page, { usedSecrets }: Course): Promise<Buffer | null> {
  const base64 = await page.screenshot(usedSecrets).catch(() => '');
  const bytes = Buffer.from(base64, 'base64');
  // Pages run where it comes from: nothing else is taken for a JPEG.
  const isPicture = bytes.length <= mostScreenshot && bytes[0] === 0xff && bytes[1] === 0xd8;
  return isPicture ? bytes : null;
}

/** What `work` comes to; null when it has not in time. */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Rejects with NoBrowser; with `signal` the browser ends, after a last look, and whatever is under way in it rejects. */
async function withBrowser<T>(
  program: string | null,
  { signal, lookOnceMore }: { signal: AbortSignal; lookOnceMore: (page: Page) => Promise<void> },
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
    closed = lookOnceMore(browser.page).then(close, close);
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

/** Whether the script still does what it did: every action possible, every assertion true. */
async function replay(course: Course, page: Page, script: readonly AgenticAction[]): Promise<boolean> {
  course.beginReplay();
  let isWhole = true;
  try {
    for (const action of script) await course.take(page, action);
  } catch (error) {
    // It is over for all of it, not for the script alone.
    if (error instanceof BrowserGone) throw error;
    course.note('message', 'replay', null, course.told(error));
    isWhole = false;
  }
  if (isWhole && course.brokenAssertion() === undefined) {
    course.summarise('The script of an earlier run was done again.');
    return true;
  }
  course.beginAnew();
  return false;
}
