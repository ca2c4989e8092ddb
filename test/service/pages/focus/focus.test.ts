import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../../src/service/db/database.ts';
import { addCheck, encryption } from '../../../helpers/service/agent-service.ts';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../../helpers/service/service.ts';
import { storeRuns } from '../../../helpers/service/stored-results.ts';

/** Live updates come from the service while someone types, chooses or reads: the focus and all that is open stay. */

let db: Db;
let api: TestService;
let browser: Browser;
const ids: string[] = [];

async function setStatus(checkId: string, status: 'passed' | 'failed'): Promise<void> {
  await db.query(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_run_location,
       last_started_at) values ($1, $2, $3, $4, false, false, 'eu-west-1', now())
     on conflict (check_id) do update set status = excluded.status, has_failures = excluded.has_failures`,
    [checkId, api.account.id, status, status === 'failed'],
  );
}

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  const { id: accountId } = api.account;
  const made = await api.call<{ id: number }>('POST', '/v2/check-groups', { body: { name: 'Shop' } });
  const groupId = made.body.id;
  for (const name of ['Cart', 'Checkout', 'Search']) {
    const { body } = await api.call<{ id: string }>('POST', '/v1/checks/url', {
      body: { name, groupId, locations: ['eu-west-1'], request: { url: 'https://shop.example/' } },
    });
    ids.push(body.id);
    await setStatus(body.id, 'passed');
    await storeRuns(db, { accountId, checkId: body.id }, [{ at: Date.now() - 60_000 }]);
  }
  ids.push(await addCheck(db, { accountId, locations: ['eu-west-1'], now: Date.now() }));
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

/** Keeps what the stream of the page brings in `window.brought`. */
const watchStream = `
  window.brought = [];
  window.EventSource = class extends EventSource {
    constructor(...given) {
      super(...given);
      this.addEventListener('open', () => brought.push('open'));
      for (const type of ['run', 'check', 'state', 'job', 'alert', 'location', 'reset'])
        this.addEventListener(type, ({ data }) => brought.push(type + ' ' + data));
    }
  };
`;

async function open(path: string, { width = 1280, hasStream = true } = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.addInitScript(watchStream);
  await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
  await page.goto(api.url + path);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  if (hasStream) await brought(page, 'open');
  return page;
}
/** Waits until the page's own stream has brought an event that contains this. */
const brought = (page: Page, text: string) =>
  expect
    .poll(() => page.evaluate<string[]>('brought'), { timeout: 20_000 })
    .toContainEqual(expect.stringContaining(text));
const focused = <Value>(page: Page, of: string) => page.evaluate<Value>(`document.activeElement.${of}`);
const failing = (page: Page, count: number) =>
  page.getByRole('button', { name: `${count} failing` }).waitFor();

/** Changes a check as another person does. */
const rename = (id: string, name: string) =>
  api.call('PUT', `/v1/checks/url/${id}`, { body: { name, tags: ['renamed'] } });

describe.skipIf(!hasChromium)('the focus survives live updates', { timeout: 60_000 }, () => {
  it('in the search field, with the text and the place in it', async () => {
    const page = await open('/');
    await page.getByRole('searchbox').fill('c');
    await page.waitForURL(/search=c/);
    await page.keyboard.type('a');
    await page.keyboard.press('ArrowLeft');
    await setStatus(ids[0] ?? '', 'failed');
    await failing(page, 1);
    expect(await focused(page, 'type')).toBe('search');
    expect(await focused(page, 'value')).toBe('ca');
    expect(await focused(page, 'selectionStart')).toBe(1);
    await page.keyboard.type('h');
    expect(await focused(page, 'value')).toBe('cha');
    await setStatus(ids[0] ?? '', 'passed');
    await page.context().close();
  });

  it('in a filter whose list is open', async () => {
    const page = await open('/');
    const choice = page.getByLabel('Type', { exact: true });
    await choice.focus();
    await page.keyboard.press('Alt+ArrowDown');
    const isOpen = () => page.evaluate("document.activeElement.matches(':open')");
    await expect.poll(isOpen).toBe(true);
    await setStatus(ids[1] ?? '', 'failed');
    await failing(page, 1);
    expect(await isOpen()).toBe(true);
    expect(await focused(page, "getAttribute('aria-label')")).toBe('Type');
    await setStatus(ids[1] ?? '', 'passed');
    await page.context().close();
  });

  it('in the open menu of a phone', async () => {
    const page = await open('/', { width: 390 });
    await page.getByRole('button', { name: 'Menu' }).press('Enter');
    const link = page.getByRole('link', { name: 'Reports' });
    await link.focus();
    await setStatus(ids[2] ?? '', 'failed');
    await failing(page, 1);
    expect(await focused(page, 'textContent')).toBe('Reports');
    expect(await page.getByRole('button', { name: 'Menu' }).getAttribute('aria-expanded')).toBe('true');
    expect(await link.isVisible()).toBe(true);
    await setStatus(ids[2] ?? '', 'passed');
    await page.context().close();
  });

  it('on the fold of a group, folded and unfolded', async () => {
    const page = await open('/?view=groups');
    await page.getByRole('button', { name: 'Fold Shop' }).press('Enter');
    await page.getByRole('button', { name: 'Unfold Shop' }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'Checkout' }).count()).toBe(0);
    await setStatus(ids[0] ?? '', 'failed');
    await page.getByText('1 failing, 2 passing').waitFor();
    expect(await focused(page, "getAttribute('aria-label')")).toBe('Unfold Shop');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Checkout' }).waitFor();
    await setStatus(ids[0] ?? '', 'passed');
    await page.getByText('3 passing').waitFor();
    expect(await focused(page, "getAttribute('aria-label')")).toBe('Fold Shop');
    await page.context().close();
  });

  it('in a part of a check that is unfolded', async () => {
    const page = await open(`/checks/${ids[0]}`);
    const fold = page.locator('.figures-table summary').first();
    await fold.press('Enter');
    await storeRuns(db, { accountId: api.account.id, checkId: ids[0] ?? '' }, [{ at: Date.now() }]);
    await expect.poll(() => page.locator('.figures').innerText(), { timeout: 20_000 }).toMatch(/\b2\s+Runs/);
    expect(await focused(page, 'textContent')).toBe('Figures');
    expect(await focused(page, 'parentElement.open')).toBe(true);
    await page.context().close();
  });

  it('in the dialog of a deletion', async () => {
    const page = await open(`/checks/${ids[1]}`);
    await page.getByRole('button', { name: 'Delete' }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel' }).focus();
    await storeRuns(db, { accountId: api.account.id, checkId: ids[1] ?? '' }, [{ at: Date.now() }]);
    await expect.poll(() => page.locator('.figures').innerText(), { timeout: 20_000 }).toMatch(/\b2\s+Runs/);
    expect(await focused(page, 'textContent')).toBe('Cancel');
    expect(await dialog.isVisible()).toBe(true);
    await page.context().close();
  });

  it('in the form of a check that someone else changes meanwhile, with what was typed', async () => {
    const page = await open(`/checks/${ids[2]}/edit`, { hasStream: false });
    await page.getByLabel('Name (required)').focus();
    await page.keyboard.press('End');
    await page.keyboard.type(' of lamps');
    await page.keyboard.press('ArrowLeft');
    const other = await open('/');
    await rename(ids[2] ?? '', 'Find');
    await other.getByRole('link', { name: 'Find', exact: true }).waitFor();
    expect(await focused(page, 'value')).toBe('Search of lamps');
    expect(await focused(page, 'selectionStart')).toBe('Search of lamp'.length);
    // The form sends what was changed in it only, so the other person's tag stays.
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    await page.getByRole('heading', { name: 'Search of lamps', level: 1 }).waitFor();
    expect((await api.call('GET', `/v1/checks/${ids[2]}`)).body).toMatchObject({ tags: ['renamed'] });
    await page.context().close();
    await other.context().close();
  });
});
