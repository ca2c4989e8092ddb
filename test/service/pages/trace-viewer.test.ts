import { randomUUID } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { addCheck, encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';
import { payload, watchAttacks } from './stored-xss/hostile.ts';
import { fits, keyboardOf } from './journeys/journey.ts';

/** Playwright's trace viewer on the page of a run, with real traces: of a shop, and of a page that attacks the viewer. */

let db: Db;
let api: TestService;
let browser: Browser;
let folder = '';
let accountId = '';
/** Pages of runs with a trace. */
let ofShop = '';
let ofAttacker = '';
/** Traces by the id of their artifact. */
const traces = new Map<string, string>();

/** Records a trace of what `act` does in a page, and stores it with a run. Returns the address of the run's page. */
async function traced(act: (page: Page, context: BrowserContext) => Promise<unknown>): Promise<string> {
  const artifactId = randomUUID();
  const trace = join(folder, `${artifactId}.zip`);
  const context = await browser.newContext();
  await context.tracing.start({ snapshots: true, screenshots: true });
  await act(await context.newPage(), context);
  await context.tracing.stop({ path: trace });
  await context.close();
  traces.set(artifactId, trace);
  const { size } = statSync(trace);
  const checkId = await addCheck(db, { accountId, locations: ['eu-west-1'], now: Date.now() });
  const artifact = { name: 'trace.zip', type: 'trace', size, state: 'stored', url: null };
  const [runId = ''] = await storeRuns(db, { accountId, checkId }, [
    { at: Date.now(), checkType: 'BROWSER', artifacts: [artifact] },
  ]);
  const [jobId, lease] = [randomUUID(), randomUUID()];
  await db.query('update check_results set job_id = $2, lease_token = $3 where id = $1', [
    runId,
    jobId,
    lease,
  ]);
  await db.query(
    `insert into artifacts (id, account_id, job_id, attempt, lease_token, name, type, content_type, size, sha256, state,
       created_at) values ($1, $2, $3, 1, $4, 'trace.zip', 'trace', 'application/zip', $5, '', 'stored', now())`,
    [artifactId, accountId, jobId, lease, size],
  );
  return `${api.url}/checks/${checkId}/runs/${runId}`;
}

const html = `<!doctype html><title>${payload}</title><body onload="fired(30)"><h1>Lamps</h1>
  <script>fired(31)</script><img src=x onerror=fired(32)><svg onload=fired(33)></svg>
  <iframe srcdoc="<script>parent.fired(34)</script>"></iframe><iframe src="javascript:parent.fired(35)"></iframe>
  <button aria-label='<img src=x onerror=fired(36)>'>Buy</button>`;

/** A page whose every part is hostile: its document, address, messages, requests, and the names of actions. */
async function attack(page: Page, context: BrowserContext): Promise<void> {
  await page.route('**/*', (route) =>
    route.fulfill({
      contentType: route.request().resourceType() === 'document' ? 'text/html' : 'image/svg+xml',
      headers: { 'x-hostile': encodeURIComponent(payload), 'x-open': '<img src=x onerror=fired(37)>' },
      body: route.request().resourceType() === 'document' ? html : '<svg onload="fired(38)"/>',
    }),
  );
  await context.tracing.group(payload);
  await page.goto(`http://shop.example/?<script>fired(39)</script>`);
  await page.evaluate(`console.error(${JSON.stringify(payload)})`);
  await page.evaluate(`setTimeout(() => { throw new Error(${JSON.stringify(payload)}) })`);
  await page.getByRole('button', { name: '<img src=x onerror=fired(36)>' }).click();
  await page
    .locator('#none')
    .filter({ hasText: '<script>fired(40)</script>' })
    .click({ timeout: 100 })
    .catch(() => undefined);
  await context.tracing.groupEnd();
}

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  folder = mkdtempSync(join(tmpdir(), 'trace-'));
  const files = {
    ...createArtifactFiles(folder, { reserveBytes: 0 }),
    open: async (id: string) => {
      const path = traces.get(id) ?? '';
      return { stream: createReadStream(path), size: statSync(path).size };
    },
  };
  api = await startTestService(db, { encryption, files });
  accountId = api.account.id;
  ofShop = await traced(async (page) => {
    await page.setContent('<h1>Lamps</h1><button onclick="this.textContent=\'bought\'">Buy</button>');
    await page.getByRole('button').click();
  });
  ofAttacker = await traced(attack);
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
  rmSync(folder, { recursive: true, force: true });
});

