import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** The pages of a check and of its runs, in a Chromium. */

let db: Db;
let api: TestService;
let browser: Browser;
let checkId = '';
let runId = '';
const hostile = '<img src=x onerror="document.title=\'attacked\'"><script>document.title="attacked"</script>';

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  const accountId = api.account.id;
  checkId = await addUrlCheck();
  const at = Date.now();
  const ids = await storeRuns(db, { accountId, checkId }, [
    { at: at - 120_000, responseTime: 80 },
    { at: at - 60_000, responseTime: 300, status: 'failed' },
    {
      at: at - 1000,
      responseTime: 40,
      timings: { dns: 3, connect: 10, tls: 12, firstByte: 15, total: 40 },
      details: {
        request: { method: 'GET', url: `https://shop.example/${hostile}` },
        response: {
          status: 204,
          statusText: hostile,
          httpVersion: '1.1',
          headers: { server: hostile, 'content-type': 'text/html' },
          body: hostile,
        },
        hops: [
          { url: 'http://shop.example/', status: 301, timings: { dns: 1, total: 1 }, address: '192.0.2.1' },
          { url: hostile, status: 204, timings: { connect: 9, total: 9 }, address: '192.0.2.1' },
        ],
        certificate: { subject: hostile, issuer: hostile, chain: [{ subject: hostile }] },
        traceroute: { hops: [{ hop: 1, address: hostile, name: hostile }], way: 'tcp', port: 443 },
        tests: [{ title: hostile, status: 'failed', errors: [hostile], steps: [{ title: hostile }] }],
        pages: [{ url: hostile, consoleErrors: [hostile], webVitals: { LCP: { score: 'GOOD', value: 12 } } }],
      },
      log: [{ time: at, level: 'info', msg: hostile }],
      artifacts: [{ name: hostile, type: 'trace', size: 3, state: 'stored', url: `javascript:${hostile}` }],
    },
  ]);
  runId = ids[2] ?? '';
});
const addUrlCheck = async () =>
  (
    await api.call<{ id: string }>('POST', '/v1/checks/url', {
      body: {
        name: 'check shop',
        locations: ['eu-west-1'],
        request: { url: 'https://shop.example/' },
      },
    })
  ).body.id;
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

async function signedIn(key = api.account.key): Promise<{ page: Page; faults: unknown[] }> {
  const { page, faults } = await watchedPage(browser);
  const answer = await page.request.post(`${api.url}/v1/sign-in`, {
    data: { apiKey: key },
    headers: { origin: api.url },
  });
  expect(answer.status()).toBeLessThan(300);
  return { page, faults };
}
const fits = async (page: Page) =>
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);

