import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CheckType } from '../../../src/protocol/check-types.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { openApiText } from '../../../src/service/openapi-document.ts';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import {
  idleBackground,
  makeOneOfEverything,
  type Everything,
} from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';
import {
  hostileAssertion,
  hostileBody,
  hostileDetails,
  madeElements,
  payload,
  watchAttacks,
  type ApiDocument,
} from './hostile.ts';

/**
 * Stored attacks: hostile texts in every text field that the API takes, and in all that comes from agents and their
 * targets. They stay text on every page, and no script of theirs runs.
 */

let api: TestService;
let browser: Browser;
let folder = '';
let everything: Everything;
/** Ids of the hostile resources by the path of their collection. */
const made: { [path: string]: string } = {};
const runs: { [kind: string]: string } = {};
const html = `<!doctype html><title>${payload}</title><script>fired(20)</script><img src=x onerror=fired(21)>`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="fired(22)"><script>fired(23)</script></svg>`;
const contents: { [name: string]: { type: string; contentType: string; content: string } } = {
  'report.html': { type: 'report', contentType: 'text/html', content: html },
  'shot.svg': { type: 'screenshot', contentType: 'image/svg+xml', content: svg },
};

/** Fields that name something, and so cannot be any text. */
const fixed: { [path: string]: Fields } = {
  '/v1/private-locations': { slugName: 'hostile' },
  '/v1/variables': { key: 'HOSTILE' },
  '/v1/status-pages': { url: 'hostile' },
};
const isResource = (path: string) =>
  !path.includes('{') && !/trigger|cancel|analytics|sign-in|bundles|check-groups$/.test(path);

/** Fields that are refused keep what they have, so that all others are stored with hostile texts. */
async function createHostile(document: ApiDocument, path: string, base: Fields): Promise<void> {
  const spared = Object.keys(fixed[path] ?? {});
  for (let tries = 0; tries < 30; tries += 1) {
    const body = hostileBody(document, path, { ...base, ...fixed[path] }, spared);
    const answer = await api.call('POST', path, { body });
    if (answer.status < 300) {
      made[path] = String(answer.body['id'] ?? answer.body['key']);
      return;
    }
    if (answer.status === 409) {
      // Its name is one of few letters, and another resource has it.
      base = { ...base, name: 'hostile' };
      continue;
    }
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(400);
    const wrong = Object.keys((answer.body['attributes'] ?? {}) as Fields); // of the error's form
    const before = spared.length;
    spared.push(
      ...wrong
        .map((name) => name.replaceAll('/', '.').replace(/^\./, ''))
        .filter((name) => !spared.includes(name)),
    );
    expect(spared.length, `${path}: ${JSON.stringify(answer.body)}`).toBeGreaterThan(before);
  }
  throw new Error(`${path} takes no hostile body`);
}

async function storeHostileRun(kind: string, checkType: CheckType, checkId: string): Promise<void> {
  const [runId = ''] = await storeRuns(api.db, { accountId: api.account.id, checkId }, [
    {
      at: Date.now() - 1000,
      checkType,
      status: 'failed',
      reason: JSON.stringify({ code: 'ASSERTION_FAILED', owner: 'target', message: payload }),
      details: hostileDetails[kind] ?? {},
      assertions: [hostileAssertion],
      timings: { [payload]: 5, total: 9 },
      log: [{ time: Date.now(), level: payload, msg: payload }],
      artifacts: [
        ...Object.entries(contents).map(([name, { type, content }]) => ({
          name,
          type,
          size: Buffer.byteLength(content),
          state: 'stored',
          url: null,
        })),
        { name: payload, type: 'log', size: 3, state: 'stored', url: 'javascript:fired(9)' },
      ],
    },
  ]);
  runs[kind] = `/checks/${checkId}/runs/${runId}`;
  const [jobId, lease] = [randomUUID(), randomUUID()];
  await api.db.query('update check_results set job_id = $2, lease_token = $3 where id = $1', [
    runId,
    jobId,
    lease,
  ]);
  for (const [name, { type, contentType, content }] of Object.entries(contents)) {
    const id = randomUUID();
    served.set(id, content);
    await api.db.query(
      `insert into artifacts (id, account_id, job_id, attempt, lease_token, name, type, content_type, size, sha256, state,
         created_at) values ($1, $2, $3, 1, $4, $5, $6, $7, $8, '', 'stored', now())`,
      [id, api.account.id, jobId, lease, name, type, contentType, Buffer.byteLength(content)],
    );
  }
}
const served = new Map<string, string>();

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  const db = await anyDatabase.open();
  const onDisk = createArtifactFiles(folder, { reserveBytes: 0 });
  const files = {
    ...onDisk,
    open: async (id: string) => {
      const content = served.get(id) ?? '';
      return { stream: Readable.from([Buffer.from(content)]), size: Buffer.byteLength(content) };
    },
  };
  api = await startTestService(db, { files, bundles: onDisk, background: await idleBackground(db) });
  everything = await makeOneOfEverything(api);
  const document = JSON.parse(await openApiText()) as ApiDocument; // the project's own
  for (const [path, base] of everything.bodies)
    if (isResource(path)) await createHostile(document, path, base);
  const checkOf = (type: string) => made[`/v1/checks/${type}`] ?? '';
  await storeHostileRun('http', 'API', checkOf('api'));
  await storeHostileRun('dns', 'DNS', checkOf('dns'));
  await storeHostileRun('tcp', 'TCP', checkOf('tcp'));
  await storeHostileRun('icmp', 'ICMP', checkOf('icmp'));
  await storeHostileRun('script', 'PLAYWRIGHT', checkOf('playwright'));
  // What agents, alerts and analyses leave.
  await db.query('update accounts set name = $1', [payload]);
  await db.query(
    `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes)
     values ($1, $2, $3, $3, $4, '{URL}', '{}', '{"uptime": 5}')`,
    [
      randomUUID(),
      made['/v1/private-locations'],
      payload,
      { hostname: payload, platform: payload, arch: payload },
    ],
  );
  const url = checkOf('url');
  await db.query(
    'update error_groups set check_id = $1, raw_error_message = $2, cleaned_error_message = $2',
    [url, payload],
  );
  await db.query('update alerts set check_id = $1, check_name = $2, tags = array[$2], error = $2', [
    url,
    payload,
  ]);
  await db.query('update alert_notifications set check_id = $1, result = $2', [url, payload]);
  await db.query('update root_cause_analyses set check_id = $1, analysis = $2', [
    url,
    {
      classification: payload,
      userImpact: payload,
      rootCause: payload,
      codeFix: payload,
      evidence: [payload],
      referenceLinks: ['javascript:fired(10)'],
    },
  ]);
  await db.query(
    `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_run_location,
       last_started_at, reason) values ($1, $2, 'failed', true, false, false, $3, now(), $4)
     on conflict (check_id) do update set reason = excluded.reason, status = 'failed'`,
    [checkOf('api'), api.account.id, payload, { code: payload, owner: payload, message: payload }],
  );
}, 120_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
  rmSync(folder, { recursive: true, force: true });
});

/** All pages that show something hostile. */
function addresses(): string[] {
  const id = (path: string) => made[path] ?? '';
  const checks = Object.keys(made).filter((path) => path.startsWith('/v1/checks/'));
  const url = id('/v1/checks/url');
  const location = `/locations/${id('/v1/private-locations')}`;
  const group = `/groups/${id('/v2/check-groups')}`;
  return [
    '/',
    '/?view=groups',
    '/groups',
    group,
    `${group}/edit`,
    '/reports',
    '/incidents',
    `/incidents/${id('/v1/status-pages/incidents')}`,
    `/incidents/${id('/v1/incidents')}?kind=page`,
    '/incidents/new',
    '/maintenance',
    `/maintenance/${id('/v1/maintenance-windows')}`,
    '/status-pages',
    `/status-pages/${id('/v1/status-pages')}`,
    '/services',
    `/services/${id('/v1/status-pages/services')}`,
    ...checks.flatMap((path) => [`/checks/${id(path)}`, `/checks/${id(path)}/edit`]),
    ...['runs', 'errors', 'alerts', 'settings'].map((tab) => `/checks/${url}?tab=${tab}`),
    `/checks/new?from=${url}`,
    ...Object.values(runs),
    '/locations',
    location,
    `${location}?tab=keys`,
    `${location}?tab=settings`,
    ...['', '?tab=keys', '?tab=snippets', '?tab=certificates', '?tab=account'].map(
      (tab) => `/settings${tab}`,
    ),
    ...['', '?tab=notifications', '?tab=channels'].map((tab) => `/alerts${tab}`),
    `/alerts?tab=channels&edit=${id('/v1/alert-channels')}`,
  ];
}

/** Opens a page as its own links do, and all that is folded in it. Returns its texts, and those of its fields. */
async function opened(page: Page, address: string): Promise<string> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  const isLoaded = () =>
    expect
      .poll(
        () =>
          page.evaluate(
            "document.querySelector('main h1, main h2') !== null && document.querySelector('main .loading') === null",
          ),
        { timeout: 30_000 },
      )
      .toBe(true);
  await isLoaded();
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  await isLoaded();
  return page.evaluate<string>(
    `document.body.innerText + [...document.querySelectorAll('input, textarea')].map(({ value }) => value).join('\\n')`,
  );
}

describe.skipIf(!hasChromium)('stored hostile texts', { timeout: 180_000 }, () => {
  it('stay text on all pages for people', async () => {
    const page = await (await browser.newContext()).newPage();
    const attacks = await watchAttacks(page);
    const faults: unknown[] = [];
    page.on('pageerror', (error) => faults.push(error));
    page.on('dialog', (dialog) => faults.push(dialog.message()));
    await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    await page.goto(api.url);
    await page.locator('h1').waitFor();
    const without: string[] = [];
    for (const address of addresses()) {
      const text = await opened(page, address);
      if (!/<script>fired\(1\)|<img src=x onerror=fired\(7\)>/.test(text)) without.push(address);
      expect(await madeElements(page), address).toEqual([]);
    }
    expect(attacks).toEqual([]);
    expect(faults).toEqual([]);
    expect(without).toEqual([]);
    // The watch notices a script that runs, and one that the policy blocks.
    await page.evaluate(
      "fired('proof'); const one = document.createElement('script'); one.text = '1'; document.body.append(one)",
    );
    await expect.poll(() => attacks.join()).toMatch(/^proof ran[^]*Content Security Policy/i);
    await page.context().close();
  });

  it('stay text on public pages, in feeds and badges, and in /docs', async () => {
    const page = await (await browser.newContext()).newPage();
    const attacks = await watchAttacks(page);
    await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    const check = made['/v1/checks/url'] ?? '';
    const group = made['/v2/check-groups'] ?? '';
    for (const address of [
      '/status/hostile',
      '/status/hostile/feed.atom',
      '/v1/badges/status-pages/hostile',
      '/docs',
      `/v1/badges/checks/${check}`,
      `/v1/badges/groups/${group}`,
      `/status/${encodeURIComponent(payload)}`,
    ]) {
      await page.goto(api.url + address).catch(async () => undefined);
      await page.waitForLoadState('networkidle');
      expect(await madeElements(page), address).toEqual([]);
      if (address === '/status/hostile') {
        expect(await page.locator('body').innerText()).toContain('<script>fired(1)</script>');
      }
    }
    expect(attacks).toEqual([]);
    await page.context().close();
  });

  it('run nothing in files of runs, which have a policy of their own', async () => {
    const page = await (await browser.newContext()).newPage();
    const attacks = await watchAttacks(page);
    await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    const [, , checkId, , resultId] = (runs['http'] ?? '').split('/');
    for (const name of Object.keys(contents)) {
      const address = `${api.url}/v1/check-results/${checkId}/${resultId}/assets/${name}`;
      const answer = await page.request.get(address);
      expect(answer.status(), address).toBe(200);
      expect(answer.headers()['content-security-policy']).toMatch(/sandbox/);
      expect(answer.headers()['x-content-type-options']).toBe('nosniff');
      // As a document, and in a frame of the same origin. Downloads reject.
      await page.goto(address).catch(() => undefined);
      await page.goto(`${api.url}/badge-of-nothing`);
      await page.setContent(`<iframe src="${address}"></iframe><img src="${address}">`);
      await page.waitForLoadState('networkidle');
    }
    expect(
      attacks.filter((attack) => !attack.startsWith('image') && !/content security policy/i.test(attack)),
    ).toEqual([]);
    await page.context().close();
  });
});
