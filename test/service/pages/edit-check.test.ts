import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createAgentService, encryption } from '../../helpers/service/agent-service.ts';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { issue } from '../../helpers/network/authority.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startProtocolAgents } from '../../helpers/service/protocol-agents.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** The forms of checks, in a Chromium. */

const hostile = `<img src=x onerror=alert(1)>"'{{x}}\u202e`;

let db: Db;
let api: TestService;
let browser: Browser;
let folder: string;
const project = gzipSync('a suite');
let bundle = '';
let page: Page;
const faults: unknown[] = [];
const dialogs: string[] = [];

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  folder = mkdtempSync(join(tmpdir(), 'edit-'));
  api = await startTestService(db, { encryption, bundles: createArtifactFiles(folder, { reserveBytes: 0 }) });
  const uploaded = await api.call('POST', '/v1/playwright-bundles', {
    body: project,
    headers: { 'content-type': 'application/octet-stream' },
  });
  bundle = String(uploaded.body['key']);
  await made('/v1/private-locations', { name: hostile, slugName: 'office' });
  await made('/v1/alert-channels', { type: 'EMAIL', config: { address: 'ops@shop.example' } });
  await made('/v2/check-groups', { name: `Group ${hostile}`, locations: ['eu-west-1'] });
  page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(15_000);
  page.on('pageerror', (error) => faults.push(error));
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.accept();
  });
  const signedIn = await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
  expect(signedIn.status()).toBe(200);
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
  rmSync(folder, { recursive: true });
});

