import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordFile } from './file.ts';
import type { LostSecret, TestKey } from './format.ts';
import type { Methods } from './wrap.ts';
import { provideHooks } from './helper-hooks.ts';
import { watchSoftFailures } from './soft-failures.ts';

export type VerdictOptions = {
  /** The runtime's `require`. */
  require: NodeJS.Require;
  /** The folder of the package `playwright`. */
  runnerFolder: string;
  file: RecordFile;
  secrets: RecordFile;
  currentTest: () => TestKey;
  onSecret: ((value: string) => void) | undefined;
  onLostSecret: ((limit: LostSecret['limit']) => void) | undefined;
};

/** Enables the helpers and distinguishes failed soft assertions from hard ones. */
export function captureVerdicts(options: VerdictOptions): void {
  provideHooks(options);
  const { require, runnerFolder, file, currentTest } = options;
  try {
    const path = join(runnerFolder, 'lib', 'worker', 'testInfo.js');
    if (!existsSync(path)) return;
    const { TestInfoImpl } = require(path) as { TestInfoImpl?: { prototype: Methods } }; // feature detection follows
    watchSoftFailures(TestInfoImpl?.prototype, file, currentTest);
  } catch {
    // Treated like a release without this file.
  }
}
