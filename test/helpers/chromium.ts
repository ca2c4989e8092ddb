import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { systemChromium } from '../../src/script/playwright/browsers.ts';
import { runtime } from './playwright.ts';

/** A Chromium for tests of pages, driven by the runtime's Playwright library: as much of its interface as they use. */

export type Page = {
  goto: (url: string) => Promise<unknown>;
  on: (event: 'pageerror' | 'console', listener: (what: { type?: () => string }) => void) => void;
  getByRole: (role: string, options: { name: string | RegExp }) => Locator;
  locator: (selector: string) => Locator;
  evaluate: (code: string) => Promise<unknown>;
  route: (url: string, answer: (route: { abort: () => Promise<void> }) => Promise<void>) => Promise<void>;
  unroute: (url: string) => Promise<void>;
};
export type Locator = {
  click: () => Promise<void>;
  fill: (text: string) => Promise<void>;
  innerText: () => Promise<string>;
  waitFor: (options?: { state: 'visible' | 'detached' | 'hidden' }) => Promise<void>;
  filter: (options: { hasText: string | RegExp }) => Locator;
};
export type Browser = { newPage: () => Promise<Page>; close: () => Promise<void> };
type Library = {
  chromium: { launch: (options: { executablePath: string; args: string[] }) => Promise<Browser> };
};

/** Call it only where `hasPlaywright` of ./playwright.ts is true. */
export async function startChromium(): Promise<Browser> {
  const executablePath = systemChromium.find((path) => existsSync(path)) ?? '';
  const library = createRequire(join(runtime?.folder ?? '', 'package.json'))('playwright-core') as Library;
  return library.chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** A new page, and the errors of its scripts and its console. */
export async function watchedPage(browser: Browser): Promise<{ page: Page; faults: unknown[] }> {
  const page = await browser.newPage();
  const faults: unknown[] = [];
  page.on('pageerror', (error) => faults.push(error));
  page.on('console', (message) => message.type?.() === 'error' && faults.push(message));
  return { page, faults };
}
