import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { addCheck, encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';

import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** The page with its checks and their runs, in a Chromium. */

let db: Db;
let api: TestService;
let browser: Browser;
beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  const { id: accountId } = api.account;
  const checkId = await addCheck(db, {
    accountId,
    locations: ['eu-west-1'],
    now: Date.now(),
    definition: { request: { url: 'https://shop.example/' } },
  });
  const response = { status: 204, statusText: 'No Content', httpVersion: '1.1', headers: { server: 'shop' } };
  await storeRuns(db, { accountId, checkId }, [
    { at: Date.now() - 60_000, responseTime: 40 },
    { at: Date.now(), responseTime: 40, timings: { dns: 3, tls: 12, total: 40 }, details: { response } },
  ]);
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

const signedIn = async (key: string) => {
  const { page, faults } = await watchedPage(browser);
  await page.goto(`${api.url}/#key=${key}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return { page, faults };
};

describe.skipIf(!hasChromium)('the page', { timeout: 60_000 }, () => {
  it('asks for a key, refuses a wrong one, and forgets the key of a reader who signs out', async () => {
    const { page } = await watchedPage(browser);
    await page.goto(api.url);
    await page.locator('#key').fill('key_wrong');
    await page.getByRole('button', { name: 'Show checks' }).click();
    await page.locator('#problem').filter({ hasText: 'This key was refused.' }).waitFor();
    await page.locator('#key').fill(api.account.key);
    await page.getByRole('button', { name: 'Show checks' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.locator('#main').waitFor({ state: 'hidden' });
    expect(await page.locator('#ask').innerText()).toContain('API key');
    await page.goto(api.url);
    await page.locator('#ask').waitFor();
  });

  it('shows an account without checks the command that creates one', async () => {
    const { page, faults } = await signedIn(api.foreign.key);
    const shown = await page.locator('#checks').innerText();
    expect(shown).toContain('No checks yet.');
    expect(shown).toContain(`curl -X POST ${api.url}/v1/checks/url \\`);
    const [, body = ''] = /-d '(.*)'/.exec(shown) ?? [];
    const { status } = await api.call('POST', '/v1/checks/url', {
      key: api.foreign.key,
      body: { ...(JSON.parse(body) as object), privateLocations: [], locations: ['eu-west-1'] },
    });
    expect(status).toBe(201);
    expect(faults).toEqual([]);
  });

  it("shows a run's response and timings, and names a run without details", async () => {
    const { page, faults } = await signedIn(api.account.key);
    await page.getByRole('button', { name: /^check / }).click();
    const details = page.locator('tr:nth-child(1) > td > button:text("Details")');
    await details.click();
    const open = page.locator('.run-detail td');
    await open.filter({ hasText: 'HTTP/1.1 204 No Content' }).waitFor();
    expect(await open.innerText()).toMatch(
      /Response\s+HTTP\/1.1 204 No Content\s+server: shop\s+Timings\s+DNS 3\.0 ms\s*TLS 12 ms\s*total 40 ms/,
    );
    await details.click();
    await page.locator('.runs-table tr:nth-child(2) > td > button').click();
    await open.filter({ hasText: 'No further details were recorded.' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('reports that the service is away, and how old the figures are', async () => {
    const { page } = await signedIn(api.account.key);
    await page.route('**/web/overview*', (route) => route.abort());
    // As when the user returns to the tab: the page reloads its data at once.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    const problem = page.locator('#problem');
    await problem.filter({ hasText: 'Cannot reach the service.' }).waitFor();
    expect(await problem.innerText()).toMatch(
      /^Cannot reach the service\. Retrying every 5 s; figures are from \S.*\.$/,
    );
    await page.unroute('**/web/overview*');
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await problem.waitFor({ state: 'hidden' });
  });
});