async function signIn(page: Page): Promise<void> {
  const answer = await page.request.post(`${api.url}/v1/sign-in`, {
    data: { apiKey: api.account.key },
    headers: { origin: api.url },
  });
  expect(answer.ok()).toBe(true);
}

describe.skipIf(!hasChromium)('the trace viewer', { timeout: 60_000 }, () => {
  it('opens a trace in place under its policy, with its snapshots', async () => {
    const { page, faults } = await watchedPage(browser);
    await signIn(page);
    await page.goto(ofShop);
    await page.getByRole('button', { name: 'Open trace.zip' }).click();
    const viewer = page.frameLocator('iframe.trace');
    await viewer.getByText('Click', { exact: false }).first().click();
    const snapshot = viewer.frameLocator('iframe.snapshot-visible');
    await snapshot.getByRole('heading', { name: 'Lamps' }).waitFor();
    expect(page.url()).toContain('trace=trace.zip');
    const frame = page.frames().find((one) => one.url().includes('/trace-viewer/index.html'));
    // What the service worker answers by itself runs nothing, whichever kind a trace gives it.
    const policy = await frame?.evaluate(
      "fetch('contexts?trace=none').then((answer) => answer.headers.get('content-security-policy'))",
    );
    expect(policy).toBe("default-src 'none'; sandbox");
    expect(faults.filter((fault) => !/status of (404|500)/.test(String(fault)))).toEqual([]);
  });

  it('is opened, walked through and left with the keyboard only, in 390 px', async () => {
    const { page } = await watchedPage(browser);
    await page.setViewportSize({ width: 390, height: 800 });
    await signIn(page);
    await page.goto(ofShop);
    const { press, reach } = keyboardOf(page);
    await press(page.getByRole('button', { name: 'Open trace.zip' }));
    const viewer = page.frameLocator('iframe.trace');
    await viewer.getByText('Click', { exact: false }).first().waitFor();
    await fits(page);
    // Tab leads into the viewer: its elements get the focus, and arrow keys choose an action.
    await reach(page.locator('iframe.trace'));
    const focused = () => viewer.locator(':focus').count();
    for (let presses = 0; presses < 40 && (await focused()) === 0; presses += 1)
      await page.keyboard.press('Tab');
    expect(await focused()).toBe(1);
    await press(page.getByRole('button', { name: 'Close trace.zip' }));
    await page.locator('iframe.trace').waitFor({ state: 'detached' });
    await page.close();
  });

  it('runs nothing that a hostile trace contains, in any of its parts', async () => {
    const page = await browser.newPage();
    const attacks = await watchAttacks(page);
    await signIn(page);
    await page.goto(ofAttacker);
    await page.getByRole('button', { name: 'Open trace.zip' }).click();
    const viewer = page.frameLocator('iframe.trace');
    // The group of actions has the hostile name, as text.
    await viewer.getByText('<script>fired(1)</script>').first().waitFor();
    for (const part of ['Call', 'Log', 'Errors', 'Console', 'Network', 'Source', 'Attachments'])
      await viewer.getByRole('tab', { name: part }).first().click();
    await viewer.getByRole('tab', { name: 'Console' }).first().click();
    await viewer.getByText('<img src=x onerror=fired(2)>').first().waitFor();
    for (const action of ['Click', 'Navigate']) {
      await viewer.getByText(action, { exact: false }).first().click();
      await viewer.frameLocator('iframe.snapshot-visible').getByRole('heading', { name: 'Lamps' }).waitFor();
    }
    const ran = attacks.filter((one) => / ran at |^dialog/.test(one));
    expect(ran).toEqual([]);
    // The watch sees into the frames of the viewer.
    const inner = page.frames().find((frame) => frame.url().includes('/trace-viewer/index.html'));
    await inner?.evaluate("fired('proof')");
    await expect.poll(() => attacks.join()).toContain('proof ran at');
    await page.close();
  });

  it('has a policy without inline scripts, and no other files of the package', async () => {
    const answer = await fetch(`${api.url}/trace-viewer/index.html`);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/script-src 'self' 'sha256-[^']+'; /);
    expect(policy).toContain("frame-ancestors 'self'");
    for (const name of ['uiMode.html', '..%2findex.html', 'constructor'])
      expect((await fetch(`${api.url}/trace-viewer/${name}`)).status, name).toBe(404);
  });
});
