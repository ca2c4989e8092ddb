import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright';
import { chromiumWrapper } from '../../../src/script/playwright/browser-wrappers.ts';
import { systemChromium } from '../../../src/script/playwright/browsers.ts';

/** A Chromium of the system, for tests of pages. */

const program = systemChromium.find((path) => existsSync(path));

export const hasChromium = program !== undefined;

/**
 * Starts the system's Chromium as checks start it, which halves the processor time that a page takes. Rejects if the
 * system has none: skip tests by `hasChromium`.
 */
export async function startChromium(): Promise<Browser> {
  if (program === undefined) throw new Error('this machine has no Chromium');
  return chromium.launch({ executablePath: wrapperOf(program) });
}

function wrapperOf(of: string): string {
  const folder = join(import.meta.dirname, '..', '..', '..', 'build');
  mkdirSync(folder, { recursive: true });
  const wrapper = join(folder, 'chromium-of-tests');
  // Other test files may start it at this moment.
  const draft = `${wrapper}-${process.pid}`;
  writeFileSync(draft, chromiumWrapper(of, false, false), { mode: 0o755 });
  renameSync(draft, wrapper);
  return wrapper;
}

/** A new page, and the errors of its scripts and its console. */
export async function watchedPage(browser: Browser): Promise<{ page: Page; faults: unknown[] }> {
  const page = await browser.newPage();
  const faults: unknown[] = [];
  page.on('pageerror', (error) => faults.push(error));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${message.text()} ${message.location().url}`);
  });
  return { page, faults };
}
