import type { Browser } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import type { Fields } from '../../../helpers/service/service.ts';
import { fits, keyboardOf, newVisitor, startJourney, type Journey } from './journey.ts';

/** What people do with a service that runs already, with the keyboard only. */

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

type Visitor = Awaited<ReturnType<typeof newVisitor>>;
async function visitor(width?: number): Promise<Visitor> {
  const one = await newVisitor(browser, width);
  closers.push(() => one.context.close());
  return one;
}
/** A person with a phone who is signed in. */
async function onPhone(): Promise<Visitor> {
  const one = await visitor(390);
  await one.context.request.post(`${journey.url}/v1/sign-in`, { data: { apiKey: journey.apiKey } });
  await one.page.goto(journey.url);
  return one;
}

type Location = { id: string; slugName: string };
async function newLocation(slugName: string): Promise<Location & { key: string }> {
  const location = await journey.api<Location>('POST', '/v1/private-locations', { name: slugName, slugName });
  const { rawKey } = await journey.api<{ rawKey: string }>(
    'POST',
    `/v1/private-locations/${location.id}/keys`,
    {},
  );
  return { ...location, key: rawKey };
}
const newCheck = async (slugName: string, more: Fields = {}) =>
  (
    await journey.api<{ id: string }>('POST', '/v1/checks/url', {
      name: `Shop at ${slugName}`,
      privateLocations: [slugName],
      request: { url: journey.target.url },
      ...more,
    })
  ).id;

type Session = { checkSessionId: string; status: string; results: { checkResultId: string }[] };
const trigger = async (checkId: string) => {
  const target = { checkId: [checkId] };
  const { sessions } = await journey.api<{ sessions: Session[] }>('POST', '/v2/check-sessions/trigger', {
    target,
  });
  return sessions[0]?.checkSessionId ?? '';
};
const ended = (id: string) =>
  journey.api<Session>('GET', `/v2/check-sessions/${id}/completion?maxWaitSeconds=30`);

