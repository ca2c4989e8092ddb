import type { Browser } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { startReceiver } from '../../../helpers/service/notification-targets.ts';
import type { Fields } from '../../../helpers/service/service.ts';
import { fits, keyboardOf, newVisitor, startJourney, type Journey } from './journey.ts';

/** What people change in an account from day to day, with a phone and the keyboard only. */

let browser: Browser;
let journey: Journey;
const closers: (() => Promise<void>)[] = [];
beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  journey = await startJourney();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await journey.close();
});

async function onPhone(path = '/') {
  const one = await newVisitor(browser, 390);
  closers.push(() => one.context.close());
  await one.context.request.post(`${journey.url}/v1/sign-in`, { data: { apiKey: journey.apiKey } });
  await one.page.goto(journey.url + path);
  const button = (name: string | RegExp) => one.page.getByRole('button', { name });
  const field = (name: string) => one.page.getByLabel(name, { exact: true });
  return { ...one, ...keyboardOf(one.page), button, field };
}

describe.skipIf(!hasChromium)('with the keyboard only, on a phone', { timeout: 180_000 }, () => {
  it('maintenance is planned, moved and cancelled', async () => {
    const { page, faults, goTo, press, type, button, field } = await onPhone();
    await goTo('Maintenance');
    await press(page.getByRole('link', { name: 'New window' }));
    await type(field('Name (required)'), 'Move of the shop');
    await press(field('Silence all alerts'), 'Space');
    await fits(page);
    await press(button('Create window'));
    await press(page.getByRole('link', { name: 'Move of the shop' }).first());
    await page.getByRole('heading', { name: 'Move of the shop', level: 1 }).waitFor();
    expect(await field('Silence all alerts').isChecked()).toBe(true);
    await type(field('Name (required)'), 'Move of the office');
    await press(button('Save'));
    await press(page.getByRole('link', { name: 'Move of the office' }).first());
    await press(button('Delete'));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }));
    await page.getByRole('heading', { name: 'Maintenance', level: 1 }).waitFor();
    expect(await journey.api<unknown>('GET', '/v1/maintenance-windows')).toEqual([]);
    await fits(page);
    expect(faults).toEqual([]);
  });

  it('a status page is previewed, made, changed and read', async () => {
    await journey.api('POST', '/v1/status-pages/services', { name: 'Checkout' });
    const { page, faults, goTo, press, type, button, field } = await onPhone();
    await goTo('Status pages');
    await press(page.getByRole('link', { name: 'New status page' }));
    await type(field('Name (required)'), 'Acme');
    await type(field('Address (required)'), 'acme-on-the-phone');
    await press(button('Add card'));
    await type(field('Name of card 1'), 'Shop');
    await press(field('Checkout'), 'Space');
    const preview = page.frameLocator('iframe.preview');
    await preview.getByRole('heading', { name: 'Checkout' }).waitFor();
    await type(field('Title'), 'State of Acme');
    await preview.getByRole('heading', { name: 'State of Acme', level: 1 }).waitFor();
    expect((await fetch(`${journey.url}/status/acme-on-the-phone`)).status).toBe(404);
    await fits(page);
    await press(button('Create status page'));
    await page.getByRole('heading', { name: 'Acme', level: 1 }).waitFor();
    await press(field('Private'), 'Space');
    await press(button('Save'));
    await page.getByText('A private page has no badge').waitFor();
    await preview.getByText('All systems operational').waitFor();
    // Visitors see a change within three seconds, also that there was no page before.
    const statusForVisitors = async () => (await fetch(`${journey.url}/status/acme-on-the-phone`)).status;
    await expect.poll(statusForVisitors, { timeout: 30_000 }).toBe(401);
    await fits(page);
    // A preview of a form that is not complete yet is refused, which the console shows.
    expect(faults.filter((fault) => !String(fault).includes('400 (Bad Request)'))).toEqual([]);
  });

  it('a channel gets another address, and a test message arrives there', async () => {
    const receiver = await startReceiver();
    closers.push(receiver.close);
    await journey.api('POST', '/v1/alert-channels', {
      type: 'WEBHOOK',
      config: { name: 'Pager', url: 'http://127.0.0.1:9/', method: 'POST' },
    });
    const { page, faults, goTo, press, type, button, field } = await onPhone();
    await goTo('Alerts');
    await press(page.getByRole('link', { name: 'Channels' }));
    await press(button('Change Pager'));
    await type(field('URL (required)'), `${receiver.url}/pager`);
    await fits(page);
    await press(button('Save'));
    await page.getByText('Saved the channel').waitFor();
    await press(button('Send a test message to Pager'));
    await page.getByText('delivered').waitFor();
    expect(receiver.received.map(({ path }) => path)).toEqual(['/pager']);
    await fits(page);
    expect(faults).toEqual([]);
  });

  it('a secret is stored, is not shown again, and is replaced', async () => {
    const { page, faults, goTo, press, type, button, field } = await onPhone();
    await goTo('Settings');
    await press(page.getByRole('link', { name: /^Variables/ }));
    await press(button('New variable'));
    await type(field('Name (required)'), 'SHOP_TOKEN');
    await press(field('Secret'), 'Space');
    await type(field('Value'), 'first-secret-value');
    await press(page.getByText('As JSON, curl or file'));
    await field('file shop-token.yaml').waitFor();
    expect(await page.getByRole('dialog').innerText()).not.toContain('first-secret-value');
    await fits(page);
    await press(button('Create variable'));
    await page.getByText('never shown').waitFor();
    expect(await page.content()).not.toContain('first-secret-value');
    await press(button('Change SHOP_TOKEN'));
    await type(field('Value'), 'second-secret-value');
    await press(button('Save'));
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain('second-secret-value');
    expect((await journey.api<Fields[]>('GET', '/v1/variables')).map(({ value }) => value)).toEqual(['']);
    await fits(page);
    expect(faults).toEqual([]);
  });

  it('a request with a body is sent from the reference', async () => {
    const { page, faults, press, type, button, field } = await onPhone('/docs#createSnippet');
    await type(field('Body'), '{"name": "from-the-reference", "script": "1"}');
    await fits(page);
    await press(button('Send the request'));
    await page.getByText('201').first().waitFor();
    const snippets = await journey.api<Fields[]>('GET', '/v1/snippets');
    expect(snippets.map(({ name }) => name)).toEqual(['from-the-reference']);
    await fits(page);
    expect(faults).toEqual([]);
  });
});
