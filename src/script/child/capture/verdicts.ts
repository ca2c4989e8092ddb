import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordFile } from './file.ts';
import type { TestKey } from './format.ts';
import type { Methods } from './wrap.ts';
import { provideHooks } from './helper-hooks.ts';
import { watchSoftFailures } from './soft-failures.ts';

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
  const { require, runnerFolder, file, currentTest } = options;
  try {
    const path = join(runnerFolder, 'lib', 'worker', 'testInfo.js');
    if (!existsSync(path)) return;
    const { TestInfoImpl } = require(path) as { TestInfoImpl?: { prototype: Methods } }; // feature detection follows
    watchSoftFailures(TestInfoImpl?.prototype, file, currentTest);
  } catch {
    // As if the release had no such file.
  }
}