describe.skipIf(!hasChromium)('with the keyboard only', { timeout: 180_000 }, () => {
  it('a link from an alert opens after the sign-in, and a sign-out ends the session in all tabs', async () => {
    const { slugName, key } = await newLocation('lab');
    const checkId = await newCheck(slugName, { name: 'Deep' });
    const agent = await journey.startAgent(key);
    const { results } = await ended(await trigger(checkId));
    const path = `/checks/${checkId}/runs/${results[0]?.checkResultId}`;
    const { context, page, faults } = await visitor();
    await page.goto(journey.url + path);
    const { press, type } = keyboardOf(page);
    await type(page.getByLabel('API key of the account'), 'sk_a-wrong-key');
    await page.keyboard.press('Enter');
    await page.getByText('This key was refused').waitFor();
    const other = await context.newPage();
    await other.goto(`${journey.url}/alerts`);
    await other.getByLabel('API key of the account').waitFor();
    await type(page.getByLabel('API key of the account'), journey.apiKey);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Deep' }).first().waitFor();
    expect(new URL(page.url()).pathname).toBe(path);
    await other.getByRole('heading', { name: 'Alerts', level: 1 }).waitFor();

    const cookies = await context.cookies();
    await press(page.getByRole('button', { name: 'Sign out' }));
    await page.getByLabel('API key of the account').waitFor();
    await other.getByLabel('API key of the account').waitFor();
    // Also for a program that has kept the cookie.
    const headers = { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') };
    expect((await fetch(`${journey.url}/v1/me`, { headers })).status).toBe(401);
    await other.goBack().catch(() => null);
    await other.goto(journey.url + path);
    await other.getByLabel('API key of the account').waitFor();
    expect(await other.content()).not.toContain('Deep');
    expect(faults.filter((fault) => !String(fault).includes('401'))).toEqual([]);
    await agent.drain();
  });

  it('a location gets a new key, and its agents change one after the other', async () => {
    const { slugName, key: oldKey } = await newLocation('port');
    const checkId = await newCheck(slugName);
    const before = await journey.startAgent(oldKey);
    const { page, faults } = await onPhone();
    const { press, goTo } = keyboardOf(page);
    const button = (name: string | RegExp) => page.getByRole('button', { name });
    await goTo('Locations');
    await press(page.getByRole('link', { name: 'port', exact: true }));
    await press(page.getByRole('link', { name: 'Keys and installation' }));
    await press(button('Rotate: create a new key'));
    const newKey = await page.getByLabel('Key of the location', { exact: true }).innerText();
    await page.getByText('1 of 1 connected agents started before the new key was created').waitFor();
    await fits(page);
    await journey.startAgent(newKey);
    await page.getByText('1 of 2 connected agents started before the new key was created').waitFor();
    await before.drain();
    await press(button(/^Delete key/).first());
    await press(page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }));
    await button('Rotate: create a new key').waitFor();
    await fits(page);

    // The old key is refused, and the new agent runs the checks.
    const { status } = await fetch(`${journey.url}/agent/v1/hello`, {
      method: 'POST',
      headers: { authorization: `Bearer ${oldKey}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(status).toBe(401);
    expect((await ended(await trigger(checkId))).status).toBe('PASSED');
    expect(faults).toEqual([]);
  });

  it('an incident is opened, told to visitors, and resolved', async () => {
    const service = await journey.api<{ id: string }>('POST', '/v1/status-pages/services', {
      name: 'Web shop',
    });
    await journey.api('POST', '/v1/status-pages', {
      name: 'Acme',
      url: 'acme',
      cards: [{ name: 'Shop', services: [{ serviceId: service.id }] }],
    });
    const { page, faults } = await onPhone();
    const { press, type, goTo } = keyboardOf(page);
    const customer = await visitor(390);
    await customer.page.goto(`${journey.url}/status/acme`);
    // The page may be some seconds old: the visitor loads it again until it says so.
    const shown = async (text: string) => {
      const isShown = async () => {
        await customer.page.reload();
        return customer.page.getByText(text).first().isVisible();
      };
      await expect.poll(isShown, { timeout: 30_000, interval: 500 }).toBe(true);
      await fits(customer.page);
    };
    await shown('All systems operational');
    await goTo('Incidents');
    await press(page.getByRole('link', { name: 'New incident' }));
    await type(page.getByLabel('Name (required)'), 'Payments fail');
    await press(page.getByLabel('Web shop'), 'Space');
    await type(page.getByLabel('Text (required)'), 'We look into it.');
    await fits(page);
    await press(page.getByRole('button', { name: 'Open incident' }));
    await page.getByRole('heading', { name: 'Payments fail', level: 1 }).waitFor();
    await shown('Some systems are down');
    await shown('Payments fail');
    await shown('We look into it.');

    await type(page.getByLabel('Text (required)'), 'Payments work again.');
    await press(page.getByRole('button', { name: 'Publish and resolve' }));
    await page.locator('.status', { hasText: 'Resolved' }).waitFor();
    await fits(page);
    await shown('All systems operational');
    const visitorKeys = keyboardOf(customer.page);
    await visitorKeys.press(customer.page.getByText('Updates (2)'));
    await customer.page.getByText('Payments work again.').waitFor();
    expect([...faults, ...customer.faults]).toEqual([]);
  });

  it('all checks of a group run at once, and their results appear', async () => {
    const { slugName, key } = await newLocation('depot');
    const group = await journey.api<{ id: number }>('POST', '/v2/check-groups', { name: 'Orders' });
    for (const name of ['Basket', 'Invoice']) await newCheck(slugName, { name, groupId: group.id });
    await journey.startAgent(key);
    const { page, faults } = await onPhone();
    const { press } = keyboardOf(page);
    await press(page.getByRole('link', { name: 'Groups' }));
    await press(page.getByRole('link', { name: 'Orders', exact: true }));
    await press(page.getByRole('button', { name: 'Run all now' }));
    await page.getByRole('status').getByText('2 checks run now.').waitFor();
    await fits(page);
    await page.getByRole('button', { name: 'Close the message' }).waitFor({ state: 'detached' });
    for (const name of ['Basket', 'Invoice'])
      await page
        .getByRole('row', { name })
        .getByText(/ago|just now/)
        .first()
        .waitFor();
    expect(faults).toEqual([]);
  });
});
