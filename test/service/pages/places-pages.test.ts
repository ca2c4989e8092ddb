import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Locations and settings, in a Chromium. */

let api: TestService;
let browser: Browser;
let readerKey = '';

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  api = await startTestService(await anyDatabase.open(), { encryption });
  const reader = await api.call('POST', '/v1/api-keys', { body: { name: 'reader', role: 'READ_ONLY' } });
  readerKey = String(reader.body['rawKey']);
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

async function signedIn(path: string, key = api.account.key): Promise<{ page: Page; faults: unknown[] }> {
  const { page, faults } = await watchedPage(browser);
  const headers = { origin: api.url };
  const answer = await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: key }, headers });
  expect(answer.status()).toBeLessThan(300);
  await page.goto(`${api.url}${path}`);
  await page.locator('h1').waitFor();
  return { page, faults };
}
const fits = async (page: Page) =>
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

describe.skipIf(!hasChromium)('the pages of locations', { timeout: 60_000 }, () => {
  it('create a location, show its key once with the commands, and rotate the key', async () => {
    const { page, faults } = await signedIn('/locations');
    await page.getByRole('link', { name: 'New location' }).click();
    await page.getByLabel('Name').fill('Harbour Office');
    expect(await page.getByLabel('Slug').inputValue()).toBe('harbour-office');
    await page.getByLabel('Limit the networks').check();
    await page.getByLabel('Allowed networks').fill('10.0.0.0/8,nonsense');
    await page.getByLabel('Stop held checks').check();
    await button(page, 'Create location').click();
    await page
      .locator('.field.wrong', { hasText: 'Allowed networks' })
      .getByText('nonsense')
      .first()
      .waitFor();
    await button(page, 'Remove nonsense').click();
    await button(page, 'Create location').click();
    await page.getByRole('heading', { name: 'Harbour Office' }).waitFor();

    await button(page, 'Create key').click();
    const first = await page.getByLabel('Key of the location', { exact: true }).innerText();
    expect(first).toMatch(/^pl_/);
    for (const name of ['docker run', 'compose file', 'helm install']) {
      const text = await page.getByLabel(name, { exact: true }).innerText();
      expect(text).toContain(api.url);
      expect(text).toContain(first);
    }
    await page.reload();
    await button(page, 'Rotate: create a new key').click();
    const second = await page.getByLabel('Key of the location', { exact: true }).innerText();
    expect(await page.content()).not.toContain(first);
    await page.getByText('Rotation: restart each agent').waitFor();
    await button(page, `Delete key ...${first.slice(-4)}`).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Rotation: restart each agent').waitFor({ state: 'hidden' });
    const { body } = await api.call<Fields[]>('GET', '/v1/private-locations');
    expect(body[0]).toMatchObject({
      slugName: 'harbour-office',
      allowedNetworks: ['10.0.0.0/8'],
      stopsInOutages: true,
      keys: [{ maskedKey: `...${second.slice(-4)}` }],
    });
    expect(faults.filter((fault) => !String(fault).includes('400'))).toEqual([]);
  });

  it('keep the figures of the queue up to date', async () => {
    const { page, faults } = await signedIn('/locations');
    const row = page.getByRole('row', { name: /Harbour Office/ });
    await row.getByText('empty').waitFor();
    const request = { url: 'https://shop.example/' };
    const check = await api.call('POST', '/v1/checks/url', {
      body: { name: 'Queued', privateLocations: ['harbour-office'], request },
    });
    const target = { checkId: [check.body['id']] };
    await api.call('POST', '/v2/check-sessions/trigger', { body: { target } });
    await row.getByText(/1 waiting/).waitFor();
    expect(faults).toEqual([]);
  });

  it('show a reader agents and queue without any button that would be refused, at 390 px too', async () => {
    const { body } = await api.call<Fields[]>('GET', '/v1/private-locations');
    const { page, faults } = await signedIn(`/locations/${String(body[0]?.['id'])}`, readerKey);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByText('No agent has joined yet').waitFor();
    await fits(page);
    expect(await page.getByRole('link', { name: 'Settings' }).count()).toBe(0);
    await page.goto(`${page.url()}?tab=keys`);
    await page.getByRole('heading', { name: 'Start an agent' }).waitFor();
    await fits(page);
    expect(await button(page, /Create|Rotate|Delete/).count()).toBe(0);
    await page.goto(`${api.url}/locations`);
    await page.getByRole('link', { name: 'Harbour Office' }).waitFor();
    await fits(page);
    expect(await page.getByRole('link', { name: 'New location' }).count()).toBe(0);
    expect(faults).toEqual([]);
  });
});

