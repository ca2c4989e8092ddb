/**
 * Calls a function of Playwright's own test runner (`setBoxedStackPrefixes` of playwright-core/lib/utils), read from
 * release 1.58.2. test/library-internals/playwright.test.ts fails if the newest runtime lacks it.
 */
import { dirname } from 'node:path';

/** Makes errors and steps show the script's line, not a line of the child programs. */
export function hideFrames(fromPlaywright: NodeJS.Require): void {
  try {
    const utils = fromPlaywright('playwright-core/lib/utils') as {
      setBoxedStackPrefixes?: (prefixes: string[]) => void;
    }; // part of its test runner; absent in some releases
    const own = dirname(fromPlaywright.resolve('playwright/package.json'));
    // The child programs are in folders next to this one.
    const programs = dirname(import.meta.dirname ?? dirname(new URL(import.meta.url).pathname));
    utils.setBoxedStackPrefixes?.([own, programs]);
  } catch {
    // Then a line of these programs shows in some stacks, nothing worse.
  }
}