async function made(path: string, body: unknown): Promise<Fields> {
  const answer = await api.call('POST', path, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}
const open = async (path: string) => {
  await page.goto(`${api.url}${path}`);
  await page.locator('form').waitFor();
};
const field = (label: string) => page.getByLabel(label, { exact: true });
const required = (label: string) => page.getByLabel(`${label} (required)`, { exact: true });
const save = () => page.getByRole('button', { name: /^(Create the check|Save)$/ }).click();
/** Waits for the page of the saved check, and returns its id. */
async function savedId(): Promise<string> {
  await page.waitForURL(/\/checks\/[0-9a-f-]{36}$/);
  return page.url().split('/').at(-1) ?? '';
}
const read = async (id: string) => (await api.call('GET', `/v1/checks/${id}?includeDependencies=true`)).body;

/** What differs between any two checks. */
function comparable({ id: _id, name: _name, created_at: _made, updated_at: _changed, ...check }: Fields) {
  const { heartbeat, ...rest } = check;
  if (typeof heartbeat !== 'object' || heartbeat === null) return check;
  const { pingToken: _token, pingUrl: _url, ...timing } = heartbeat as Fields;
  return { ...rest, heartbeat: timing };
}

const url = 'https://shop.example/';
const place = { privateLocations: ['office'] };
const script = "import { test } from '@playwright/test';";
const filled = (label: string, text: string) => async () => required(label).fill(text);
/** The smallest body of each type, and how its required fields are filled in; also a fuller body, for changes. */
const types: {
  readonly [type: string]: {
    path: string;
    body: () => Fields;
    fill: () => Promise<void>;
    more?: Fields;
  };
} = {
  URL: { path: 'url', body: () => ({ ...place, request: { url } }), fill: filled('URL', url) },
  API: {
    path: 'api',
    body: () => ({ ...place, request: { url } }),
    fill: filled('URL', url),
    more: {
      request: {
        url,
        method: 'POST',
        headers: [{ key: 'a', value: hostile, locked: true }],
        queryParameters: [{ key: 'q', value: '1' }],
        body: '{}',
        bodyType: 'JSON',
        basicAuth: { username: 'u', password: 'p' },
        assertions: [{ source: 'HEADERS', property: 'x', regex: '(a)', comparison: 'EQUALS', target: 'a' }],
      },
      environmentVariables: [{ key: 'TOKEN', value: 'hidden', secret: true }],
      retryStrategy: { type: 'LINEAR', onlyOn: ['NETWORK_ERROR'] },
      dependencies: [{ path: 'a.ts', content: 'export {}' }],
      localSetupScript: 'console.log(1)',
      frequency: 0,
      frequencyOffset: 20,
      degradedResponseTime: null,
    },
  },
  TCP: {
    path: 'tcp',
    body: () => ({ ...place, request: { hostname: 'db.example', port: 5432 } }),
    fill: async () => {
      await required('Host name or IP address').fill('db.example');
      await required('Port').fill('5432');
    },
  },
  DNS: {
    path: 'dns',
    body: () => ({ ...place, request: { query: 'shop.example' } }),
    fill: filled('Name to look up', 'shop.example'),
  },
  ICMP: {
    path: 'icmp',
    body: () => ({ ...place, request: { hostname: 'db.example' } }),
    fill: filled('Host name or IP address', 'db.example'),
  },
  SSL: {
    path: 'ssl',
    body: () => ({ ...place, request: { sslConfig: { hostname: 'shop.example' } } }),
    fill: filled('Host name or IP address', 'shop.example'),
    more: {
      request: {
        sslConfig: {
          hostname: 'shop.example',
          port: 8443,
          startTls: 'LDAP',
          scan: true,
          revocation: 'crl',
          securityBaseline: { minKeySizeBits: { value: 4096, severity: 'degrade' } },
        },
        assertions: [
          { source: 'CERTIFICATE', property: 'daysUntilExpiry', comparison: 'GREATER_THAN', target: '30' },
        ],
      },
    },
  },
  GRPC: {
    path: 'grpc',
    body: () => ({
      ...place,
      request: { url: 'shop.example', port: 443, grpcConfig: { method: 'shop.Shop/Get' } },
    }),
    fill: async () => {
      await required('Host name or IP address').fill('shop.example');
      await required('Port').fill('443');
      await required('Method').fill('shop.Shop/Get');
    },
    more: {
      request: {
        url: 'shop.example',
        port: 8443,
        ipFamily: 'IPv6',
        timeout: 30,
        grpcConfig: {
          method: 'shop.Shop/Get',
          serviceDefinition: 'PROTO_FILE',
          protoContent: 'syntax = "proto3"; message M {} service Shop { rpc Get (M) returns (M); }',
          message: hostile,
          metadata: [{ key: 'x-token', value: hostile }],
          compression: 'gzip',
        },
        assertions: [
          { source: 'GRPC_RESPONSE', property: '$.price', comparison: 'GREATER_THAN', target: '3' },
        ],
      },
    },
  },
  TRACEROUTE: {
    path: 'traceroute',
    body: () => ({ ...place, request: { url: 'shop.example' } }),
    fill: async () => {
      await required('Host name or IP address').fill('shop.example');
    },
    more: {
      request: {
        url: 'shop.example',
        protocol: 'UDP',
        port: 33_000,
        ipFamily: 'IPv6',
        maxHops: 20,
        maxUnknownHops: 5,
        queries: 5,
        ptrLookup: false,
        timeout: 20,
        assertions: [{ source: 'HOP', property: 'asn', comparison: 'CONTAINS', target: 'AS64500' }],
      },
    },
  },
  BROWSER: {
    path: 'browser',
    body: () => ({ ...place, script }),
    fill: () => typeScript(),
    more: { playwrightConfig: { use: { locale: 'de' } }, sslCheckDomain: 'shop.example' },
  },
  MULTI_STEP: { path: 'multistep', body: () => ({ ...place, script }), fill: () => typeScript() },
  PLAYWRIGHT: {
    path: 'playwright',
    body: () => ({ ...place, codeBundlePath: bundle }),
    fill: async () => {
      await field('Upload a file').setInputFiles({
        name: 's.tar.gz',
        mimeType: 'application/gzip',
        buffer: project,
      });
      await expect.poll(() => required('Code bundle').inputValue()).toBe(bundle);
    },
    more: { pwTags: ['@a @b'], browsers: ['webkit'], engine: 'bun', workingDir: 'e2e' },
  },
  HEARTBEAT: {
    path: 'heartbeat',
    body: () => ({ heartbeat: { period: 1, periodUnit: 'hours' } }),
    fill: async () => {},
  },
  AGENTIC: {
    path: 'agentic',
    body: () => ({ prompt: 'Buy.', agentRuntime: { skills: [] } }),
    fill: filled('What is to be done, and what must hold', 'Buy.'),
  },
};

async function typeScript(): Promise<void> {
  const editor = page.getByRole('textbox', { name: 'Script', exact: true });
  await page.locator('.cm-content').first().waitFor();
  await editor.fill(script);
}

describe.skipIf(!hasChromium)('the forms of checks', { timeout: 60_000 }, () => {
  it('creates a URL check from nothing with the keyboard only', async () => {
    await page.goto(`${api.url}/checks/new`);
    await page.getByRole('heading', { name: 'New check' }).waitFor();
    const tabTo = async (name: RegExp) => {
      for (let presses = 0; presses < 80; presses += 1) {
        await page.keyboard.press('Tab');
        const label = await page.evaluate<string>(
          '(document.activeElement?.labels?.[0] ?? document.activeElement)?.textContent ?? ""',
        );
        if (name.test(label)) return;
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    await tabTo(/^URL check/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'New URL check' }).waitFor();
    await tabTo(/^Name/);
    await page.keyboard.type('By keyboard');
    await tabTo(/^URL/);
    await page.keyboard.type(url);
    await tabTo(/^Add assertion/);
    await page.keyboard.press('Enter');
    // The focus moves to the new row.
    await page.locator('select[aria-label="Source of assertion 1"]:focus').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('200');
    await tabTo(/^<img/);
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    const check = await read(await savedId());
    expect(check).toMatchObject({
      name: 'By keyboard',
      privateLocations: ['office'],
      request: { url, assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }] },
      alertChannelSubscriptions: [{ activated: true }],
    });
  });

  it('shows errors at their fields, opens their sections, and moves the focus to the first', async () => {
    await open('/checks/new?type=API');
    await page.getByText('Environment variables').click();
    await page.getByRole('button', { name: 'Add variable' }).click();
    await page.getByText('Environment variables').click();
    await save();
    await page.getByRole('alert').waitFor();
    await expect
      .poll(() => page.evaluate('document.activeElement.labels?.[0]?.textContent'))
      .toBe('Name (required)');
    expect(await required('URL').getAttribute('aria-invalid')).toBe('true');
    const described = await required('URL').getAttribute('aria-describedby');
    expect(await page.locator(`[id="${described?.split(' ')[1]}"]`).innerText()).toContain('characters');
    expect(await field('Name of variable 1').getAttribute('aria-invalid')).toBe('true');
    await field('Name of variable 1').fill('A');
    await required('Name').fill('A');
    await required('URL').fill(url);
    await save();
    await page.getByText('Set at least one of locations and privateLocations').first().waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('checkbox');
  });

  it.each(Object.entries(types))('creates %s with its defaults', async (type, { path, body, fill }) => {
    await open(`/checks/new?type=${type}`);
    await required('Name').fill('Minimal');
    await fill();
    if ('privateLocations' in body()) await page.getByLabel('<img').first().check();
    await save();
    const check = await read(await savedId());
    const other = await made(`/v1/checks/${path}`, { name: 'By the API', ...body() });
    expect(comparable(check)).toEqual(comparable(await read(String(other['id']))));
  });

  it.each(Object.entries(types))('changes only one field of %s', async (_type, { path, body, more }) => {
    const { id } = await made(`/v1/checks/${path}`, {
      name: hostile,
      tags: ['a', hostile],
      ...body(),
      ...more,
    });
    const before = await read(String(id));
    await open(`/checks/${String(id)}/edit`);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(`Edit ${hostile}`);
    await field('Description').fill('Changed');
    await save();
    await savedId();
    const { updated_at: _updated, ...after } = await read(String(id));
    const { updated_at: _before, ...wanted } = before;
    expect(after).toEqual({ ...wanted, description: 'Changed' });
  });

  it.each([
    ['SSL', 'sslClientCertificateId', 'sslConfig', async () => undefined],
    [
      'GRPC',
      'grpcClientCertificateId',
      'grpcConfig',
      async () => {
        await required('Port').fill('443');
        await required('Method').fill('shop.Shop/Get');
        await page.locator('summary', { hasText: 'Connection' }).click();
      },
    ],
  ])(
    'chooses the client certificate of a check of the type %s by its name',
    async (type, id, config, more) => {
      const key = await issue({ name: `monitoring ${type}` }, Date.now());
      const certificate = await made('/v1/client-certificates', {
        host: `${type.toLowerCase()}.example`,
        cert: key.pem,
        key: key.key,
      });
      await open(`/checks/new?type=${type}`);
      await required('Name').fill('With a certificate');
      await required('Host name or IP address').fill('shop.example');
      await more();
      await field('Client certificate').selectOption({ label: 'One that you choose' });
      const choice = field('Which client certificate');
      const texts = await choice.locator('option').allInnerTexts();
      expect(texts[0]).toBe('Choose a certificate');
      const index = texts.findIndex((text) => text.startsWith(`${type.toLowerCase()}.example: `));
      expect(texts[index]).toMatch(new RegExp(`: .*monitoring ${type}.*, until \\d{4}-\\d\\d-\\d\\d$`));
      await choice.selectOption({ index });
      await page.getByLabel('<img').first().check();
      await save();
      expect(await read(await savedId())).toMatchObject({
        request: { [id]: certificate['id'], [config]: { clientCertificateMode: 'explicit' } },
      });
    },
  );

  it('clears a number, and gives it its default again', async () => {
    const { id } = await made('/v1/checks/icmp', {
      name: 'Cleared',
      ...types['ICMP']?.body(),
      degradedPacketLossThreshold: 5,
      degradedResponseTime: 500,
      maxResponseTime: 900,
      frequency: 10,
      frequencyOffset: 7,
    });
    await open(`/checks/${String(id)}/edit`);
    for (const label of ['Degraded from lost packets', 'Failed from', 'Offset']) await field(label).fill('');
    await save();
    await savedId();
    const check = await read(String(id));
    expect(check).toMatchObject({ degradedPacketLossThreshold: 10, maxResponseTime: null, frequency: 10 });
    expect(check).not.toHaveProperty('frequencyOffset');
  });

  it('keeps a secret that is not typed again, and never shows one', async () => {
    const { id } = await made('/v1/checks/url', {
      name: 'Secrets',
      ...types['URL']?.body(),
      environmentVariables: [{ key: 'TOKEN', value: 'very-hidden', secret: true }],
    });
    await open(`/checks/${String(id)}/edit`);
    await page.getByText('Environment variables').click();
    expect(await field('Value of variable 1').getAttribute('type')).toBe('password');
    await page.getByRole('button', { name: 'Add variable' }).click();
    await field('Name of variable 2').fill('OTHER');
    await field('Value of variable 2').fill('x');
    expect(await page.content()).not.toContain('very-hidden');
    await save();
    await savedId();
    const [row] = await db.query<{ definition: { environmentVariables: { value: string }[] } }>(
      'select definition from checks where id = $1',
      [String(id)],
    );
    const [secret, other] = row?.definition.environmentVariables ?? [];
    expect(secret?.value).not.toBe('');
    expect(other?.value).toBe('x');
  });

  it('duplicates a check, and creates one in a group', async () => {
    const { id } = await made('/v1/checks/url', { name: 'First', tags: ['t'], ...types['URL']?.body() });
    await open(`/checks/new?from=${String(id)}`);
    expect(await required('Name').inputValue()).toBe('First (copy)');
    await save();
    const copy = await read(await savedId());
    expect(comparable(copy)).toEqual(comparable(await read(String(id))));
    const groups = await api.call<{ id: number }[]>('GET', '/v1/check-groups');
    await open(`/checks/new?type=URL&groupId=${groups.body[0]?.id}`);
    await required('Name').fill('Grouped');
    await required('URL').fill(url);
    await save();
    expect(await read(await savedId())).toMatchObject({ groupId: groups.body[0]?.id, locations: [] });
  });

  it('asks before unsaved changes are left', async () => {
    await open('/checks/new?type=URL');
    await required('Name').fill('Unsaved');
    dialogs.length = 0;
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.waitForURL(`${api.url}/`);
    expect(dialogs).toEqual(['Leave without saving?']);
  });

  it('runs a check before it is saved, shows the result, and stores no check', async () => {
    const { id: locationId } = await made('/v1/private-locations', { name: 'Lab', slugName: 'lab' });
    const key = await made(`/v1/private-locations/${String(locationId)}/keys`, {});
    const service = await createAgentService(db, { now: Date.now });
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = service.app.server.address() as AddressInfo; // listening on TCP
    const agents = startProtocolAgents({
      urls: [`http://127.0.0.1:${port}`],
      keys: [String(key['rawKey'])],
      count: 1,
      slots: 2,
      runMs: 1,
    });
    try {
      await open('/checks/new?type=URL');
      const run = page.getByRole('button', { name: 'Run now' });
      await run.click();
      await page.getByRole('alert').waitFor();
      await required('Name').fill('Tried');
      await required('URL').fill(url);
      await page.getByLabel('Lab').check();
      await run.click();
      const details = page.getByRole('link', { name: 'All details (new tab)' });
      await details.waitFor();
      expect(await details.getAttribute('href')).toMatch(/^\/checks\/[0-9a-f-]{36}\/runs\/[0-9a-f-]{36}$/);
      expect(await page.locator('aside article').innerText()).toContain('passed');
      expect((await api.call<Fields[]>('GET', '/v1/checks?search=Tried')).body).toEqual([]);
    } finally {
      await agents.stop();
      await service.app.close();
    }
  });

  it('fits into 390 px, with all sections open, and shows hostile names as text', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    for (const type of ['API', 'PLAYWRIGHT', 'DNS']) {
      await open(`/checks/new?type=${type}`);
      for (const summary of await page.locator('summary').all()) await summary.click();
      for (const add of await page.getByRole('button', { name: /^Add / }).all()) await add.click();
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      await page.getByText(hostile).first().waitFor();
    }
    expect(faults).toEqual([]);
  });
});
