import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CheckType } from '../../../src/protocol/check-types.ts';
import { show, startSslLab } from '../../helpers/network/ssl-lab.ts';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { addCheck } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { kinds } from '../../helpers/service/shown-runs.ts';
import { storeRuns, type Run } from '../../helpers/service/stored-results.ts';

/** Pages of runs in a Chromium: what each type recorded. */

let api: TestService;
let browser: Browser;
let page: Page;
/** What the policy of the pages blocked, and errors of their scripts. */
const faults: string[] = [];

beforeAll(async () => {
  if (!hasChromium) return;
  api = await startTestService(await anyDatabase.open());
  browser = await startChromium();
  page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) faults.push(message.text());
  });
  const signedIn = await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
  expect(signedIn.status()).toBe(200);
}, 120_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

/** A check and one run of it. */
async function run(checkType: CheckType, kind: Partial<Run>, groupId: number | null = null) {
  const { db, account } = api;
  const checkId = await addCheck(db, {
    accountId: account.id,
    locations: ['eu-west-1'],
    checkType,
    now: Date.now(),
  });
  await db.query('update checks set group_id = $2 where id = $1', [checkId, groupId]);
  const [id = ''] = await storeRuns(db, { accountId: account.id, checkId }, [
    { at: Date.now() - 3_600_000, checkType, ...kind },
  ]);
  return { checkId, id, address: `${api.url}/checks/${checkId}/runs/${id}` };
}
const part = (name: string) => page.getByRole('region', { name, exact: true });
async function open(address: string): Promise<void> {
  await page.goto(address);
  await part('Summary').waitFor();
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
}
const rowOf = (name: string, text: string) =>
  page.getByRole('table', { name }).getByRole('row', { name: text });

