import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** What the pages show while the service does not answer or limits the requests, and how they go on by themselves. */

/** A proxy in front of the service. While the service is away, it answers calls of the API by itself, or not at all. */
type Front = {
  url: string;
  state: 'on' | 'bad gateway' | 'off';
  asked: string[];
  close: () => Promise<void>;
};

async function startFront(to: string): Promise<Front> {
  const target = new URL(to);
  const front: Front = { url: '', state: 'on', asked: [], close: () => Promise.resolve() };
  const server: Server = createServer((asked, answer) => {
    const { method, headers, url: path = '' } = asked;
    const isApi = /^\/v[12]\//.test(path);
    if (isApi) front.asked.push(path);
    if (isApi && front.state === 'off') return void asked.socket.destroy();
    if (isApi && front.state === 'bad gateway')
      return void answer.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>');
    const forward = request({ host: target.hostname, port: target.port, method, path, headers }, (given) => {
      answer.writeHead(given.statusCode ?? 500, given.headers);
      given.pipe(answer);
    });
    forward.on('error', () => answer.destroy());
    answer.on('close', () => forward.destroy());
    asked.pipe(forward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  front.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  front.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return front;
}

let api: TestService;
let front: Front;
let browser: Browser;
let page: Page;
const perMinute = 60;

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  api = await startTestService(await anyDatabase.open(), { encryption, rateLimit: perMinute });
  await api.call('POST', '/v2/check-groups', { body: { name: 'Shop' } });
  front = await startFront(api.url);
  page = await browser.newPage();
  page.setDefaultTimeout(25_000);
  await page.request.post(`${front.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
}, 60_000);
afterEach(() => {
  vi.useRealTimers();
  if (hasChromium) front.state = 'on';
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await front.close();
  await api.close();
  await anyDatabase.close();
});

describe.skipIf(!hasChromium)('the pages without an answer', { timeout: 90_000 }, () => {
  it('say so before the user is known, show no sign-in, and open by themselves', async () => {
    front.state = 'bad gateway';
    await page.goto(`${front.url}/groups`);
    await page.getByRole('heading', { name: 'The service does not answer' }).waitFor();
    expect(await page.getByLabel('API key of the account').count()).toBe(0);
    front.state = 'on';
    await page.getByRole('link', { name: 'Shop', exact: true }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('say so in place of content, and read it as soon as the service is back', async () => {
    await page.goto(`${front.url}/groups`);
    const link = page.getByRole('link', { name: 'Shop', exact: true });
    await link.waitFor();
    front.state = 'off';
    await link.click();
    const note = page.getByText('The service cannot be reached.');
    await note.waitFor();
    front.state = 'on';
    await page.getByRole('heading', { name: 'Shop', level: 1 }).waitFor();
    await note.waitFor({ state: 'detached' });
  });

  it('keep what a form holds if it cannot be saved, and save it later', async () => {
    await page.goto(`${front.url}/groups/new`);
    await page.getByLabel('Name').fill('Warehouse');
    front.state = 'off';
    await page.getByRole('button', { name: 'Create the group' }).click();
    await page.getByRole('status').getByText('The service cannot be reached.').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('Warehouse');
    front.state = 'on';
    await page.getByRole('button', { name: 'Create the group' }).click();
    await page.getByRole('heading', { name: 'Warehouse', level: 1 }).waitFor();
  });

  it('wait after too many requests as long as the service says, without a request, and go on', async () => {
    await page.clock.install();
    await page.goto(`${front.url}/groups`);
    const link = page.getByRole('link', { name: 'Shop', exact: true });
    await link.waitFor();
    let last = 200;
    while (last !== 429) last = (await api.call('GET', '/v2/check-groups')).status;
    await link.click();
    const note = page
      .getByText(/Too many requests with this API key \(at most 60\): try again in \d+ s\./)
      .first();
    await note.waitFor();
    // Further reads would be refused as well: presses and live events send none.
    await expect.poll(() => page.getByRole('button', { name: 'Try again' }).count()).toBeGreaterThan(0);
    const before = front.asked.length;
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.clock.fastForward(500);
    expect(front.asked.slice(before)).toEqual([]);
    // A minute later, for the service and for the page.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    await page.clock.fastForward(61_000);
    await page.getByRole('heading', { name: 'Shop', level: 1 }).waitFor();
    await note.waitFor({ state: 'detached' });
  });
});
