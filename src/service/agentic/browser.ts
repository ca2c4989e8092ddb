import { lookup } from 'node:dns/promises';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { kindOfAddress } from '../notifications/target-address.ts';
import { startGuardingProxy } from './guarding-proxy.ts';

/** The browser of agentic checks: Chromium, driven by the playwright-core of the newest runtime that is installed. */

/** What is used of the library, which the service does not depend on. */
export type Page = {
  goto(url: string): Promise<unknown>;
  url(): string;
  title(): Promise<string>;
  locator(selector: string): Locator;
  setDefaultTimeout(ms: number): void;
  close(): Promise<void>;
};
type Locator = {
  first(): Locator;
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  evaluate<T>(
    work: (element: { innerText: string }, given: T) => string,
    given: T,
    options: { timeout: number },
  ): Promise<string>;
};
type Route = { request(): { url(): string }; abort(): Promise<void>; continue(): Promise<void> };
type Browser = {
  newContext(options: object): Promise<{
    newPage(): Promise<Page>;
    route(pattern: string, handler: (route: Route) => Promise<void>): Promise<void>;
    on(event: 'page', listener: (page: Page) => void): void;
  }>;
  close(): Promise<void>;
};
type Library = {
  chromium: { executablePath(): string; launch(options: object): Promise<Browser> };
};

/** Of one action: milliseconds. */
const actionMs = 15_000;
const launchMs = 30_000;
/** A browser that does not end by itself is no longer waited for: it ends with the pipe that it is driven through. */
const closeMs = 10_000;

/** Hosts whose addresses are remembered. */
const mostHosts = 1_000;

/** Why there is no browser; the message says what to do. */
export class NoBrowser extends Error {}

/** A page of a browser of its own; `close` ends the browser. Rejects with NoBrowser. */
export async function openPage(program: string | null): Promise<{ page: Page; close: () => Promise<void> }> {
  const library = findLibrary();
  const own = library.chromium.executablePath();
  const places = program === null ? [own, '/usr/bin/chromium', '/usr/bin/chromium-browser'] : [program];
  const executablePath = places.find((path) => existsSync(path));
  if (executablePath === undefined) {
    throw new NoBrowser(
      'no Chromium is installed beside the service: install the package chromium, or set AGENTIC_BROWSER',
    );
  }
  const proxy = await startGuardingProxy();
  let browser: Browser;
  try {
    browser = await library.chromium.launch({
      executablePath,
      timeout: launchMs,
      // Chromium refuses to run as root with its sandbox.
      chromiumSandbox: process.getuid?.() !== 0,
      // Redirects, sockets and whatever else a page opens pass it too; the route below sees first requests alone.
      proxy: { server: proxy.url },
      args: ['--force-webrtc-ip-handling-policy=disable_non_proxied_udp'],
      // Nothing of the service's environment reaches the pages' process.
      env: { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' },
    });
  } catch (error) {
    await proxy.close();
    throw error;
  }
  const close = async () => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, closeMs)));
    await Promise.race([browser.close(), late]).finally(() => clearTimeout(timer));
    await proxy.close();
  };
  try {
    const context = await browser.newContext({ acceptDownloads: false, serviceWorkers: 'block' });
    const allowed = new Map<string, Promise<boolean>>();
    await context.route('**/*', async (route) => {
      const host = hostOf(route.request().url());
      if (host !== null && !allowed.has(host)) {
        if (allowed.size >= mostHosts) allowed.clear();
        allowed.set(host, mayVisit(host));
      }
      const isAllowed = host !== null && (await allowed.get(host)) === true;
      await (isAllowed ? route.continue() : route.abort()).catch(() => undefined);
    });
    const page = await context.newPage();
    // Popups: nobody looks at them, and a page may open any number.
    context.on('page', (popup) => void popup.close().catch(() => undefined));
    page.setDefaultTimeout(actionMs);
    return { page, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The text that is seen on the page, of at most `most` characters, which is all that leaves the browser. */
export async function visibleText(page: Page, most: number): Promise<string> {
  const options = { timeout: actionMs };
  return page.locator('body').evaluate((body, length) => body.innerText.slice(0, length), most, options);
}

/** Null: it is no URL of the web. */
export function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname } = new URL(url);
  if (protocol === 'data:' || protocol === 'blob:') return '';
  return protocol === 'http:' || protocol === 'https:' ? hostname : null;
}

/** Addresses that hand out the credentials of a cloud are not visited, by whatever name. */
async function mayVisit(host: string): Promise<boolean> {
  if (host === '') return true;
  const literal = host.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0) return kindOfAddress(literal) !== 'never';
  const addresses = await lookup(host, { all: true }).catch(() => []);
  return addresses.every(({ address }) => kindOfAddress(address) !== 'never');
}

function findLibrary(): Library {
  for (let folder = new URL('./', import.meta.url), up = 0; up < 6; up++, folder = new URL('../', folder)) {
    const runtimes = fileURLToPath(new URL('runtimes/', folder));
    if (!existsSync(runtimes)) continue;
    const newest = readdirSync(runtimes)
      .sort()
      .reverse()
      .map((name) => join(runtimes, name, 'node_modules', 'playwright-core'))
      .find((path) => existsSync(join(path, 'package.json')));
    if (newest !== undefined) return createRequire(import.meta.url)(newest) as Library; // its public interface
  }
  throw new NoBrowser(
    'no runtime with Playwright is installed beside the service, so there is nothing to drive a browser with',
  );
}
