import { randomUUID } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { addCheck, encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** Playwright's trace viewer on the page of a run, with a real trace. */

let db: Db;
let api: TestService;
let browser: Browser;
let folder = '';
let address = '';

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  folder = mkdtempSync(join(tmpdir(), 'trace-'));
  const trace = join(folder, 'trace.zip');
  const context = await browser.newContext();
  await context.tracing.start({ snapshots: true, screenshots: true });
  const traced = await context.newPage();
  await traced.setContent('<h1>Lamps</h1><button onclick="this.textContent=\'bought\'">Buy</button>');
  await traced.getByRole('button').click();
  await context.tracing.stop({ path: trace });
  await context.close();
  const { size } = statSync(trace);
  const files = {
    ...createArtifactFiles(folder, { reserveBytes: 0 }),
    open: async () => ({ stream: createReadStream(trace), size }),
  };
  api = await startTestService(db, { encryption, files });
  const accountId = api.account.id;
  const checkId = await addCheck(db, { accountId, locations: ['eu-west-1'], now: Date.now() });
  const artifact = { name: 'trace.zip', type: 'trace', size, state: 'stored', url: null };
  const [runId = ''] = await storeRuns(db, { accountId, checkId }, [
    { at: Date.now(), checkType: 'BROWSER', artifacts: [artifact] },
  ]);
  const jobId = randomUUID();
  const lease = randomUUID();
  await db.query('update check_results set job_id = $2, lease_token = $3 where id = $1', [
    runId,
    jobId,
    lease,
  ]);
  await db.query(
    `insert into artifacts (id, account_id, job_id, attempt, lease_token, name, type, content_type, size, sha256, state,
       created_at) values ($1, $2, $3, 1, $4, 'trace.zip', 'trace', 'application/zip', $5, '', 'stored', now())`,
    [randomUUID(), accountId, jobId, lease, size],
  );
  address = `${api.url}/checks/${checkId}/runs/${runId}`;
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!hasChromium)('the trace viewer', { timeout: 60_000 }, () => {
  it('opens a trace in place under its policy, with its snapshots', async () => {
    const { page, faults } = await watchedPage(browser);
    const answer = await page.request.post(`${api.url}/v1/sign-in`, {
      data: { apiKey: api.account.key },
      headers: { origin: api.url },
    });
    expect(answer.ok()).toBe(true);
    await page.goto(address);
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

  it('has a policy without inline scripts, and no other files of the package', async () => {
    const answer = await fetch(`${api.url}/trace-viewer/index.html`);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/script-src 'self' 'sha256-[^']+'; /);
    expect(policy).toContain("frame-ancestors 'self'");
    for (const name of ['uiMode.html', '..%2findex.html', 'constructor'])
      expect((await fetch(`${api.url}/trace-viewer/${name}`)).status, name).toBe(404);
  });
});
