/**
 * Calls a method of Playwright's client objects (`_wrapApiCall` in playwright-core/lib/client/channelOwner.js), read from release
 * 1.58.2. test/library-internals/playwright.test.ts fails when a runtime lacks it.
 */
import type { Method, Methods } from './wrap.ts';

/** Runs calls of Playwright without a step in the report, where its release has a way to say so. */
export async function withoutStep(owner: unknown, work: () => Promise<unknown>): Promise<unknown> {
  const wrap = (owner as Methods)['_wrapApiCall']; // feature detection
  if (typeof wrap !== 'function') return work();
  return (wrap as Method).call(owner, work, { internal: true });
}