describe.skipIf(!hasChromium)('pages of runs', { timeout: 120_000 }, () => {
  it('show all attempts of a run that has 200 newer results', async () => {
    const { db, account } = api;
    const { checkId, id, address } = await run('URL', { attempts: 1 });
    const at = Date.now() - 3_610_000;
    const [first = ''] = await storeRuns(db, { accountId: account.id, checkId }, [
      {
        at,
        status: 'failed',
        resultType: 'ATTEMPT',
        reason: JSON.stringify({ code: 'ECONNREFUSED', owner: 'target', message: 'refused' }),
      },
    ]);
    await db.query(
      'update check_results set sequence_id = (select sequence_id from check_results where id = $1) where id = $2',
      [id, first],
    );
    await storeRuns(
      db,
      { accountId: account.id, checkId },
      Array.from({ length: 200 }, (_, n) => ({ at: at + 20_000 + n * 1000 })),
    );
    await open(address);
    const table = page.getByRole('table', { name: 'Attempts' });
    await table.waitFor();
    expect(await table.getByRole('columnheader').allInnerTexts()).toEqual(['Attempt', '1', '2']);
    expect(await rowOf('Attempts', 'Reason').innerText()).toContain('refused');
  });

  it('keep the search of the log in the address', async () => {
    const log = ['opening', 'slow answer', 'closing'].map((msg, n) => ({ time: n, level: 'info', msg }));
    const { address } = await run('API', { log });
    await open(address);
    await page.getByRole('searchbox', { name: 'Search the log' }).fill('slow');
    await page.waitForURL(/[?&]log=slow/);
    await page.reload();
    await page.getByText('1 of 3 lines').waitFor();
    expect(await page.locator('.log-text').allInnerTexts()).toEqual(['slow answer']);
  });

  it('show everything that an SSL check found', async () => {
    const lab = await startSslLab();
    try {
      const leaf = await lab.leaf({ name: 'good.test', to: 14 });
      const { details } = await lab.check(await lab.serve(show(leaf, lab.middle)), { scan: true });
      const { address } = await run('SSL', { details });
      await open(address);
      const connection = await part('TLS connection').innerText();
      for (const text of ['good.test', 'TLS1.3', 'Chain is trusted', '13 days left'])
        expect(connection).toContain(text);
      const rules = page.getByRole('table', { name: 'Rules of the security baseline' });
      expect(await rules.getByRole('row').count()).toBe(10);
      const chain = part('Certificates');
      expect(await page.getByRole('table', { name: 'Certificate chain' }).getByRole('row').count()).toBe(3);
      const serial = BigInt(`0x${leaf.serial}`).toString();
      for (const text of [serial, 'Self-signed', 'good.test'])
        expect(await chain.innerText()).toContain(text);
      expect(await chain.innerText()).toMatch(/[0-9a-f]{64}/);
      expect(await part('Revocation').innerText()).toContain('unknown');
    } finally {
      await lab.close();
    }
  });

  it('name why an SSL check failed, and list the rules and answers about revocation', async () => {
    const { address } = await run('SSL', kinds['SSL'] ?? {});
    await open(address);
    expect(await part('TLS connection').innerText()).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    expect(await part('Security baseline').innerText()).toMatch(/Verdict warn, grade B/);
    expect(await rowOf('Rules of the security baseline', 'Cipher suites are strong').innerText()).toContain(
      'degrades the check',
    );
    expect(await rowOf('Answers about revocation', 'stapled by').innerText()).toContain(
      'the answer has expired',
    );
    const failed = await run('SSL', {
      status: 'failed',
      details: { failureCategory: 'dns', requestError: 'x.test was not found', response: null },
    });
    await open(failed.address);
    const shown = await part('TLS connection').innerText();
    expect(shown).toContain('the name was not resolved');
    expect(shown).toContain('x.test was not found');
  });

  it('show the route that a traceroute check found, and how it changed', async () => {
    const { address } = await run('TRACEROUTE', kinds['TRACEROUTE'] ?? {});
    await open(address);
    const route = await part('Route').innerText();
    for (const text of ['shop.example · 192.0.2.9', 'TCP · 443', 'at the target', '33.3 %'])
      expect(route).toContain(text);
    expect(await rowOf('Changed hops', '198.51.100.1').innerText()).toContain('192.0.2.1, 192.0.2.2');
    const hops = await part('Traceroute').innerText();
    for (const text of ['gate.example', '192.0.2.1', '64500', 'Example Net']) expect(hops).toContain(text);
  });

  it('show what a gRPC check called and got', async () => {
    const { address } = await run('GRPC', kinds['GRPC'] ?? {});
    await open(address);
    const call = await part('gRPC call').innerText();
    for (const text of ['shop.Shop/GetProduct', 'shop.example:443', 'NOT_FOUND: no such lamp', '192.0.2.1'])
      expect(call).toContain(text);
    expect(await page.getByLabel('Response message').innerText()).toBe('{"name":"lamp","price":12}');
    expect(await page.getByLabel('Request message').innerText()).toBe('{"name":"lamp"}');
    for (const [table, entry] of [
      ['Metadata sent', 'x-shop main'],
      ['Metadata', 'x-served-by shop-1'],
      ['Trailers', 'x-cost 3'],
    ] as const) {
      const rows = page.getByRole('table', { name: table, exact: true }).getByRole('row');
      expect(await rows.nth(1).innerText()).toMatch(new RegExp(`^${entry.replace(' ', '\\s')}$`));
    }
    expect(await part('Certificate').innerText()).toContain('41 days left');
  });

  it('show assertions, suggestions, steps and errors of agentic checks', async () => {
    const { address } = await run('AGENTIC', kinds['AGENTIC'] ?? {});
    await open(address);
    expect(await rowOf('Assertions', 'the cart is empty').innerText()).toMatch(/failed[^]*0 books[^]*1 book/);
    expect(await part('Suggestions').innerText()).toContain('Create the variable USER.');
    expect(await part('Steps').innerText()).toMatch(/click[^]*selector: button[^]*The book is in the cart\./);
    expect(await part('Errors').innerText()).toContain('the cart is not empty');
  });

  it('show headers, bodies, phases and steps of each call of multi-step checks', async () => {
    const { address } = await run('MULTI_STEP', kinds['MULTI_STEP'] ?? {});
    await open(address);
    const calls = await part('API calls').innerText();
    for (const text of [
      'fill the cart › find a book',
      '200 OK',
      'search',
      'lamps',
      'A book',
      'application/json',
    ])
      expect(calls).toContain(text);
    const phases = page.getByRole('region', { name: /^Phases of POST https:\/\/shop.example\/api: 20 ms/ });
    expect(await phases.getByRole('rowheader').allInnerTexts()).toEqual([
      'Waiting',
      'DNS',
      'Connect',
      'First byte',
      'Download',
    ]);
  });

  it('show certificates, tried addresses and data that is no text', async () => {
    await open((await run('BROWSER', kinds['BROWSER'] ?? {})).address);
    expect(await part('Certificate of shop.example').innerText()).toContain('41 days left');
    await open((await run('URL', kinds['URL'] ?? {})).address);
    expect(await part('Client certificate').innerText()).toContain('CN=monitoring');
    expect(await part('Addresses').innerText()).toMatch(
      /no IPv6 route[^]*192\.0\.2\.1[^]*another address answered first/,
    );
    await open((await run('TCP', kinds['TCP'] ?? {})).address);
    expect(await page.getByLabel('Data received').innerText()).toMatch(
      /^000000 {2}52 00 00 00 08 ff 00 03 50 6f .* R{1}\.{7}PostgreS\n/,
    );
    expect(await rowOf('Addresses', '192.0.2.6').innerText()).toContain('ECONNREFUSED');
  });

  it('link the group of a check, and hide views of charts that have no data', async () => {
    const group = await api.call('POST', '/v2/check-groups', {
      body: { name: 'Shop', locations: ['eu-west-1'] },
    });
    const { checkId } = await run('SSL', kinds['SSL'] ?? {}, Number(group.body['id']));
    await page.goto(`${api.url}/checks/${checkId}`);
    const views = page.getByRole('group', { name: 'View of the chart' });
    await views.waitFor();
    expect(await views.getByRole('button').allInnerTexts()).toEqual([
      'Response time',
      'Handshake',
      'Days until expiry',
      'By location',
    ]);
    await views.getByRole('button', { name: 'Days until expiry' }).click();
    await page.getByText(/Latest values: Days until expiry 41 d/).waitFor({ state: 'attached' });
    await page.getByRole('navigation', { name: 'Where you are' }).getByRole('link', { name: 'Shop' }).click();
    await page.waitForURL(/\/groups\/\d+$/);
    expect(faults).toEqual([]);
  });
});
