/**
 * Replaces a method of Playwright's TestInfo (`_failWithError` in lib/worker/testInfo.js), read from release 1.58.2; the caller's
 * name since 1.60 from that release. test/library-internals/playwright.test.ts fails when a runtime lacks the method.
 */
import type { RecordFile } from './file.ts';
import type { TestKey } from './format.ts';
import type { Method, Methods } from './wrap.ts';

/**
 * Records failures of `expect.soft`. Playwright reports them like all others. In the process of the test they differ: only
 * `expect` hands a soft one over while the test goes on. `prototype` is the object that has the method; where a release has no
 * such method, all failures count as hard.
 */
export function watchSoftFailures(
  prototype: Methods | null | undefined,
  file: RecordFile,
  currentTest: () => TestKey,
): void {
  const original = prototype?.['_failWithError'];
  if (prototype === null || prototype === undefined || typeof original !== 'function') return;
  prototype['_failWithError'] = function (this: unknown, ...args: unknown[]): unknown {
    // Frames: this one, then the caller. Before 1.60 it is `expect` itself, since then the end of its step.
    const caller = new Error('where').stack?.split('\n')[2] ?? '';
    if (/matchers[\\/]expect\.js|\bcomplete \(.*workerProcessEntry\.js/.test(caller))
      file.write({ kind: 'soft', test: currentTest() });
    return (original as Method).apply(this, args);
  };
}
