import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright';
import { systemChromium } from '../../../src/script/playwright/browsers.ts';

/** A Chromium of the system, for tests of pages. */

const executablePath = systemChromium.find((path) => existsSync(path));

export const hasChromium = executablePath !== undefined;

/** Starts the system's Chromium. Rejects if the system has none: skip tests by `hasChromium`. */
export async function startChromium(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('this machine has no Chromium');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
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
