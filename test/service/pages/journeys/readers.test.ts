import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { startServiceWithEverything } from '../../../helpers/service/one-of-everything.ts';

/** Readers of an account with one of everything: no page offers them what the service would refuse. */

let all: Awaited<ReturnType<typeof startServiceWithEverything>>;
let browser: Browser;
beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  all = await startServiceWithEverything();
}, 120_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await all.close();
});

/** Buttons and links that begin a change, or a run. */
const changes =
  /^(Create|New|Edit|Change|Delete|Save|Publish|Open incident|Rotate|Mute|Unmute|Pause|Resume|Duplicate|Run|Send|Cancel|Find the root cause|Upload|Add|Archive|Bring back|Ask to subscribe|Stop)\b/;
const runs = /^(Run|Find the root cause|Stop)\b/;
/** Forms that a reader's key may not send. */
const forms = ['groups', 'incidents', 'maintenance', 'status-pages', 'services', 'checks', 'locations'];

describe.skipIf(!hasChromium)('every page', { timeout: 180_000 }, () => {
  it.each([
    ['READ_ONLY', false],
    ['READ_RUN', true],
  ])('offers the role %s nothing that would be refused', async (role, mayRun) => {
    const { service, everything } = all;
    const { ids } = everything;
    const made = await service.call('POST', '/v1/api-keys', { body: { name: role, role } });
    const context = await browser.newContext();
    const page = await context.newPage();
    const refused: string[] = [];
    page.on('response', (answer) => {
      if (answer.status() === 403) refused.push(`${page.url()}: ${answer.url()}`);
    });
    await page.request.post(`${service.url}/v1/sign-in`, { data: { apiKey: made.body['rawKey'] } });
    await page.goto(service.url);
    await page.locator('h1').waitFor();
    const check = `/checks/${ids['check/url']}`;
    const offered: string[] = [];
    let seen = 0;
    for (const address of [
      '/',
      '/?view=groups',
      '/groups',
      `/groups/${ids['group']}`,
      '/reports',
      '/incidents',
      '/maintenance',
      `/incidents/${ids['statusPageIncident']}`,
      `/incidents/${ids['incident']}?kind=page`,
      `/maintenance/${ids['maintenanceWindow']}`,
      '/status-pages',
      `/status-pages/${ids['statusPage']}`,
      '/services',
      `/services/${ids['service']}`,
      '/locations',
      `/locations/${ids['privateLocation']}`,
      `/locations/${ids['privateLocation']}?tab=keys`,
      check,
      `/checks/${ids['check/heartbeat']}`,
      ...['runs', 'errors', 'alerts', 'settings'].map((tab) => `${check}?tab=${tab}`),
      `${check}/runs/${ids['result']}`,
      ...['', '?tab=keys', '?tab=snippets', '?tab=certificates', '?tab=account'].map(
        (tab) => `/settings${tab}`,
      ),
      ...['', '?tab=notifications', '?tab=channels'].map((tab) => `/alerts${tab}`),
      '/alerts?tab=locations',
      ...forms.map((area) => `/${area}/new`),
      '/checks/new?type=URL',
      `${check}/edit`,
      `/groups/${ids['group']}/edit`,
    ]) {
      await page.evaluate(
        `history.pushState(null, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      await expect
        .poll(
          () =>
            page.evaluate(
              "document.querySelector('main h1, main h2') !== null && document.querySelector('main .loading') === null",
            ),
          { timeout: 30_000 },
        )
        .toBe(true);
      const names = await page
        .locator('main button:visible, main a:visible')
        .evaluateAll((found) =>
          found.map((one) => (one.getAttribute('aria-label') ?? one.textContent ?? '').trim()),
        );
      seen += names.length;
      offered.push(
        ...names
          .filter((name) => changes.test(name) && !(mayRun && runs.test(name)))
          .map((name) => `${address}: ${name}`),
      );
    }
    for (const address of [...forms.map((area) => `/${area}/new`), `${check}/edit`]) {
      await page.goto(service.url + address);
      const said = await page.getByRole('alert').innerText();
      expect([address, said]).toEqual([address, expect.stringContaining(`The role of your key is ${role}`)]);
      expect([address, await page.locator('main form').count()]).toEqual([address, 0]);
    }
    expect(offered).toEqual([]);
    expect(refused).toEqual([]);
    expect(seen).toBeGreaterThan(100);
    await context.close();
  });
});
