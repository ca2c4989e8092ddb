import type { Browser, Locator, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../../src/service/db/database.ts';
import { createErrorFollower } from '../../../../src/service/error-groups/follow-errors.ts';
import { createFinishedRuns } from '../../../../src/service/results/finished-runs.ts';
import { encryption, silent } from '../../../helpers/service/agent-service.ts';
import { endRuns } from '../../../helpers/service/alert-runs.ts';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../../helpers/service/service.ts';

/** Buttons that start something keep the focus, or leave it to their neighbour if they are removed. */

let db: Db;
let api: TestService;
let browser: Browser;
let checkId = '';
let groupId = 0;

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  groupId = (await api.call<{ id: number }>('POST', '/v2/check-groups', { body: { name: 'Shop' } })).body.id;
  const body = { name: 'Cart', groupId, locations: ['eu-west-1'], request: { url: 'https://shop.example/' } };
  checkId = (await api.call<{ id: string }>('POST', '/v1/checks/url', { body })).body.id;
  // One more than a page of the list has. Numbers would be taken out of the messages, and make one group.
  const names = 'abcdefghijklmnopqrstu'.split('');
  for (const [at, name] of names.entries())
    await endRuns(db, [
      {
        checkId,
        accountId: api.account.id,
        at: Date.now() - at * 1000,
        parts: [{ status: 'failed', message: `the field ${name} is missing` }],
      },
    ]);
  const followers = [createErrorFollower(() => Promise.resolve())];
  await createFinishedRuns({ db, followers, now: Date.now, log: silent }).tick();
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

/** A page, and the changes that it sends. Each takes a while, as over a network, or as long as the test holds it. */
type Held = { page: Page; sent: string[]; isHeld: boolean; release: () => void };
async function open(path: string): Promise<Held> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
  const sent: string[] = [];
  const waiting: (() => void)[] = [];
  const held: Held = {
    page,
    sent,
    isHeld: false,
    release: () => {
      held.isHeld = false;
      for (const end of waiting.splice(0)) end();
    },
  };
  await page.route('**/*', async (route) => {
    if (route.request().method() === 'GET') return route.continue();
    sent.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
    await new Promise<void>((resolve) => {
      if (held.isHeld) waiting.push(resolve);
      else setTimeout(resolve, 300);
    });
    await route.continue();
  });
  await page.goto(api.url + path);
  return held;
}
const button = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true });
const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent');

/** Presses the button with the focus twice; the second press is ignored. */
async function press(held: Held): Promise<void> {
  const { page, sent } = held;
  const before = sent.length;
  held.isHeld = true;
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate("document.activeElement.getAttribute('aria-disabled')")).toBe('true');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.tagName')).toBe('BUTTON');
  held.release();
  await expect
    .poll(() => page.evaluate("document.querySelectorAll('.buttons [aria-disabled]').length"))
    .toBe(0);
  expect(sent.length).toBe(before + 1);
}

describe.skipIf(!hasChromium)('the focus survives an action', { timeout: 60_000 }, () => {
  it.each([
    ['of a check', () => `/checks/${checkId}`, ['Mute', 'Unmute'], 'Run now'],
    ['of a group', () => `/groups/${groupId}`, ['Mute', 'Unmute'], 'Run all now'],
  ])('%s', async (_name, path, [off = '', on = ''], runName) => {
    const held = await open(path());
    const { page, sent } = held;
    await button(page, off).focus();
    await press(held);
    await expect.poll(() => focused(page), { timeout: 10_000 }).toBe(on);
    await press(held);
    await expect.poll(() => focused(page), { timeout: 10_000 }).toBe(off);
    await button(page, 'Pause').focus();
    await page.keyboard.press('Enter');
    await button(page, 'Resume').waitFor();
    await expect.poll(() => focused(page), { timeout: 10_000 }).toBe('Resume');
    const run = button(page, runName);
    await expect.poll(() => run.getAttribute('aria-disabled')).toBe('true');
    // A paused check cannot run, and the button says why to those who reach it with the keyboard.
    await run.press('Enter');
    await button(page, 'Resume').press('Enter');
    await button(page, 'Pause').waitFor();
    expect(sent.some((one) => one.includes('trigger'))).toBe(false);
    await expect.poll(() => run.getAttribute('aria-disabled')).toBe(null);
    await run.focus();
    await press(held);
    expect(sent.at(-1)).toBe('POST /v2/check-sessions/trigger');
    await expect.poll(() => focused(page), { timeout: 10_000 }).toBe(runName);
    await page.context().close();
  });

  it('of an error, and on the buttons between the pages of the errors', async () => {
    const held = await open(`/checks/${checkId}?tab=errors`);
    const { page } = held;
    const card = page.getByRole('region', { name: 'Error' }).first();
    await button(card, 'Archive until it happens again').focus();
    await press(held);
    await page.getByText('archived until it happens again').waitFor();
    await expect.poll(() => focused(page), { timeout: 10_000 }).toBe('Bring back');
    await press(held);
    await page.getByText('archived until it happens again').waitFor({ state: 'detached' });
    await expect.poll(() => focused(page), { timeout: 10_000 }).toBe('Archive until it happens again');
    await button(card, 'Archive for good').focus();
    await page.keyboard.press('Enter');
    await page.getByText('archived for good').waitFor();
    await expect.poll(() => focused(page), { timeout: 10_000 }).toBe('Bring back');
    await button(card, 'Find the root cause').focus();
    await press(held);
    await expect.poll(() => focused(page), { timeout: 10_000 }).toBe('Find the root cause');

    await button(page, 'Next').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/page=2/);
    await expect.poll(() => button(page, 'Next').getAttribute('aria-disabled')).toBe('true');
    expect(await page.evaluate('document.activeElement !== document.body')).toBe(true);
    await page.context().close();
  });
});
