import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium, watchedPage } from '../helpers/scripts/chromium.ts';
import { anyDatabase } from '../helpers/service/database.ts';
import { startTestService, type TestService } from '../helpers/service/service.ts';

/** The documents as a site (`npm run docs`), and the service that shows it at /help. */

const root = resolve(import.meta.dirname, '../..');
const site = join(root, 'build', 'help');
function render(folder: string): void {
  const script = join(root, 'scripts', 'docs.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the site cannot be rendered:\n${stderr}`);
}

let api: TestService;
beforeAll(async () => {
  render(site);
  api = await startTestService(await anyDatabase.open());
}, 120_000);
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(new URL(path, `${api.url}/help/`), { headers, redirect: 'manual' });

/** Every page of the site, found by following its links, with the ids of its elements. */
async function crawl() {
  const pages = new Map<string, { html: string; ids: Set<string> }>();
  const broken: string[] = [];
  const wanted: { from: string; to: URL }[] = [{ from: '', to: new URL(`${api.url}/help/`) }];
  const anchors: { from: string; to: URL }[] = [];
  for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
    const { from, to } = next;
    if (to.hash !== '') anchors.push(next);
    if (pages.has(to.pathname)) continue;
    const response = await fetch(to);
    if (response.status !== 200) broken.push(`${from} → ${to.pathname}: ${response.status}`);
    const html = response.headers.get('content-type')?.startsWith('text/html') ? await response.text() : '';
    const ids = new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id));
    pages.set(to.pathname, { html, ids });
    for (const [, address = ''] of html.matchAll(/(?:href|src|data-sections)="([^"]*)"/g)) {
      const target = new URL(address, to);
      if (target.origin === to.origin) wanted.push({ from: to.pathname, to: target });
    }
  }
  for (const { from, to } of anchors)
    if (!pages.get(to.pathname)?.ids.has(decodeURIComponent(to.hash.slice(1))))
      broken.push(`${from} → ${to.pathname}${to.hash}`);
  return { pages, broken };
}

describe('the site', () => {
  it('has every document, and no link of it leads nowhere', async () => {
    const { pages, broken } = await crawl();
    expect(broken).toEqual([]);
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining([
        '/help/',
        '/help/api.html',
        '/help/security-policy.html',
        '/help/changelog.html',
      ]),
    );
  }, 60_000);

  it('is the same at every rendering', () => {
    const other = mkdtempSync(join(tmpdir(), 'help-'));
    try {
      render(join(other, 'site'));
      for (const name of ['index.html', 'api.html'])
        expect(readFileSync(join(other, 'site', name), 'utf8')).toBe(readFileSync(join(site, name), 'utf8'));
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  }, 60_000);
});

describe('the service at /help', () => {
  it('sends pages with a policy without inline scripts, and hashed files for a year', async () => {
    expect((await get('/help')).headers.get('location')).toBe('/help/');
    const page = await get('api.html', { 'accept-encoding': 'gzip' });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-encoding')).toBe('gzip');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    const html = await page.text();
    const again = await get('api.html', {
      'accept-encoding': 'gzip',
      'if-none-match': page.headers.get('etag') ?? '',
    });
    expect(again.status).toBe(304);
    const plain = await get('api.html', { 'accept-encoding': 'identity' });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(html);
    const [, style = ''] = /href="([^"]*\.css)"/.exec(html) ?? [];
    expect((await get(style)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  });

  it.each([
    'nothing.html',
    '..%2fpages%2fnames.json',
    '%2e%2e/%2e%2e/package.json',
    'assets',
    'assets/x.css',
  ])('answers 404 for %s', async (path) => {
    expect((await get(path)).status).toBe(404);
  });
});

describe.skipIf(!hasChromium)('the site in a browser', { timeout: 60_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser.close());

  it('finds a section by its words, with the keyboard, without an error in the console', async () => {
    const { page, faults } = await watchedPage(browser);
    await page.goto(`${api.url}/help/`);
    await page.keyboard.press('/');
    await page.keyboard.type('readiness');
    const results = page.locator('#results a');
    await results.first().waitFor();
    expect((await results.allInnerTexts()).join('\n')).toMatch(/readiness/i);
    await page.keyboard.press('ArrowDown');
    const address = await results.first().getAttribute('href');
    await page.keyboard.press('Enter');
    await page.waitForURL(new URL(address ?? '', `${api.url}/help/`).href);
    expect(await page.locator('h1').count()).toBe(1);
    await page.getByRole('searchbox').fill('xyzzyplugh');
    await page.getByText('Nothing found.').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator('#results').isVisible()).toBe(false);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('has a link in the pages of the service', async () => {
    const { page } = await watchedPage(browser);
    await page.context().request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    await page.goto(api.url);
    await page.getByRole('link', { name: 'Help' }).click();
    await page.waitForURL(`${api.url}/help/`);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.close();
  });
});

it('the compiled program has its own copy, if it was built by the set-up', () => {
  const compiled = join(root, 'dist', 'service', 'pages', 'help');
  if (existsSync(join(root, 'build', '.help-stamp')))
    expect(existsSync(join(compiled, 'index.html'))).toBe(true);
});
