import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encryption } from '../../../helpers/service/agent-service.ts';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../../helpers/service/service.ts';

/** A form with changes is not left without a question, whichever part of the address changes. */

let api: TestService;
let browser: Browser;
let page: Page;
const questions: string[] = [];
/** What the person answers. */
let isSure = false;

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  api = await startTestService(await anyDatabase.open(), { encryption });
  page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  page.on('dialog', (dialog) => {
    if (dialog.type() === 'confirm') questions.push(dialog.message());
    // A page that is left by `goto` asks in the browser's own words.
    void (isSure || dialog.type() !== 'confirm' ? dialog.accept() : dialog.dismiss());
  });
  await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

async function open(path: string): Promise<void> {
  questions.length = 0;
  isSure = false;
  await page.goto(`${api.url}${path}`);
}
const asked = (times: number) =>
  expect.poll(() => questions).toEqual(Array.from({ length: times }, () => 'Leave without saving?'));

describe.skipIf(!hasChromium)('unsaved changes', { timeout: 60_000 }, () => {
  it('of a location are kept from its other tabs, from Back and from Forward', async () => {
    const { body } = await api.call<{ id: string }>('POST', '/v1/private-locations', {
      body: { name: 'Harbour', slugName: 'harbour' },
    });
    const [agents, settings] = [`/locations/${body.id}`, `/locations/${body.id}?tab=settings`];
    await open(agents);
    const tabs = page.getByRole('navigation', { name: 'Parts of the location' });
    const tab = (name: string | RegExp) => tabs.getByRole('link', { name });
    await tab('Settings').click();
    await page.waitForURL(api.url + settings);
    await tab(/^Keys/).click();
    await page.waitForURL(/tab=keys/);
    await page.goBack();
    const name = page.getByLabel('Name');
    await name.fill('Harbour Office');

    await tab(/^Keys/).click();
    await asked(1);
    await page.evaluate('history.back()');
    await asked(2);
    await page.waitForURL(api.url + settings);
    expect(await name.inputValue()).toBe('Harbour Office');
    await page.evaluate('history.forward()');
    await asked(3);
    await page.waitForURL(api.url + settings);
    expect(await name.inputValue()).toBe('Harbour Office');

    isSure = true;
    await page.evaluate('history.back()');
    await asked(4);
    await page.waitForURL(api.url + agents);
    await tab('Settings').click();
    expect(await name.inputValue()).toBe('Harbour');
    await name.fill('Harbour Office');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved the location').waitFor();
    await tab(/^Keys/).click();
    await page.waitForURL(/tab=keys/);
    await asked(4);
  });

  it('of a channel are kept until the question is answered', async () => {
    await open('/alerts?tab=channels&edit=new');
    await page.getByLabel('Name', { exact: true }).fill('Operations');
    await page.getByRole('button', { name: 'All channels' }).click();
    await asked(1);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Operations');
    await page.getByLabel('URL (required)').fill('https://hooks.example/');
    await page.getByRole('button', { name: 'Create channel' }).click();
    await page.getByRole('heading', { name: 'Operations' }).waitFor();
    await asked(1);
  });

  it('of a maintenance window stay, without a question, while its occurrences are looked through', async () => {
    const { body } = await api.call<{ id: number }>('POST', '/v1/maintenance-windows', {
      body: {
        name: 'Update of the shop',
        startsAt: '2040-01-01T10:00:00Z',
        endsAt: '2040-01-01T11:00:00Z',
      },
    });
    await open(`/maintenance/${body.id}`);
    await page.getByLabel('Name').fill('Another name');
    await page.getByRole('button', { name: 'Last 90 days' }).click();
    await page.waitForURL(/period=past/);
    await asked(0);
    expect(await page.getByLabel('Name').inputValue()).toBe('Another name');
    await page.getByRole('link', { name: 'Maintenance' }).first().click();
    await asked(1);
    expect(await page.getByLabel('Name').inputValue()).toBe('Another name');
  });
});
