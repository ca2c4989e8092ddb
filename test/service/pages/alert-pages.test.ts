import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kindOfAddress } from '../../../src/addresses/address-kind.ts';
import { readNotificationConfig } from '../../../src/config/notifications.ts';
import { insertAlerts } from '../../../src/service/alerting/statements.ts';
import { queueNotifications } from '../../../src/service/alert-channels/queue.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { handleNotifications } from '../../../src/service/notifications/deliver.ts';
import { testAlert } from '../../../src/service/notifications/test-alert.ts';
import { addCheck, encryption, silent } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startReceiver, type Receiver } from '../../helpers/service/notification-targets.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Alerts, notifications and channels, in a Chromium and with a real receiver. */

let api: TestService;
let browser: Browser;
let background: Background;
let receiver: Receiver;
let status = 200;
let readerKey = '';

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  const db = await anyDatabase.open();
  receiver = await startReceiver((_request, response) => response.writeHead(status).end('noted'));
  background = createBackground({ db, log: silent });
  handleNotifications(background, {
    db,
    encryption,
    log: silent,
    now: Date.now,
    config: readNotificationConfig({}),
    calling: { privateTargets: 'allow', kindOf: kindOfAddress, timeoutMs: 10_000 },
    sendMail: () => Promise.reject(new Error('no mail here')),
    publicUrl: () => 'https://monitoring.example',
    retryDelaySeconds: 0,
    orderMs: 0,
  });
  await background.prepare();
  api = await startTestService(db, { encryption, background });
  const reader = await api.call('POST', '/v1/api-keys', { body: { name: 'reader', role: 'READ_ONLY' } });
  readerKey = String(reader.body['rawKey']);
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await background.stop();
  await receiver.close();
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

describe.skipIf(!hasChromium)('the pages of alerts', { timeout: 60_000 }, () => {
  it('create a channel, send a test message, and show the answer', async () => {
    const { page, faults } = await signedIn('/channels');
    await page.getByRole('button', { name: 'New channel' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Operations');
    await page.getByLabel('URL (required)').fill('ftp://nowhere');
    await page.getByLabel('Signing secret').fill('secret-of-the-hook');
    expect(await page.locator('.as-text').textContent()).not.toContain('secret-of-the-hook');
    await page.getByRole('button', { name: 'Create channel' }).click();
    await page.locator('.field.wrong', { hasText: 'must begin with http' }).waitFor();
    await page.getByLabel('URL (required)').fill(`${receiver.url}/hook`);
    await page.getByRole('button', { name: 'Create channel' }).click();
    await page.getByRole('button', { name: 'Send a test message to Operations' }).click();
    await page.locator('.test-message', { hasText: 'sending' }).waitFor();
    await background.tick();
    await page.locator('.test-message', { hasText: 'delivered' }).waitFor();
    expect(await page.locator('.test-message code').innerText()).toContain('200');
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook']);
    await page.getByRole('button', { name: 'Change Operations' }).click();
    expect(await page.getByLabel('Signing secret').inputValue()).toBe('*********');
    await page.getByLabel('Subscribe new checks').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('new checks are subscribed').waitFor();
    expect(await page.content()).not.toContain('secret-of-the-hook');
    expect(faults.filter((fault) => !String(fault).includes('400'))).toEqual([]);
  });

  it('list alerts with filters and days, their deliveries, and send one again', async () => {
    const { db, account } = api;
    const checkId = await addCheck(db, { accountId: account.id, now: Date.now() });
    const alert = {
      ...testAlert(account.id, new Date()),
      id: uuidv7(),
      checkId,
      checkName: 'Shop <b>front</b>',
      alertType: 'ALERT_FAILURE' as const,
      error: '<img src=x onerror="document.title=1">',
    };
    await insertAlerts(db, [alert, { ...alert, id: uuidv7(), alertType: 'ALERT_RECOVERY', error: null }]);
    const [channel] = (await api.call<Fields[]>('GET', '/v1/alert-channels')).body;
    status = 404;
    const about = { accountId: account.id, channelIds: [Number(channel?.['id'])], alertId: alert.id };
    await db.tx((tx) => queueNotifications(tx, background, about));
    await background.tick();

    const { page, faults } = await signedIn('/alerts');
    const rows = page.locator('.alerts-table tbody tr');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByLabel('Type').selectOption('ALERT_FAILURE');
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole('button', { name: /1 failure, 1 recovery/ }).click();
    await page.reload();
    expect(page.url()).toMatch(/type=ALERT_FAILURE&day=\d{4}-\d\d-\d\d/);
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining('Shop <b>front</b>')]);
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await page.getByRole('cell', { name: /not delivered/ }).waitFor();
    status = 200;
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByRole('cell', { name: /in progress/ }).waitFor();
    await background.tick();
    await page.getByRole('cell', { name: /^delivered/ }).waitFor();
    expect(faults).toEqual([]);
  });

  it('show a reader no buttons that would be refused, at 390 px too', async () => {
    const { page, faults } = await signedIn('/alerts', readerKey);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.locator('.alerts-table').waitFor();
    await fits(page);
    for (const tab of ['notifications', 'channels']) {
      await page.goto(`${api.url}/alerts?tab=${tab}`);
      await page.locator('.card').first().waitFor();
      await fits(page);
      expect(await page.getByRole('button', { name: /^(New|Change|Delete|Send)/ }).count()).toBe(0);
    }
    expect(await page.content()).not.toContain(receiver.url);
    expect(faults).toEqual([]);
  });
});
