import { AsyncLocalStorage } from 'node:async_hooks';
import { dirname } from 'node:path';
import type { ScriptType } from '../../../protocol/check-types.ts';
import { watchCalls } from '../capture/calls.ts';
import { openRecordFile, type RecordFile } from '../capture/file.ts';
import type { LostSecret, TestKey } from '../capture/format.ts';
import { watchPages } from '../capture/pages.ts';
import { watchReadHeaders } from '../capture/read-headers.ts';
import { captureVerdicts } from '../capture/verdicts.ts';
import { holderOf, watchMethod, type Methods } from '../capture/wrap.ts';
import { runPlainScript } from './plain-script.ts';
import { scriptTypeRows } from '../script-types.ts';

export type InstallOptions = {
  /** The runtime's `require`, which resolves its `@playwright/test`. */
  require: NodeJS.Require;
  checkType: ScriptType;
  /** The file of the capture's records; created on demand. */
  outputFolder: string;
  /** The file of its secrets; absent = a new one in `outputFolder`. */
  secrets?: RecordFile;
  /** Called at once with each value that the script names as a secret. */
  onSecret?: (value: string) => void;
  /** Called at once when it names one beyond a limit. */
  onLostSecret?: (limit: LostSecret['limit']) => void;
};

type TestInfo = { testId?: unknown; retry?: unknown };
type Library = { test: { info: () => TestInfo }; request: unknown } & Methods;

const installed = Symbol.for('location-agent.capture');

/**
 * Captures, in the tests' process, what they do through Playwright: pages, API calls, soft failures and the helpers.
 * Call it before the test file is loaded; a second call does nothing. Never throws: if something cannot be captured, it
 * is missing in the result, and the tests run as usual.
 */
export function install(options: InstallOptions): void {
  if (installed in globalThis) return;
  Object.defineProperty(globalThis, installed, { value: true });
  // Called by the text of src/script/playwright/plain-script.ts.
  Object.defineProperty(globalThis, Symbol.for('location-agent.plainScript'), { value: runPlainScript });
  try {
    watch(options);
  } catch {
    // A Playwright release with unknown internals.
  }
}

function watch(options: InstallOptions): void {
  const { require, checkType, outputFolder, onSecret, onLostSecret } = options;
  const library = require('@playwright/test') as Library; // used only if it has these names
  // The packages of one installation need not be in the same folder.
  const runnerFolder = dirname(
    require.resolve('playwright/package.json', { paths: [dirname(require.resolve('@playwright/test'))] }),
  );
  const coreFolder = dirname(require.resolve('playwright-core/package.json', { paths: [runnerFolder] }));
  const file = openRecordFile(outputFolder);
  const secrets = options.secrets ?? openRecordFile(outputFolder, 'secrets');
  const storage = new AsyncLocalStorage<unknown>();
  const currentTest = (): TestKey => {
    try {
      const { testId, retry } = library.test.info();
      return typeof testId === 'string' ? { testId, retry: Number(retry) } : null;
    } catch {
      return null; // No test is running.
    }
  };
  captureVerdicts({ require, runnerFolder, file, secrets, currentTest, onSecret, onLostSecret });
  const keepSecret = (value: string) => {
    secrets.write({ kind: 'secret', value });
    onSecret?.(value);
  };
  watchReadHeaders({ require, coreFolder, onSecret: keepSecret });
  const watchRequestContext = watchCalls({ storage, coreFolder, file, currentTest });
  const watchPagesOf = watchPages({ storage, coreFolder, file });

  const watchContext = async (context: unknown) => {
    watchRequestContext((context as Methods)['request']);
    if (scriptTypeRows[checkType].visitsPages) await watchPagesOf(context);
  };
  watchMethod(holderOf(library.request, 'newContext'), 'newContext', coreFolder, storage, {
    begin: () => ({}),
    end: (_, requestContext) => watchRequestContext(requestContext),
    fail: () => undefined,
  });
  const seeBrowser = (browser: unknown) => {
    watchMethod(holderOf(browser, 'newContext'), 'newContext', coreFolder, storage, {
      begin: () => ({}),
      end: (_, context) => watchContext(context),
      fail: () => undefined,
    });
  };
  for (const type of ['chromium', 'firefox', 'webkit']) {
    for (const name of ['launch', 'launchPersistentContext', 'connect', 'connectOverCDP']) {
      watchMethod(holderOf(library[type], name), name, coreFolder, storage, {
        begin: () => ({}),
        end: (_, result) => (name === 'launchPersistentContext' ? watchContext(result) : seeBrowser(result)),
        fail: () => undefined,
      });
    }
  }
}