describe.skipIf(!hasChromium)('the settings', { timeout: 60_000 }, () => {
  it('create an API key with a role, show it once, change and delete it', async () => {
    const { page, faults } = await signedIn('/keys');
    await expect.poll(() => page.url()).toBe(`${api.url}/settings?tab=keys`);
    await button(page, 'New API key').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('deployments');
    await dialog.getByLabel('Role').selectOption('READ_RUN');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const key = await page.locator('pre[aria-label="New API key"]').innerText();
    const me = await api.call('GET', '/v1/me', { key });
    expect(me.body).toMatchObject({ role: 'READ_RUN', keyName: 'deployments' });
    await page.reload();
    await page.getByRole('cell', { name: 'deployments', exact: true }).waitFor();
    expect(await page.content()).not.toContain(key);
    await button(page, 'Change deployments').click();
    await dialog.getByLabel('Expires').fill('2020-01-01T00:00');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('.field.wrong', { hasText: 'must be later than now' }).waitFor();
    await dialog.getByLabel('Expires').fill('2099-01-01T00:00');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: /2099/ }).waitFor();
    await button(page, 'Delete deployments').click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await button(page, 'Change deployments').waitFor({ state: 'detached' });
    expect(faults.filter((fault) => !String(fault).includes('400'))).toEqual([]);
  });

  it('write secrets, and never get their values back', async () => {
    const { page, faults } = await signedIn('/variables');
    const answers: Promise<string>[] = [];
    page.on('response', (answer) => {
      if (answer.url().includes('/v1/variables')) answers.push(answer.text());
    });
    await button(page, 'New variable').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('SHOP_TOKEN');
    await dialog.getByRole('checkbox', { name: 'Secret' }).check();
    await dialog.getByLabel('Value').fill('token-of-the-shop');
    expect(await dialog.locator('.as-text').textContent()).not.toContain('token-of-the-shop');
    await dialog.getByRole('button', { name: 'Create variable' }).click();
    await page.getByRole('cell', { name: 'never shown' }).waitFor();
    await button(page, 'Change SHOP_TOKEN').click();
    expect(await dialog.getByLabel('Value').inputValue()).toBe('');
    await dialog.getByRole('checkbox', { name: 'Locked' }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'secret, locked' }).waitFor();
    expect(await page.content()).not.toContain('token-of-the-shop');
    const texts = await Promise.all(answers);
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.join()).not.toContain('token-of-the-shop');
    expect(faults).toEqual([]);
  });

  it('edit a snippet in the editor, at its own address', async () => {
    const { page, faults } = await signedIn('/snippets');
    await button(page, 'New snippet').click();
    await page.getByLabel('Name').fill('login');
    await page.locator('.cm-content').fill('module.exports = 1;');
    await button(page, 'Create snippet').click();
    await page.getByRole('link', { name: 'login' }).click();
    await page.reload();
    await page.locator('.cm-content', { hasText: 'module.exports = 1;' }).waitFor();
    expect(page.url()).toContain('tab=snippets&snippet=');
    expect(faults).toEqual([]);
  });

  it('show a reader no buttons that would be refused, at 390 px too', async () => {
    const { page, faults } = await signedIn('/settings', readerKey);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByText('SHOP_TOKEN').waitFor();
    for (const tab of ['', '?tab=snippets', '?tab=certificates', '?tab=account']) {
      await page.goto(`${api.url}/settings${tab}`);
      await page.locator('.card').first().waitFor();
      await fits(page);
      expect(await button(page, /^(New|Change|Delete|Save|Create)/).count()).toBe(0);
    }
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    expect(faults).toEqual([]);
  });
});
