import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Status pages, incidents and maintenance windows, made by a person in a Chromium. */

let api: TestService;
let browser: Browser;
let page: Page;
let faults: unknown[];
beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  api = await startTestService(await anyDatabase.open(), { encryption });
  ({ page, faults } = await watchedPage(browser));
  await page.goto(`${api.url}/`);
  await page.getByLabel('API key').fill(api.account.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Maintenance' }).waitFor();
  // Before the sign-in, GET /v1/me is refused.
  faults.length = 0;
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

const hostile = '<img src=x onerror="alert(1)">';
const open = (path: string) => page.goto(`${api.url}${path}`);
const hasNoOverflow = () =>
  page.evaluate<boolean>('document.documentElement.scrollWidth <= document.documentElement.clientWidth');

describe.skipIf(!hasChromium)('pages of status pages', { timeout: 60_000 }, () => {
  it('make a service and a status page, and show an incident from its opening to its end', async () => {
    await open('/services/new');
    await page.getByLabel('Name').fill(hostile);
    await page.getByRole('button', { name: 'Create service' }).click();
    await page.getByRole('link', { name: hostile }).waitFor();

    await open('/status-pages/new');
    await page.getByLabel('Name (required)').fill('Acme');
    await page.getByLabel('Address').fill('Acme!');
    await page.getByRole('button', { name: 'Add card' }).click();
    await page.getByLabel('Name of card 1').fill('Web');
    await page.getByLabel(hostile).check();
    await page.getByRole('button', { name: 'Create status page' }).click();
    await page.locator('.field.wrong').getByText('Address').waitFor();
    await page.getByLabel('Address').fill('acme-pages');
    await page.getByRole('button', { name: 'Create status page' }).click();
    const preview = page.frameLocator('iframe.preview');
    await preview.getByText('All systems operational').waitFor();

    await open('/incidents/new');
    await page.getByLabel('Name (required)').fill('Checkout fails');
    await page.getByLabel(hostile).check();
    await page.getByLabel('Text').fill('We look into it.');
    await page.getByRole('button', { name: 'Open incident' }).click();
    await page.getByRole('heading', { level: 1, name: 'Checkout fails' }).waitFor();
    expect(await (await fetch(`${api.url}/status/acme-pages`)).text()).toContain('Some systems are down');
    await page.getByLabel('Text').fill('It is oevr.');
    await page.getByRole('button', { name: 'Publish update' }).click();
    const updates = page.locator('.timeline-updates li');
    await updates.nth(1).waitFor();
    await updates.first().getByRole('button', { name: 'Change update' }).click();
    await page.getByLabel('Text of this update (required)').fill('It is nearly over.');
    await page.getByRole('button', { name: 'Save update' }).click();
    await updates.first().getByText('It is nearly over.').waitFor();
    expect(await (await fetch(`${api.url}/status/acme-pages`)).text()).toContain('It is nearly over.');
    await updates.first().getByRole('button', { name: 'Delete update' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await updates.getByText('We look into it.').waitFor();
    await expect.poll(() => updates.count()).toBe(1);
    // An incident has at least one update.
    expect(await page.getByRole('button', { name: 'Delete update' }).count()).toBe(0);
    await page.getByLabel('Text').fill('It is over.');
    await page.getByRole('button', { name: 'Publish and resolve' }).click();
    await page.locator('.status', { hasText: 'Resolved' }).waitFor();
    expect(await (await fetch(`${api.url}/status/acme-pages`)).text()).toContain('All systems operational');
    // The refused save is an error of the console, too.
    expect(faults.filter((fault) => !String(fault).includes('400 (Bad Request)'))).toEqual([]);
    faults.length = 0;
  });

  it('plan maintenance, and show it in a calendar that needs only the keyboard', async () => {
    await open('/maintenance/new');
    await page.getByLabel('Name').fill('Move of the shop');
    await page.getByLabel('Begins').fill('2031-03-04T05:00');
    await page.getByLabel('Ends').fill('2031-03-04T06:00');
    await page.getByLabel('Repeats').selectOption('WEEK');
    await page.getByRole('button', { name: 'Create window' }).click();
    await page.getByRole('link', { name: 'Move of the shop' }).waitFor();
    await open('/maintenance?month=2031-03&day=2031-03-03');
    await page.getByRole('button', { name: /4 March|March 4/ }).waitFor();
    await page.locator('.day.chosen').focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('.day:focus').textContent()).toContain('Move of the shop');
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('.day:focus').textContent()).toContain('Move of the shop');
    expect(new URL(page.url()).searchParams.get('day')).toBe('2031-03-11');
    await page.locator('.day-list a').click();
    await page.getByRole('heading', { level: 1, name: 'Move of the shop' }).waitFor();
    expect(await page.getByLabel('Begins').inputValue()).toBe('2031-03-04T05:00');
    expect(faults).toEqual([]);
  });

  it('fit a screen of 390 px', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    const paths = ['/maintenance', '/maintenance/new', '/incidents', '/incidents/new', '/status-pages'];
    for (const path of [...paths, '/status-pages/new', '/services', '/services/new', '/status/acme-pages']) {
      await open(path);
      await page.locator('h1').waitFor();
      expect(await hasNoOverflow(), path).toBe(true);
    }
    expect(faults).toEqual([]);
  });
});
