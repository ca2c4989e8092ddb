import { lookup } from 'node:dns/promises';
import { isIP, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { chromium, type Page } from 'playwright';
import { kindOfAddress } from '../../../addresses/address-kind.ts';
import { startGuardingProxy } from '../guarding-proxy.ts';
import {
  actionMs,
  hostOf,
  launchMs,
  maxScreenshotBytes,
  type BrowserAnswer,
  type BrowserRequest,
  type PageCall,
} from '../page.ts';

/*
 * The process that drives the browser of one agentic check. It answers JSON-line requests on file descriptor 3.
 * It gets no secrets except the texts that it has to type. When the service exits, this process and all its children
 * exit too.
 */

/** Maximum number of cached host addresses. */
const maxHosts = 1_000;

async function open(request: Extract<BrowserRequest, { call: 'open' }>): Promise<Page> {
  const proxy = await startGuardingProxy();
  const browser = await chromium.launch({
    executablePath: request.program,
    timeout: launchMs,
    chromiumSandbox: request.sandbox,
    // Redirects and sockets pass through this proxy too; the route below sees only first requests.
    proxy: { server: proxy.url },
    args: ['--force-webrtc-ip-handling-policy=disable_non_proxied_udp'],
  });
  const context = await browser.newContext({ acceptDownloads: false, serviceWorkers: 'block' });
  const allowed = new Map<string, Promise<boolean>>();
  await context.route('**/*', async (route) => {
    const host = hostOf(route.request().url());
    if (host !== null && !allowed.has(host)) {
      if (allowed.size >= maxHosts) allowed.clear();
      allowed.set(host, mayVisit(host));
    }
    const isAllowed = host !== null && (await allowed.get(host)) === true;
    await (isAllowed ? route.continue() : route.abort()).catch(() => undefined);
  });
  const page = await context.newPage();
  // Popups are closed, because a page may open any number of them.
  context.on('page', (popup) => void popup.close().catch(() => undefined));
  page.setDefaultTimeout(actionMs);
  return page;
}

/** Addresses that serve cloud credentials are blocked under any name. */
async function mayVisit(host: string): Promise<boolean> {
  if (host === '') return true;
  const literal = host.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0) return kindOfAddress(literal) !== 'never';
  const addresses = await lookup(host, { all: true }).catch(() => []);
  return addresses.every(({ address }) => kindOfAddress(address) !== 'never');
}

/** Form fields and frames are covered completely, because their text cannot be searched. */
const mayShowSecrets = 'input, textarea, select, [contenteditable], iframe, frame, object, embed';

const calls: {
  readonly [call in PageCall]: (page: Page, ...args: (string | number)[]) => Promise<string>;
} = {
  goto: async (page, url) => {
    await page.goto(String(url));
    return '';
  },
  click: async (page, selector) => {
    await page.locator(String(selector)).first().click();
    return '';
  },
  fill: async (page, selector, text) => {
    await page.locator(String(selector)).first().fill(String(text));
    return '';
  },
  url: async (page) => page.url(),
  title: async (page) => page.title(),
  visibleText: async (page, max) => {
    const options = { timeout: actionMs };
    return page
      .locator('body')
      .evaluate((body, length) => body.innerText.slice(0, length), Number(max), options);
  },
  screenshot: async (page, ...secrets) => {
    const fields = secrets.length === 0 ? [] : [page.locator(mayShowSecrets)];
    const mask = [...fields, ...secrets.map((secret) => page.getByText(String(secret)))];
    const picture = await page.screenshot({ type: 'jpeg', quality: 60, animations: 'disabled', mask });
    if (picture.length > maxScreenshotBytes) throw new Error('the screenshot is too large');
    return picture.toString('base64');
  },
};

let opened: Page | null = null;

async function answer(request: BrowserRequest): Promise<string> {
  if (request.call === 'open') {
    opened = await open(request);
    return '';
  }
  if (opened === null) throw new Error('no page is open');
  return calls[request.call](opened, ...request.args);
}

const channel = new Socket({ fd: 3, readable: true, writable: true });
channel.on('error', () => process.exit(1));
channel.on('end', () => process.exit(1));
createInterface({ input: channel }).on('line', (line) => {
  const request = JSON.parse(line) as BrowserRequest; // texts from the service
  void answer(request)
    .then(
      (value): BrowserAnswer => ({ id: request.id, value }),
      (error: unknown): BrowserAnswer => ({
        id: request.id,
        error: error instanceof Error ? error.message : String(error),
      }),
    )
    .then((reply) => channel.write(`${JSON.stringify(reply)}\n`));
});
