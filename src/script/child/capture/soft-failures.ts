/**
 * Replaces a method of Playwright's TestInfo (`_failWithError` in lib/worker/testInfo.js), read from release 1.58.2;
 * the caller's name since 1.60 from that release. test/library-internals/playwright.test.ts fails if a runtime lacks
 * the method.
 */
import type { RecordFile } from './file.ts';
import type { TestKey } from './format.ts';
import type { Method, Methods } from './wrap.ts';

/**
 * Records failures of `expect.soft`, which Playwright reports like all others. They can be recognized in the test's
 * process: only `expect` passes on a failure while the test continues. `prototype` is the object that has the method.
 * In a release without such a method, all failures count as hard.
 */
export function watchSoftFailures(
  prototype: Methods | null | undefined,
  file: RecordFile,
  currentTest: () => TestKey,
): void {
  const original = prototype?.['_failWithError'];
  if (prototype === null || prototype === undefined || typeof original !== 'function') return;
  prototype['_failWithError'] = function (this: unknown, ...args: unknown[]): unknown {
    // Frames: this one, then the caller. Before 1.60 the caller is `expect` itself; since then it is the end of its
    // step.
    const caller = new Error('where').stack?.split('\n')[2] ?? '';
    if (/matchers[\\/]expect\.js|\bcomplete \(.*workerProcessEntry\.js/.test(caller))
      file.write({ kind: 'soft', test: currentTest() });
    return (original as Method).apply(this, args);
  };
}
