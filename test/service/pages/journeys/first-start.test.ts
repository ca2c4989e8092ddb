import type { Browser } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { startReceiver } from '../../../helpers/service/notification-targets.ts';
import { fits, keyboardOf, newVisitor, startJourney, type Journey } from './journey.ts';

/** From the first start of a service to the recovery of an alert, with the keyboard only. */

let browser: Browser;
const closers: (() => Promise<void>)[] = [];
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  if (hasChromium) await browser.close();
});

async function newJourney(): Promise<Journey> {
  const journey = await startJourney();
  closers.push(journey.close);
  return journey;
}

describe.skipIf(!hasChromium)('the first start', { timeout: 180_000 }, () => {
  it.each([390, 1280])('leads from the sign-in to the recovery of an alert, %s px wide', async (width) => {
    const journey = await newJourney();
    const receiver = await startReceiver();
    closers.push(receiver.close);
    const { context, page, faults } = await newVisitor(browser, width);
    closers.push(() => context.close());
    const { press, type, goTo } = keyboardOf(page);
    const button = (name: string | RegExp) => page.getByRole('button', { name });
    const field = (name: string) => page.getByLabel(name, { exact: true });
    const heading = (name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor();

    // The address signs in once. An empty account shows its next steps.
    const token = await journey.service.newSignInToken(journey.apiKey);
    await page.goto(`${journey.url}/sign-in?token=${token}`);
    // The service made a first location. A second one is made here, as for a real network.
    await press(page.getByRole('link', { name: 'Connect an agent' }));
    await heading('Locations');
    await press(page.getByRole('link', { name: 'New location' }));
    await heading('New location');
    await type(field('Name (required)'), 'Harbour');
    await page.keyboard.press('Enter');
    await heading('Harbour');
    await press(button('Create key'));
    const key = await field('Key of the location').innerText();
    await fits(page);
    await journey.startAgent(key);
    await page.reload();
    await button('Rotate: create a new key').waitFor();
    expect(await page.content()).not.toContain(key);

    await goTo('Alerts');
    await press(page.getByRole('link', { name: 'Channels' }));
    await press(button('New channel'));
    await type(field('URL (required)'), `${receiver.url}/hook`);
    await page.keyboard.press('Enter');
    await page.getByText('Saved the channel').waitFor();

    await goTo('Checks');
    await press(page.getByRole('link', { name: 'Create a check' }));
    await press(page.getByRole('link', { name: /^URL check/ }));
    await type(field('Name (required)'), 'Shop');
    await type(field('URL (required)'), journey.target.url);
    const harbour = page.getByLabel('Harbour');
    if (!(await harbour.isChecked())) await press(harbour, 'Space');
    await press(button('Run now'));
    await page.getByRole('article').getByText('passed').waitFor();
    await fits(page);
    await press(button('Create the check'));
    await heading('Shop');

    const run = async (outcome: string) => {
      await press(button('Run now'));
      const progress = page.getByRole('status', { name: 'The requested run' });
      await progress.getByText(outcome).waitFor();
    };
    const sent = (alertType: string) =>
      expect
        .poll(() => receiver.received.map(({ body }) => body).join('\n'), { timeout: 15_000 })
        .toContain(alertType);
    await run('passed');
    expect(receiver.received).toEqual([]);
    journey.target.isDown = true;
    await run('failed');
    await sent('ALERT_FAILURE');
    journey.target.isDown = false;
    await run('passed');
    await sent('ALERT_RECOVERY');
    await fits(page);

    // The page has both alerts with their deliveries, newest first.
    await press(
      page.getByRole('navigation', { name: 'Parts of the check' }).getByRole('link', { name: 'Alerts' }),
    );
    const alerts = page.getByRole('region', { name: 'Alerts' });
    const raised = alerts.locator('.test-line .status');
    await raised.nth(1).waitFor();
    expect((await raised.allInnerTexts()).map((text) => text.replace(/^\S+\s+/, ''))).toEqual([
      'recovered',
      'failed',
    ]);
    await alerts.locator('.steps .status.passed').nth(1).waitFor();
    await fits(page);
    await goTo('Alerts');
    await page.getByRole('link', { name: 'Shop' }).first().waitFor();
    await fits(page);
    expect(faults).toEqual([]);
  });
});
