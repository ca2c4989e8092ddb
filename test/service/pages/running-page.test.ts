import type { Browser } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  encryption,
  resultOf,
  type AgentService,
  type TestAgent,
} from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium, watchedPage } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';

import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** The page while a suite runs: what its data says, and the page itself in a Chromium. */

let db: Db;
let agents: AgentService;
let api: TestService;
let agent: TestAgent;
let checkId: string;
/** One for all tests that look at a page. */
let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
  db = await anyDatabase.open();
  const now = { now: Date.now };
  agents = await createAgentService(db, now);
  api = await startTestService(db, { encryption });
  const { id: accountId } = api.account;
  const office = await addLocation(db, { accountId, slug: 'office' });
  agent = await connectAgent(agents.app, office, { checkTypes: ['PLAYWRIGHT'] });
  checkId = await addCheck(db, {
    accountId,
    checkType: 'PLAYWRIGHT',
    privateLocations: ['office'],
    frequency: 60,
    now: Date.now(),
    definition: { codeBundlePath: 'shop.tar.gz' },
  });
  await db.query(
    `insert into playwright_bundles (id, account_id, key, digest, size, created_at, used_at)
     values ($1, $2, 'shop.tar.gz', $3, 1, now(), now())`,
    [uuidv7(), accountId, '0'.repeat(64)],
  );
});
afterAll(async () => {
  if (hasChromium) await browser.close();
  await agents.app.close();
  await api.close();
  await anyDatabase.close();
});

/** A triggered run that an agent has, in its install stage. */
async function running() {
  const { body } = await api.call<{ sessions: { checkSessionId: string }[] }>(
    'POST',
    '/v2/check-sessions/trigger',
    {},
  );
  const [job] = await agent.claim(1, { lane: 'suite' });
  const [session] = body.sessions;
  if (job === undefined || session === undefined) throw new Error('no job');
  const tell = (lines: string[], stage = 'install') =>
    agent.call('jobs/renew', {
      agentId: agent.agentId,
      leases: [{ jobId: job.jobId, leaseToken: job.leaseToken, stage, log: lines }],
    });
  await tell(['npm ci', 'added <b>3</b> packages']);
  return { job, session, tell };
}

it('shows the progress, and how to cancel', async () => {
  const { job, session } = await running();
  const get = async (id: string, key: string | null = api.account.key) =>
    (await api.call<{ runs: object[] }>('GET', `/web/running?checkId=${id}`, { key })).body;
  expect(await get(checkId)).toEqual({
    runs: [
      {
        sequenceId: job.sequenceId,
        runLocation: 'office',
        isScheduled: false,
        state: 'running',
        stage: 'install',
        elapsed: expect.any(Number) as unknown,
        cancelRequested: false,
        cancelPath: `/v1/check-sessions/${session.checkSessionId}/cancel`,
        log: ['npm ci', 'added <b>3</b> packages'],
      },
    ],
  });
  expect(await get('x')).toEqual({ runs: [] });
  expect(await get(checkId, api.foreign.key)).toEqual({ runs: [] });
  expect(await get(checkId, null)).not.toHaveProperty('runs');
  await agent.report(resultOf(job, Date.now()));
  expect(await get(checkId)).toEqual({ runs: [] });
});

it.skipIf(!hasChromium)('shows it without a reload, and cancels it', { timeout: 60_000 }, async () => {
  const { job, tell } = await running();
  const { page, faults } = await watchedPage(browser);
  await page.goto(`${api.url}/#key=${api.account.key}`);
  await page.getByRole('button', { name: /^check / }).click();
  const part = page.locator('.running');
  await part.filter({ hasText: 'added <b>3</b> packages' }).waitFor();
  expect(await part.innerText()).toMatch(/Running now\s+install\s+\d+ s\s+office, on demand\s+Cancel/);
  await tell(['12 tests'], 'test');
  await part.filter({ hasText: '12 tests' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Being cancelled' }).waitFor();
  expect(await agent.renew([job])).toMatchObject({ cancel: [job.jobId] });
  await agent.report(resultOf(job, Date.now(), { status: 'cancelled', isCancelled: true }));
  await part.waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
});

it.skipIf(!hasChromium)('shows the result that a notification links to', { timeout: 60_000 }, async () => {
  const { job } = await running();
  const reason = { code: 'TEST_FAILED', owner: 'target', message: 'the <b>cart</b> stayed empty' };
  const stored = await agent.report(
    resultOf(job, Date.now(), { status: 'failed', hasFailures: true, reason }),
  );
  expect(stored).toEqual([expect.objectContaining({ outcome: 'stored' })]);
  const [result] = await db.query<{ id: string }>(
    `select id from check_results where check_id = $1 and status = 'failed'`,
    [checkId],
  );
  const { page, faults } = await watchedPage(browser);
  await page.goto(`${api.url}/#key=${api.account.key}`);
  await page.goto(`${api.url}/#result=${checkId}/${result?.id ?? ''}`);
  const linked = page.locator('#linked');
  await linked.filter({ hasText: 'the <b>cart</b> stayed empty' }).waitFor();
  expect(await linked.innerText()).toMatch(/^Result of check [0-9a-f]{4}\s+failed office, 1[23] ms, /);
  expect(faults).toEqual([]);
});
