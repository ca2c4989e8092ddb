import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** The form of check groups, in a Chromium. */

let db: Db;
let api: TestService;
let browser: Browser;
beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  await api.call('POST', '/v1/private-locations', { body: { name: 'Office', slugName: 'office' } });
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

async function open(path: string) {
  const { page, faults } = await watchedPage(browser);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.context().request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
  await page.goto(`${api.url}${path}`);
  return { page, faults };
}
const group = async (id: unknown) => (await api.call('GET', `/v2/check-groups/${String(id)}`)).body;
const comparable = ({ id: _id, name: _name, created_at: _made, updated_at: _changed, ...rest }: Fields) =>
  rest;

describe.skipIf(!hasChromium)('the form of a group', { timeout: 60_000 }, () => {
  it('creates a group with the defaults of the API, and says what is wrong', async () => {
    const { page, faults } = await open('/groups');
    await page.getByRole('link', { name: 'New group' }).click();
    const create = page.getByRole('button', { name: 'Create the group' });
    await create.click();
    await page.getByRole('alert').waitFor();
    const name = page.getByLabel('Name (required)');
    expect(await name.getAttribute('aria-invalid')).toBe('true');
    await name.fill('<b>Shop</b>');
    await create.click();
    await page.waitForURL(/\/groups\/\d+$/);
    const made = await api.call('POST', '/v2/check-groups', { body: { name: 'By the API' } });
    const id = new URL(page.url()).pathname.split('/').at(-1);
    expect(comparable(await group(id))).toEqual(comparable(await group(made.body['id'])));
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expect(faults.filter((fault) => !String(fault).includes('400'))).toEqual([]);
    await page.close();
  });

  it('changes only what was changed, and keeps secret values', async () => {
    const secret = { key: 'TOKEN', value: 'hidden', secret: true, locked: false };
    const { body } = await api.call('POST', '/v2/check-groups', {
      body: { name: 'Shop', retryStrategy: 'FALLBACK', environmentVariables: [secret] },
    });
    const { page, faults } = await open(`/groups/${String(body['id'])}`);
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel(/^Office/).check();
    await page.getByLabel('Runs in several locations').selectOption('in all locations at once');
    await page.locator('summary', { hasText: 'Alerts' }).click();
    await page.getByLabel('Alert settings').selectOption('of this group');
    await page.getByLabel('Failed runs in a row').selectOption('3 runs');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    const sending = page.waitForRequest((request) => request.method() === 'PUT');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(Object.keys((await sending).postDataJSON() as object).toSorted()).toEqual([
      'alertSettings',
      'privateLocations',
      'runParallel',
      'useGlobalAlertSettings',
    ]);
    await page.waitForURL(/\/groups\/\d+$/);
    expect(await group(body['id'])).toMatchObject({
      retryStrategy: 'FALLBACK',
      privateLocations: ['office'],
      runParallel: true,
      useGlobalAlertSettings: false,
      alertSettings: { runBasedEscalation: { failedRunThreshold: 3 } },
      environmentVariables: [{ key: 'TOKEN', secret: true }],
    });
    expect(faults).toEqual([]);
    await page.close();
  });

  it('shows no form and no links to it to a key that may only read', async () => {
    const { body } = await api.call('POST', '/v1/api-keys', { body: { name: 'reader', role: 'READ_ONLY' } });
    const { page } = await watchedPage(browser);
    await page
      .context()
      .request.post(`${api.url}/v1/sign-in`, { data: { apiKey: body['rawKey'] ?? body['key'] } });
    await page.goto(`${api.url}/groups`);
    await page.getByRole('link', { name: '<b>Shop</b>' }).waitFor();
    expect(await page.getByRole('link', { name: /^(New group|Edit)/ }).count()).toBe(0);
    await page.goto(`${api.url}/groups/new`);
    await page.getByText('It needs a key with the role READ_WRITE').waitFor();
    await page.close();
  });
});
