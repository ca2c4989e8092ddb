import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordFile } from './file.ts';
import type { TestKey } from './format.ts';
import type { Method, Methods } from './wrap.ts';
import { provideHooks } from './helper-hooks.ts';

export type VerdictOptions = {
  /** `require` of the runtime. */
  require: NodeJS.Require;
  /** The folder of the package `playwright`. */
  runnerFolder: string;
  file: RecordFile;
  currentTest: () => TestKey;
  onSecret: ((value: string) => void) | undefined;
};

/** Makes the helpers work, and tells soft assertions that failed from hard ones. */
export function captureVerdicts(options: VerdictOptions): void {
  provideHooks(options);
  watchSoftFailures(options);
}

/**
 * Playwright reports errors of `expect.soft` like all others. In the process of the test they differ: only `expect` hands a
 * soft one over while the test goes on. Where a release has no such method, all failures count as hard.
 */
function watchSoftFailures({ require, runnerFolder, file, currentTest }: VerdictOptions): void {
  try {
    const path = join(runnerFolder, 'lib', 'worker', 'testInfo.js');
    if (!existsSync(path)) return;
    const { TestInfoImpl } = require(path) as { TestInfoImpl?: { prototype: Methods } }; // feature detection follows
    const prototype = TestInfoImpl?.prototype;
    const original = prototype?.['_failWithError'];
    if (prototype === undefined || typeof original !== 'function') return;
    prototype['_failWithError'] = function (this: unknown, ...args: unknown[]): unknown {
      // Frames: this one, then the caller.
      const caller = new Error('where').stack?.split('\n')[2] ?? '';
      if (/matchers[\\/]expect\.js/.test(caller)) file.write({ kind: 'soft', test: currentTest() });
      return (original as Method).apply(this, args);
    };
  } catch {
    // As if the release had no such method.
  }
}
