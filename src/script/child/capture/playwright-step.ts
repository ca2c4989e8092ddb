/**
 * Calls a method of Playwright's client objects (`_wrapApiCall` in playwright-core/lib/client/channelOwner.js), read
 * from release 1.58.2. test/library-internals/playwright.test.ts fails if a runtime lacks it.
 */
import type { Method, Methods } from './wrap.ts';

/** Runs Playwright calls without a step in the report, if the Playwright release supports that. */
export async function withoutStep(owner: unknown, work: () => Promise<unknown>): Promise<unknown> {
  const wrap = (owner as Methods)['_wrapApiCall']; // feature detection
  if (typeof wrap !== 'function') return work();
  return (wrap as Method).call(owner, work, { internal: true });
}
