import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addLocation, encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** The route of the samples allows 300 reads a day with one key: an open page must not use them up, nor become old. */

let api: TestService;
let browser: Browser;

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  api = await startTestService(await anyDatabase.open(), { encryption });
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

describe.skipIf(!hasChromium)('the queue of an open location', { timeout: 90_000 }, () => {
  it('is continued by the figures of the page, and read again after a gap only', async () => {
    const { id } = await addLocation(api.db, { accountId: api.account.id, slug: 'office' });
    const sampledAt = Math.floor(Date.now() / 60_000) * 60_000;
    await api.db.query(
      `insert into location_samples (location_id, sampled_at, queue_size, oldest_seconds) values ($1, $2, 3, 40)`,
      [id, new Date(sampledAt)],
    );
    const { page, faults } = await watchedPage(browser);
    page.setDefaultTimeout(25_000);
    await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    const reads = { samples: 0, figures: 0 };
    page.on('requestfinished', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.endsWith('/metrics')) reads.samples += 1;
      if (pathname.endsWith('/agents')) reads.figures += 1;
    });
    await page.clock.install();
    await page.goto(`${api.url}/locations/${id}`);
    const chart = page.getByRole('img', { name: /^Jobs that waited/ });
    await chart.waitFor();
    expect(await chart.getAttribute('aria-label')).toContain('now 3');
    const points = async () =>
      (await page.locator('.line-chart polyline').first().getAttribute('points'))?.split(' ').length;
    expect(await points()).toBe(1);
    /** Lets time pass in the page, until it has read its figures. */
    const pass = async (seconds: number) => {
      const before = reads.figures;
      await page.clock.fastForward(seconds * 1000);
      await expect.poll(() => reads.figures, { timeout: 15_000 }).toBeGreaterThan(before);
    };
    for (let minute = 1; minute <= 8; minute += 1) {
      await page.clock.fastForward(65_000);
      await expect.poll(points, { timeout: 15_000 }).toBeGreaterThanOrEqual(minute + 1);
    }
    await expect.poll(() => chart.getAttribute('aria-label')).toContain('now 0; at most 3');
    expect(reads.samples).toBe(1);

    // Another tab of the page, and back.
    const tabs = page.getByRole('navigation', { name: 'Parts of the location' });
    await tabs.getByRole('link', { name: /^Keys/ }).click();
    await tabs.getByRole('link', { name: /^Agents/ }).click();
    await chart.waitFor();
    expect(reads.samples).toBe(1);

    // The tab was hidden, or the laptop asleep.
    await pass(3_600);
    await expect.poll(() => reads.samples, { timeout: 15_000 }).toBe(2);
    await expect.poll(points, { timeout: 15_000 }).toBeLessThan(9);
    // Timers of a tab in the background may fire only now and then.
    for (let time = 0; time < 10; time += 1) await pass(180);
    expect(reads.samples).toBeLessThanOrEqual(2 + Math.ceil((10 * 180) / 360));
    expect(faults).toEqual([]);
  });
});
