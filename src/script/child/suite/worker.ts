import { AsyncLocalStorage } from 'node:async_hooks';
import { dirname, join } from 'node:path';
import { openRecordFile } from '../capture/file.ts';
import type { TestKey } from '../capture/format.ts';
import { holderOf, watchMethod, type Method, type Methods } from '../capture/wrap.ts';
import { watchReadHeaders } from '../capture/read-headers.ts';
import { hasHooks, provideHooks } from '../capture/helper-hooks.ts';
import { watchSoftFailures } from '../capture/soft-failures.ts';
import { loader, playwrightFolder, suiteSettings } from './playwright.ts';

/** Provides, in test processes, what the helpers package needs, as far as the project's Playwright release allows. */

type TestInfo = { testId?: unknown; retry?: unknown };
type Library = { test: { info: () => TestInfo }; request: unknown };

/** Read by getAPIResponseTime of the helpers package. */
const responseTime = Symbol.for('location-agent.responseTime');

/** Enables the helpers. Call it before the first test of the process. */
export function watchTests(): void {
  if (hasHooks()) return;
  const file = openRecordFile(suiteSettings().reportFolder);
  let library: Library | null = null;
  const currentTest = (): TestKey => {
    try {
      library ??= loadLibrary();
      const { testId, retry } = library.test.info();
      return typeof testId === 'string' ? { testId, retry: Number(retry) } : null;
    } catch {
      return null; // No test is running.
    }
  };
  provideHooks({ file, currentTest });
  beforeFirstTest(() => {
    library ??= loadLibrary();
    watchSoftFailures(holderOf(library.test.info(), '_failWithError'), file, currentTest);
    watchResponses(library.request);
    watchHeaders((value) => file.write({ kind: 'secret', value }));
  });
}

function loadLibrary(): Library {
  const folder = playwrightFolder();
  if (folder === null) throw new Error('no Playwright is loaded');
  return loader(join(folder, 'test.js')) as Library; // its public API
}

/** A test process sends its parent a message when a test starts. By then everything is loaded, and the test is known. */
function beforeFirstTest(work: () => void): void {
  const send = process.send;
  if (send === undefined) return;
  const watched = function send_(this: unknown, ...args: unknown[]): unknown {
    const [message] = args as [{ params?: { method?: unknown } } | undefined];
    if (message?.params?.method === 'testBegin') {
      if (process.send === (watched as unknown)) process.send = send;
      try {
        work();
      } catch {
        // A release with unknown internals: the tests run as usual.
      }
    }
    return (send as unknown as Method).apply(process, args);
  };
  process.send = watched as unknown as typeof send;
}

/** Values of sensitive headers that tests read are secrets of the run. */
function watchHeaders(onSecret: (value: string) => void): void {
  const playwright = playwrightFolder();
  if (playwright === null) return;
  const package_ = loader.resolve('playwright-core/package.json', { paths: [playwright] });
  watchReadHeaders({ require: loader, coreFolder: dirname(package_), onSecret });
}

const verbs = ['get', 'post', 'put', 'patch', 'delete', 'head', 'fetch'];

/** Adds to each response of the `request` fixture its duration in milliseconds. */
function watchResponses(request: unknown): void {
  const playwright = playwrightFolder();
  if (playwright === null) return;
  const core = dirname(loader.resolve('playwright-core/package.json', { paths: [playwright] }));
  const storage = new AsyncLocalStorage<unknown>();
  const watchContext = (context: unknown) => {
    const holder: Methods | null = holderOf(context, 'fetch');
    for (const verb of verbs) {
      watchMethod<{ begin: number }>(holder, verb, core, storage, {
        // `get` calls `fetch` internally.
        begin: () => (storage.getStore() === undefined ? { begin: performance.now() } : null),
        end: ({ begin }, response) => {
          const value = Math.round((performance.now() - begin) * 1000) / 1000;
          if (typeof response === 'object' && response !== null)
            Object.defineProperty(response, responseTime, { value });
        },
        fail: () => undefined,
      });
    }
  };
  watchMethod(holderOf(request, 'newContext'), 'newContext', core, storage, {
    begin: () => ({}),
    end: (_, context) => watchContext(context),
    fail: () => undefined,
  });
}
