import type { Browser } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import type { Fields } from '../../../helpers/service/service.ts';
import { keyboardOf, newVisitor, startJourney, type Journey } from './journey.ts';

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
async function visitor(): Promise<Visitor> {
  const one = await newVisitor(browser);
  closers.push(() => one.context.close());
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
});
