import type { Browser, BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { startServiceWithEverything } from '../../helpers/service/one-of-everything.ts';
import type { TestService } from '../../helpers/service/service.ts';

/** The reference of the API at /docs, signed out and signed in. */

let browser: Browser;
let service: TestService;
let close: () => Promise<void>;
let checkId: string;

beforeAll(async () => {
  if (!hasChromium) return;
  const started = await startServiceWithEverything();
  ({ service, close } = started);
  checkId = started.everything.ids['check/url'] ?? '';
  browser = await startChromium();
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await close();
});

async function opened(path: string, { key }: { key?: string } = {}) {
  const context: BrowserContext = await browser.newContext();
  if (key !== undefined) await context.request.post(`${service.url}/v1/sign-in`, { data: { apiKey: key } });
  const page: Page = await context.newPage();
  await page.goto(`${service.url}${path}`);
  await page.getByRole('heading', { name: 'API reference' }).waitFor();
  return page;
}

const entry = (page: Page, name: string) => page.locator(`#${name}`);

describe.skipIf(!hasChromium)('the reference', { timeout: 60_000 }, () => {
  it('lists every operation of the document by subject, for everybody', async () => {
    const page = await opened('/docs');
    const { paths, tags } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
      paths: { [path: string]: { [method: string]: { operationId: string } } };
      tags: { name: string }[];
    };
    const ids = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    const shown = await page
      .locator('article.ref-operation')
      .evaluateAll((all) => all.map((one) => (one as { id: string }).id));
    expect(shown.sort()).toEqual(ids.sort());
    const headings = await page.locator('main h2').allTextContents();
    expect(headings).toEqual(tags.map(({ name }) => name));
    expect(await page.title()).toBe('API reference');
    await page.context().close();
  });

  it('finds operations by words, which are part of the address, and says when there are none', async () => {
    const page = await opened('/docs');
    await page.getByLabel('Search').fill('snippet create');
    await expect.poll(() => page.locator('article.ref-operation').count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?search=snippet+create');
    await page.reload();
    await page.getByText('1 operations').waitFor();
    await page.getByLabel('Search').fill('nothing-has-this-name');
    await page.getByRole('button', { name: 'Show all' }).click();
    await expect.poll(() => page.locator('article.ref-operation').count()).toBeGreaterThan(200);
    await page.context().close();
  });

  it.each(['/docs#createUrlCheck', '/docs#/Checks/createUrlCheck'])('%s opens an operation', async (path) => {
    const page = await opened(path);
    const operation = entry(page, 'createUrlCheck');
    await operation.getByRole('heading', { name: 'Try it' }).waitFor();
    expect(await operation.getByRole('button', { expanded: true }).count()).toBe(1);
    await expect.poll(async () => (await operation.boundingBox())?.y ?? 9999).toBeLessThan(300);
    const curl = await operation.getByLabel('createUrlCheck as curl', { exact: true }).innerText();
    expect(curl).toContain(`curl -X POST '${service.url}/v1/checks/url'`);
    expect(curl).toContain('-H "authorization: Bearer $SERVICE_API_KEY"');
    await operation.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(await operation.getByRole('button', { name: 'Send the request' }).isDisabled()).toBe(true);
    await page.context().close();
  });

  it('opens by keyboard, and the address follows', async () => {
    const page = await opened('/docs?search=getMe');
    await entry(page, 'getMe').getByRole('button').first().focus();
    await page.keyboard.press('Enter');
    await entry(page, 'getMe').getByText('It works with a key and with a cookie.').waitFor();
    expect(new URL(page.url()).hash).toBe('#getMe');
    await page.keyboard.press('Enter');
    await expect.poll(() => entry(page, 'getMe').getByText('It works with').count()).toBe(0);
    await page.context().close();
  });

  it('sends requests with the session, with parameters and bodies, and shows the answers', async () => {
    const page = await opened('/docs#getCheck', { key: service.account.key });
    const read = entry(page, 'getCheck');
    await read.getByLabel('id (required)').fill(checkId);
    await read.getByLabel('includeDependencies').selectOption('true');
    expect(await read.getByLabel('getCheck as curl', { exact: true }).innerText()).toContain(
      `/v1/checks/${checkId}?includeDependencies=true`,
    );
    await read.getByRole('button', { name: 'Send the request' }).click();
    const answer = read.getByRole('region', { name: 'Answer' });
    await answer.getByText('200 OK').waitFor();
    await answer.getByText(`"${checkId}"`).waitFor();
    await answer.getByText('Headers').click();
    await answer.getByText('application/json; charset=utf-8').waitFor();

    await page.goto(`${service.url}/docs#createSnippet`);
    const create = entry(page, 'createSnippet');
    await create.getByRole('button', { name: 'Send the request' }).click();
    await create.getByText('201 Created').waitFor();
    await create.getByRole('button', { name: 'Send the request' }).click();
    await create.getByText('409 Conflict').waitFor();
    await page.context().close();
  });

  it('asks before a deletion, and names the role that a key lacks', async () => {
    const made = await service.call('POST', '/v1/snippets', { body: { name: 'old', script: '1' } });
    const page = await opened('/docs#deleteSnippet', { key: service.account.key });
    const deletion = entry(page, 'deleteSnippet');
    await deletion.getByLabel('id (required)').fill(String(made.body['id']));
    await deletion.getByRole('button', { name: 'Send the request' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await deletion.getByText('204').first().waitFor();
    await expect
      .poll(async () => (await service.call('GET', `/v1/snippets/${String(made.body['id'])}`)).status)
      .toBe(404);
    await page.context().close();

    const reader = await service.call<{ rawKey: string }>('POST', '/v1/api-keys', {
      body: { name: 'reader', role: 'READ_ONLY' },
    });
    const other = await opened('/docs#createSnippet', { key: reader.body.rawKey });
    await entry(other, 'createSnippet')
      .getByText('This request needs the role READ_WRITE; your key has READ_ONLY.')
      .waitFor();
    await other.context().close();
  });

  it('shows a stream of events while it goes on, and stops it', async () => {
    const page = await opened('/docs#streamEvents', { key: service.account.key });
    const stream = entry(page, 'streamEvents');
    await stream.getByRole('button', { name: 'Send the request' }).click();
    await stream.getByText('200 OK').waitFor();
    await stream.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(() => stream.getByRole('button', { name: 'Stop' }).count()).toBe(0);
    await page.context().close();
  });
});