describe.skipIf(!hasChromium)('the page of a check', { timeout: 60_000 }, () => {
  it('has space for the labels of long response times', async () => {
    const slow = await addUrlCheck();
    const run = { at: Date.now() - 60_000, responseTime: 2444 };
    await storeRuns(db, { accountId: api.account.id, checkId: slow }, [run]);
    const { page } = await signedIn();
    await page.goto(`${api.url}/checks/${slow}`);
    const canvas = page.locator('.uplot canvas').first();
    await canvas.waitFor();
    // A label that is cut has ink at the edge.
    const ink = await canvas.evaluate((element) => {
      const drawn = element as unknown as {
        height: number;
        getContext: (kind: '2d') => {
          getImageData: (...place: number[]) => { data: Iterable<number> };
        };
      };
      const { data } = drawn.getContext('2d').getImageData(0, 0, 2, drawn.height);
      return [...data].filter((value) => value > 0).length;
    });
    expect(ink).toBe(0);
  });

  it('shows its figures and charts, and keeps tab and time in the address', async () => {
    const { page, faults } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}`);
    await page.locator('.uplot canvas').first().waitFor();
    expect(await page.locator('h1').count()).toBe(1);
    expect(await page.locator('.figures').innerText()).toMatch(
      /66\.67 %\s+Availability\s+3\s+Runs\s+1\s+Failed/,
    );
    await page.getByRole('button', { name: '7 d' }).click();
    await page.getByRole('button', { name: 'By location' }).click();
    await page.reload();
    expect(page.url()).toMatch(/range=7d&chart=locations/);
    await page.locator('.legend', { hasText: 'eu-west-1' }).waitFor();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await expect.poll(() => page.url()).toMatch(/from=.*&to=/);
    expect(faults).toEqual([]);
  });

  it('lists its runs, filters them, and links to each', async () => {
    const { page, faults } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}?tab=runs`);
    await page.locator('.runs-table tbody tr').nth(2).waitFor();
    await page.getByLabel('Status').selectOption('failed');
    await expect.poll(() => page.locator('.runs-table tbody tr').count()).toBe(1);
    expect(page.url()).toContain('status=failed');
    await page.locator('.runs-table a').first().click();
    await page.getByRole('heading', { level: 1, name: /^Run of check/ }).waitFor();
    expect(faults).toEqual([]);
  });

  it.each(['errors', 'alerts', 'settings'])(
    'opens the tab %s at 390 px without scrolling sideways',
    async (tab) => {
      const { page, faults } = await signedIn();
      await page.setViewportSize({ width: 390, height: 800 });
      await page.goto(`${api.url}/checks/${checkId}?tab=${tab}`);
      await page.locator('.tabs [aria-current]', { hasText: new RegExp(tab, 'i') }).waitFor();
      await page.locator('.card').first().waitFor();
      await fits(page);
      expect(faults).toEqual([]);
    },
  );

  it('leads from an alert in the chart to this alert', async () => {
    const ids = [randomUUID(), randomUUID()];
    for (const [at, id] of ids.entries()) {
      await db.query(
        `insert into alerts (id, account_id, check_id, check_name, check_type, tags, alert_type, started_at, created_at)
         values ($1, $2, $3, 'check shop', 'URL', '{}', 'ALERT_FAILURE', $4, $4)`,
        [id, api.account.id, checkId, new Date(Date.now() - (at + 1) * 20 * 60_000)],
      );
    }
    const { page, faults } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}?range=1h`);
    const places = page.getByRole('region', { name: 'What happened' }).getByRole('link');
    await places.nth(1).focus();
    await page.keyboard.press('Enter');
    await page.locator(`#alert-${ids[1]}:focus`).waitFor();
    expect(page.url()).toContain(`tab=alerts&alert=${ids[1]}`);
    expect(faults).toEqual([]);
  });

  it('opens the failed run that is under a click on the chart', async () => {
    const { page, faults } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}?range=1h`);
    const plot = page.locator('.u-over').first();
    await plot.waitFor();
    const { width = 0, height = 0 } = (await plot.boundingBox()) ?? {};
    const hour = Math.ceil(Date.now() / 60_000) * 60_000 - 3_600_000;
    const [failed] = await db.query<{ id: string; at: Date }>(
      `select id, started_at as at from check_results where check_id = $1 and status = 'failed'`,
      [checkId],
    );
    const x = (((failed?.at.getTime() ?? 0) - hour) / 3_600_000) * width;
    await plot.hover({ position: { x, y: height / 2 } });
    await page.locator('.u-over.on-mark').waitFor();
    await page.mouse.down();
    await page.mouse.up();
    await page.getByRole('heading', { level: 1, name: /^Run of check/ }).waitFor();
    expect(page.url()).toContain(`/runs/${failed?.id}`);
    expect(faults).toEqual([]);
  });

  it('shows retries over time', async () => {
    const { page, faults } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}?chart=retries`);
    await page.locator('.legend', { hasText: 'Retries' }).waitFor();
    await page.getByText(/Latest values: Retries \d+\./).waitFor();
    expect(faults).toEqual([]);
  });

  it('runs the check, shows the run that waits, and keeps the focus meanwhile', async () => {
    const { page, faults } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}`);
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('region', { name: 'Running now' }).waitFor();
    await page.getByRole('status', { name: 'The requested run' }).waitFor();
    const link = page.getByRole('link', { name: 'Runs', exact: true });
    await link.focus();
    await storeRuns(db, { accountId: api.account.id, checkId }, [{ at: Date.now() }]);
    await expect.poll(() => page.locator('.figures').innerText(), { timeout: 20_000 }).toMatch(/\b4\s+Runs/);
    expect(await page.locator(':focus').innerText()).toBe('Runs');
    expect(faults).toEqual([]);
  });

  it('mutes the check, and shows a reader no buttons', async () => {
    const { page } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}`);
    await page.getByRole('button', { name: 'Mute' }).click();
    await page.getByRole('button', { name: 'Unmute' }).waitFor();
    await page.route('**/v1/me', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), role: 'READ_ONLY' } });
    });
    await page.reload();
    await page.locator('.figures').waitFor();
    expect(await page.getByRole('button', { name: /Run now|Mute|Pause|Delete|Unmute/ }).count()).toBe(0);
  });
});

describe.skipIf(!hasChromium)('the page of a run', { timeout: 60_000 }, () => {
  it('shows everything that a hostile target sent as text', async () => {
    const { page, faults } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}/runs/${runId}`);
    await page.getByRole('region', { name: 'Phases', exact: true }).waitFor();
    for (const name of ['Response', 'Certificate', 'Traceroute', 'Pages', 'Tests', 'Log', 'Files'])
      expect(await page.getByRole('region', { name, exact: true }).innerText(), name).toContain(name);
    expect(await page.locator('#content img').count()).toBe(0);
    expect(await page.locator('#content script').count()).toBe(0);
    expect(await page.locator('a[href^="javascript:"]').count()).toBe(0);
    expect(await page.title()).toMatch(/^Run · /);
    expect(faults).toEqual([]);
  });

  it('searches the log, and fits on a narrow screen', async () => {
    const { page } = await signedIn();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${api.url}/checks/${checkId}/runs/${runId}`);
    await page.getByPlaceholder('Search the log').fill('nothing like this');
    await page.getByText('0 of 1 lines').waitFor();
    await fits(page);
  });

  it('has one main heading and named regions for screen readers', async () => {
    const { page } = await signedIn();
    await page.goto(`${api.url}/checks/${checkId}/runs/${runId}`);
    await page.getByRole('region', { name: 'Phases', exact: true }).waitFor();
    const tree = await page.locator('main').ariaSnapshot();
    expect(tree).toMatch(/heading "Run of check.*" \[level=1\]/);
    expect(tree).toMatch(/rowheader "DNS"/);
    expect(tree).toMatch(/navigation "Where you are"/);
  });

  it('opens from the address that older alerts have', async () => {
    const { page } = await signedIn();
    await page.goto(`${api.url}/#result=${checkId}/${runId}`);
    await page.getByRole('heading', { level: 1, name: /^Run of/ }).waitFor();
    expect(page.url()).toBe(`${api.url}/checks/${checkId}/runs/${runId}`);
  });
});
