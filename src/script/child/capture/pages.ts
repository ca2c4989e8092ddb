import type { AsyncLocalStorage } from 'node:async_hooks';
import type { RecordFile } from './file.ts';
import { createVisitRecords, type Emitter, type Frame, type Page, type PageState } from './page-visits.ts';
import { vitalsName, vitalsExpression, vitalsScript } from './vitals.ts';
import { holderOf, watchMethod, type Methods } from './wrap.ts';
import { withoutStep } from './playwright-step.ts';

/** The part of Playwright's classes that the capture uses. */
type Request = {
  url: () => string;
  method: () => string;
  frame: () => Frame;
  isNavigationRequest: () => boolean;
  failure: () => { errorText: string } | null;
};
type Response = { status: () => number; request: () => Request };
type Context = Emitter & {
  pages: () => Page[];
  addInitScript: (script: { content: string }) => Promise<unknown>;
  exposeBinding: (
    name: string,
    take: (source: { page?: Page }, payload: unknown) => void,
  ) => Promise<unknown>;
};
type Message = { type: () => string; text: () => string; page?: () => Page | null };
type WebError = { error: () => unknown; page: () => Page | null };

/** Maximum wait for a page's last measurements before it closes, in milliseconds. */
const finalVitalsMs = 250;

export type PageWatch = { storage: AsyncLocalStorage<unknown>; coreFolder: string; file: RecordFile };

/** Prepares the capture of pages; call the result with each new BrowserContext. */
export function watchPages({ storage, coreFolder, file }: PageWatch): (context: unknown) => Promise<void> {
  const seen = new WeakSet<object>();
  const { states, writeAll, count, newVisit, addError, takeVitals } = createVisitRecords(file);

  const watchPage = (page: Page) => {
    if (states.has(page)) return;
    const state: PageState = { navigating: false, visits: [] };
    states.set(page, state);
    on(page, 'framenavigated', (frame: Frame) => {
      if (frame !== page.mainFrame()) return;
      // Without a request the page stayed in the same document: an anchor, or history.pushState.
      if (state.navigating) newVisit(state, frame.url());
      state.navigating = false;
    });
    on(page, 'close', writeAll);
  };

  const collectFinalVitals = async (pages: Page[]) => {
    const requests = pages
      .filter((page) => (states.get(page)?.visits.length ?? 0) > 0 && !page.isClosed())
      .map((page) =>
        withoutStep(page, () => page.evaluate(vitalsExpression)).then(
          (payload) => takeVitals(page, payload),
          () => undefined,
        ),
      );
    let timeout: NodeJS.Timeout | undefined;
    // A page that hangs or shows an alert does not answer.
    const enough = new Promise<void>((resolve) => (timeout = setTimeout(resolve, finalVitalsMs)));
    await Promise.race([Promise.all(requests), enough]);
    clearTimeout(timeout);
    writeAll();
  };
  const watchClose = (object: unknown, pagesOf: (self: object) => Page[]) =>
    watchMethod<Page[]>(holderOf(object, 'close'), 'close', coreFolder, storage, {
      begin: (self) => pagesOf(self).slice(0, 20),
      before: (pages) => (pages.length === 0 ? null : collectFinalVitals(pages)),
      end: () => undefined,
      fail: () => undefined,
    });

  const watchContext = async (context: Context) => {
    watchClose(context, (self) => (self as Context).pages()); // a BrowserContext
    const browser = (context as unknown as Methods)['browser'];
    const owner: unknown = typeof browser === 'function' ? browser.call(context) : null;
    watchClose(owner, (self) =>
      (self as { contexts: () => Context[] }).contexts().flatMap((each) => each.pages()),
    ); // a Browser
    on(context, 'page', (page: Page) => {
      watchClose(page, (self) => [self as Page]);
      watchPage(page);
    });
    context.pages().forEach(watchPage);
    on(context, 'request', (request: Request) => {
      if (!request.isNavigationRequest()) return;
      const page = pageOf(request);
      const state = page === null ? undefined : states.get(page);
      if (page !== null && state !== undefined && request.frame() === page.mainFrame())
        state.navigating = true;
    });
    on(context, 'response', (response: Response) => {
      const status = response.status();
      if (status < 400) return;
      const request = response.request();
      count('networkErrors');
      addLater(request, `${status} ${request.method()} ${request.url()}`);
    });
    on(context, 'requestfailed', (request: Request) => {
      const text = request.failure()?.errorText ?? 'failed';
      // The page was left or closed before the response.
      if (/ERR_ABORTED|cancelled/i.test(text)) return;
      count('networkErrors');
      addLater(request, `${text} ${request.method()} ${request.url()}`);
    });
    on(context, 'console', (message: Message) => {
      if (message.type() !== 'error') return;
      count('consoleErrors');
      addError(message.page?.() ?? null, 'consoleErrors', message.text());
    });
    on(context, 'weberror', (thrown: WebError) => {
      const error = thrown.error();
      count('documentErrors');
      addError(
        thrown.page(),
        'consoleErrors',
        `Uncaught ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`,
      );
    });
    await withoutStep(context, () =>
      Promise.all([
        context.exposeBinding(vitalsName, (source, payload) => {
          if (source.page !== undefined) takeVitals(source.page, payload);
        }),
        context.addInitScript({ content: vitalsScript }),
      ]),
    );
  };
  // The response to a navigation arrives before its document: it belongs to the visit that starts with that document.
  const addLater = (request: Request, text: string) => {
    const page = pageOf(request);
    const state = page === null ? undefined : states.get(page);
    if (page === null || state === undefined) return;
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) {
      if (state.navigating) newVisit(state, request.url());
      state.navigating = false;
    }
    addError(page, 'networkErrors', text);
  };

  return async (context) => {
    if (typeof context !== 'object' || context === null || seen.has(context)) return;
    seen.add(context);
    await watchContext(context as Context); // newContext resolves with it
  };
}

/** Adds a listener that never throws into Playwright. */
function on<Value>(emitter: Emitter, event: string, take: (value: Value) => void): void {
  emitter.on(event, (value: Value) => {
    try {
      take(value);
    } catch {
      // The page is already gone.
    }
  });
}

function pageOf(request: Request): Page | null {
  try {
    return request.frame().page();
  } catch {
    return null; // A request of a service worker.
  }
}
