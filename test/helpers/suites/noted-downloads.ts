import { join } from 'node:path';
import { createBrowserStore } from '../../../src/script/suite/browsers/store.ts';
import { noDownloads } from './suite-registry.ts';

/**
 * Leaves the note in an agent's data folder that its first suite would: where browsers would come from can't be reached. For
 * tests whose subject is not the way to Playwright's own builds; the first project of test/e2e/suites-managers.test.ts goes it.
 */
export async function noteNoDownloads(dataFolder: string): Promise<void> {
  const host = noDownloads.PLAYWRIGHT_DOWNLOAD_HOST;
  await createBrowserStore(join(dataFolder, 'suite-browsers')).add(['chromium-1'], {
    from: host,
    version: '1.0.0',
    install: () => Promise.resolve(`connect ECONNREFUSED ${new URL(host).host}`),
    signal: AbortSignal.timeout(10_000),
  });
}
