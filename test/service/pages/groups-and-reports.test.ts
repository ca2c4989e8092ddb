import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFile } from 'node:fs/promises';
import type { Db } from '../../../src/service/db/database.ts';
import { addCheck, encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** Groups and reports, in a Chromium. */

let db: Db;
let api: TestService;
let browser: Browser;
let groupId: number;
beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  const { id: accountId } = api.account;
  const made = await api.call<{ id: number }>('POST', '/v2/check-groups', { body: { name: '<b>Shop</b>' } });
  groupId = made.body.id;
  for (const name of ['=1+1', 'Outside']) {
    const id = await addCheck(db, { accountId, locations: ['eu-west-1'], now: Date.now() });
    const group = name === 'Outside' ? null : groupId;
    await db.query('update checks set name = $2, group_id = $3 where id = $1', [id, name, group]);
    if (name !== 'Outside') await storeRuns(db, { accountId, checkId: id }, [{ at: Date.now() - 60_000 }]);
  }
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
  await page.getByRole('heading', { level: 1 }).waitFor();
  return { page, faults };
}

describe.skipIf(!hasChromium)('groups and reports', { timeout: 60_000 }, () => {
  it('shows the checks of a group, and mutes them', async () => {
    const { page, faults } = await open('/groups');
    await page.getByRole('link', { name: '<b>Shop</b>', exact: true }).click();
    await page.getByRole('link', { name: '=1+1' }).waitFor();
    // Not the inner text: rows outside the window are not drawn.
    expect(await page.locator('.check-name a').allTextContents()).toEqual(['=1+1']);
    await page.getByRole('button', { name: 'Mute', exact: true }).click();
    await page.getByRole('button', { name: 'Unmute' }).waitFor();
    const { body } = await api.call('GET', `/v2/check-groups/${groupId}`);
    expect(body['muted']).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('shows a month at a glance, whose days are reports of their own', async () => {
    const { page, faults } = await open('/reports');
    const days = page.getByRole('region', { name: 'The last 30 days' }).getByRole('button');
    await days.first().waitFor();
    expect(await days.count()).toBe(30);
    await days.last().click();
    const today = new Date().toISOString().slice(0, 10);
    await expect.poll(() => page.url()).toContain(`first=${today}&last=${today}`);
    expect(await page.getByLabel('First day (UTC)').inputValue()).toBe(today);
    await days.last().click();
    await expect.poll(() => page.url()).not.toContain('first=');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('sorts a report by its address, and writes no formula into its file', async () => {
    const { page, faults } = await open('/reports?range=last24Hours&sort=name&order=desc');
    const names = page.locator('tbody a');
    await names.first().waitFor();
    expect(await names.allInnerTexts()).toEqual(['Outside', '=1+1']);
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download as CSV' }).click();
    const text = await readFile(await (await coming).path(), 'utf8');
    expect(text).toMatch(/^check,id,type[^]*\r\n'=1\+1,[^,]+,URL,,100,100,100,100\r\n$/);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expect(faults).toEqual([]);
    await page.close();
  });
});
