import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { addCheck, encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** The list of all checks, in a Chromium. */

let db: Db;
let api: TestService;
let browser: Browser;
const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
const passing = { status: 'passed', flags: 'false, false, false' };
const failing = { status: 'failed', flags: 'true, false, false' };

async function setStatus(checkId: string, { status, flags }: typeof passing): Promise<void> {
  await db.query(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_run_location, last_started_at)
     values ($1, $2, '${status}', ${flags}, 'eu-west-1', now())
     on conflict (check_id) do update set status = excluded.status, has_failures = excluded.has_failures`,
    [checkId, api.account.id],
  );
}

const ids: string[] = [];
beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  const { id: accountId } = api.account;
  for (let number = 1; number <= 60; number++) {
    const id = await addCheck(db, { accountId, locations: ['eu-west-1'], now: Date.now() });
    ids.push(id);
    const name = number === 60 ? hostile : `Check ${String(number).padStart(2, '0')}`;
    await db.query('update checks set name = $2, tags = $3 where id = $1', [
      id,
      name,
      [number % 2 === 0 ? 'even' : 'odd'],
    ]);
    await setStatus(id, number > 57 ? failing : passing);
  }
  await storeRuns(db, { accountId, checkId: ids[0] ?? '' }, [{ at: Date.now() - 60_000 }]);
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

async function open(path: string, key = api.account.key): Promise<{ page: Page; faults: unknown[] }> {
  const { page, faults } = await watchedPage(browser);
  await page.context().request.post(`${api.url}/v1/sign-in`, { data: { apiKey: key } });
  await page.goto(`${api.url}${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  return { page, faults };
}
const names = (page: Page) => page.locator('.check-name a').allInnerTexts();
const ready = (page: Page) => page.locator('.check-list[aria-busy="false"]').waitFor();

describe.skipIf(!hasChromium)('the list of all checks', { timeout: 60_000 }, () => {
  it('shows failing checks first, counts all, and shows a hostile name as text', async () => {
    const { page, faults } = await open('/');
    await ready(page);
    expect((await names(page)).slice(0, 4)).toEqual([hostile, 'Check 58', 'Check 59', 'Check 01']);
    expect(await page.title()).toBe('Checks');
    expect(await page.locator('.tiles').ariaSnapshot()).toContain('button "3 failing"');
    expect(await page.getByRole('row').nth(2).ariaSnapshot()).toMatch(
      /cell "failing"[^]*cell "Check 58 No agent serves[^]*link "Check 58"[^]*last 24 hours[^]*cell "Availability[^]*cell "p95[^]*cell "Last run[^]*cell "Next run/,
    );
    expect(faults).toEqual([]);
    await page.close();
  });

  it('says of a run whose time has come that it is due, not how long ago it was', async () => {
    await db.query(`update checks set next_due_at = now() - interval '70 seconds' where id = $1`, [ids[1]]);
    const { page } = await open('/?search=Check%2002');
    await ready(page);
    const time = page.locator('.check-row .check-time').last();
    expect(await time.innerText()).toMatch(/due$/);
    await page.goto(`${api.url}/checks/${ids[1]}`);
    await page.getByText('next run due').waitFor();
  });

  it('reads its code and its first checks at once, and each of them once', async () => {
    const { page, faults } = await watchedPage(browser);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(api.url);
    await page.getByLabel('API key').waitFor();
    expect(asked).not.toContain('/v1/checks-overview');
    // GET /v1/me tells that nobody is signed in.
    expect(faults.splice(0)).toHaveLength(1);
    await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    asked.splice(0);
    await page.goto(api.url);
    await ready(page);
    expect(asked.filter((path) => path === '/v1/checks-overview')).toHaveLength(1);
    expect(new Set(asked).size).toBe(asked.length);
    // The document names every script that the page loads.
    const document = await (await page.request.get(api.url)).text();
    expect(asked.filter((path) => path.endsWith('.js') && !document.includes(path))).toEqual([]);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('keeps search, filters and order in the address and after loading it again', async () => {
    const { page } = await open('/');
    await ready(page);
    await page.getByRole('searchbox').fill('check 5');
    await page.waitForURL(/search=check\+5/);
    await page.getByLabel('Tag', { exact: true }).selectOption('odd');
    await page.getByRole('button', { name: 'Name' }).click();
    await page.getByRole('button', { name: 'Name' }).click();
    await page.waitForURL(/tag=odd&sort=name&order=desc/);
    const wanted = ['Check 59', 'Check 57', 'Check 55', 'Check 53', 'Check 51'];
    await expect.poll(() => names(page)).toEqual(wanted);
    await page.reload();
    await expect.poll(() => names(page)).toEqual(wanted);
    expect(await page.getByRole('searchbox').inputValue()).toBe('check 5');
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await expect.poll(async () => (await names(page)).length).toBe(60);
    await page.close();
  });

  it('filters by state with the keyboard only', async () => {
    const { page } = await open('/');
    await ready(page);
    await page.getByRole('button', { name: '3 failing' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await names(page)).length).toBe(3);
    expect(page.url()).toContain('state=failing');
    await page.getByRole('searchbox').focus();
    for (let turn = 0; turn < 30; turn++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate("document.activeElement.matches('.check-name a')")) break;
    }
    expect(await page.evaluate('document.activeElement.textContent')).toBe(hostile);
    await page.close();
  });

  it('moves a check that fails to the top, and keeps the focus and the place', async () => {
    const { page } = await open('/');
    await ready(page);
    const stream = page.waitForResponse((answer) => answer.url().endsWith('/v1/events'));
    await page.reload();
    await stream;
    await ready(page);
    const link = page.getByRole('link', { name: 'Check 30' });
    await link.focus();
    await setStatus(ids[29] ?? '', failing);
    await page.getByRole('button', { name: '4 failing' }).waitFor();
    await expect.poll(async () => (await names(page)).indexOf('Check 30')).toBeLessThan(4);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Check 30');
    await setStatus(ids[29] ?? '', passing);
    await page.close();
  });

  it('draws the bars of a check with few elements, and names the bar under the pointer', async () => {
    const { page } = await open('/');
    await ready(page);
    const bars = page.locator('.check-row .bars').last();
    expect(await bars.locator('*').count()).toBeLessThan(7);
    await bars.scrollIntoViewIfNeeded();
    await bars.hover({ position: { x: 1, y: 12 } });
    const first = await bars.locator('title').textContent();
    expect(first).toMatch(/: no runs$/);
    const { width = 0 } = (await bars.boundingBox()) ?? {};
    await bars.hover({ position: { x: width - 1, y: 12 } });
    await expect.poll(() => bars.locator('title').textContent()).not.toBe(first);
    await page.close();
  });

  it('fits into 390 px without scrolling sideways', async () => {
    const { page } = await open('/');
    await page.setViewportSize({ width: 390, height: 800 });
    await ready(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.close();
  });

  it('shows an account without checks the next steps', async () => {
    const { page } = await open('/', api.foreign.key);
    // The buttons of the first steps appear once it is known that these steps are not done.
    const steps = page.locator('.first-run a');
    const paths = () => steps.evaluateAll((links) => links.map((one) => one.getAttribute('href')));
    await expect.poll(paths, { timeout: 30_000 }).toEqual(['/locations/new', '/locations', '/checks/new']);
    await page.close();
  });
});
