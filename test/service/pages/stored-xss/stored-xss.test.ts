import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CheckType } from '../../../../src/protocol/check-types.ts';
import { createArtifactFiles } from '../../../../src/service/artifacts/files.ts';
import { openApiText } from '../../../../src/service/openapi-document.ts';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../../helpers/service/database.ts';
import {
  idleBackground,
  makeOneOfEverything,
  type Everything,
} from '../../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../../helpers/service/service.ts';
import { storeRuns } from '../../../helpers/service/stored-results.ts';
import { hostileRuns } from './hostile-details.ts';
import {
  hostileAssertion,
  hostileBody,
  madeElements,
  payload,
  watchAttacks,
  type ApiDocument,
} from './hostile.ts';
import { openPage } from './open-page.ts';

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
/** The id of a hostile resource. Without one, a test would look at nothing. */
function idAt(path: string): string {
  const id = made[path];
  if (id === undefined) throw new Error(`no hostile resource at ${path}`);
  return id;
}
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
  !path.includes('{') && !/trigger|cancel|analytics|sign-in|bundles|projects|^\/v1\/check-groups$/.test(path);

/** The mark with which all texts of a resource begin. */
const marks = new Map<string, string>();
const markOf = (path: string) => marks.get(path) ?? 'no mark';

/** Fields that are refused keep what they have, so that all others are stored with hostile texts. */
async function createHostile(document: ApiDocument, path: string, base: Fields): Promise<void> {
  const spared = Object.keys(fixed[path] ?? {});
  const mark = `r${marks.size}:`;
  marks.set(path, mark);
  for (let tries = 0; tries < 30; tries += 1) {
    const body = hostileBody(document, path, { ...base, ...fixed[path] }, { spared, mark });
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
      details: hostileRuns.get(kind)?.details ?? {},
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
  const checkOf = (type: string) => idAt(`/v1/checks/${type}`);
  for (const [kind, { type }] of hostileRuns) {
    const path = `/v1/checks/${type.toLowerCase().replace('_', '')}`;
    await storeHostileRun(kind, type, idAt(path));
  }
  for (const [path, body] of [
    [`/v1/incidents/${idAt('/v1/incidents')}/updates`, { status: 'INVESTIGATING' }],
    [
      `/v1/status-pages/incidents/${idAt('/v1/status-pages/incidents')}/incident-updates`,
      { status: 'INVESTIGATING' },
    ],
  ] as const) {
    const answer = await api.call('POST', path, { body: { ...body, description: payload } });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  }
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
      evidence: [{ description: payload }],
      referenceLinks: [{ url: 'javascript:fired(10)', title: payload }],
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

/** All pages that show something hostile, and the collections whose texts they show; empty = texts of the account. */
function addresses(): [address: string, shows: string[]][] {
  const checks = Object.keys(made).filter((path) => /^\/v1\/checks\/[a-z]+$/.test(path));
  const url = idAt('/v1/checks/url');
  const location = `/locations/${idAt('/v1/private-locations')}`;
  const group = `/groups/${idAt('/v2/check-groups')}`;
  const incident = '/v1/status-pages/incidents';
  const groups = ['/v2/check-groups'];
  const locations = ['/v1/private-locations'];
  return [
    ['/', checks],
    ['/?view=groups', groups],
    ['/groups', groups],
    [group, groups],
    [`${group}/edit`, groups],
    ['/reports', ['/v1/checks/url']],
    ['/incidents', [incident, '/v1/incidents']],
    [`/incidents/${idAt(incident)}`, [incident]],
    [`/incidents/${idAt('/v1/incidents')}?kind=page`, ['/v1/incidents']],
    ['/incidents/new', ['/v1/status-pages/services']],
    ['/maintenance', ['/v1/maintenance-windows']],
    [`/maintenance/${idAt('/v1/maintenance-windows')}`, ['/v1/maintenance-windows']],
    ['/status-pages', ['/v1/status-pages']],
    [`/status-pages/${idAt('/v1/status-pages')}`, ['/v1/status-pages']],
    ['/services', ['/v1/status-pages/services']],
    [`/services/${idAt('/v1/status-pages/services')}`, ['/v1/status-pages/services']],
    ...checks.flatMap((path): [string, string[]][] => [
      [`/checks/${idAt(path)}`, [path]],
      [`/checks/${idAt(path)}/edit`, [path]],
    ]),
    ...['runs', 'errors', 'alerts', 'settings'].map((tab): [string, string[]] => [
      `/checks/${url}?tab=${tab}`,
      ['/v1/checks/url'],
    ]),
    [`/checks/new?from=${url}`, ['/v1/checks/url']],
    ['/locations', locations],
    [location, locations],
    [`${location}?tab=keys`, locations],
    [`${location}?tab=settings`, locations],
    ['/settings', ['/v1/api-keys']],
    ['/settings?tab=variables', []],
    ['/settings?tab=snippets', []],
    ['/settings?tab=certificates', []],
    ['/settings?tab=account', []],
    ...['', '?tab=notifications', '?tab=channels'].map((tab): [string, string[]] => [`/alerts${tab}`, []]),
    [`/alerts?tab=channels&edit=${idAt('/v1/alert-channels')}`, []],
  ];
}

const opened = (page: Page, address: string) => openPage(page, api.url + address);
const isHostile = (text: string) => /<script>fired\(1\)|<img src=x onerror=fired\(7\)>/.test(text);

describe.skipIf(!hasChromium)('stored hostile texts', { timeout: 400_000 }, () => {
  it('stay text on all pages for people', async () => {
    const page = await (await browser.newContext()).newPage();
    const attacks = await watchAttacks(page);
    const faults: unknown[] = [];
    page.on('pageerror', (error) => faults.push(error));
    page.on('dialog', (dialog) => faults.push(dialog.message()));
    await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    const without: string[] = [];
    for (const [address, shows] of addresses()) {
      const text = await opened(page, address);
      if (!isHostile(text)) without.push(address);
      for (const path of shows) if (!text.includes(markOf(path))) without.push(`${address}: ${path}`);
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

  it('stay text on the pages of runs, which show each of them', async () => {
    const page = await (await browser.newContext()).newPage();
    const attacks = await watchAttacks(page);
    const faults: unknown[] = [];
    page.on('pageerror', (error) => faults.push(error));
    await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    const missing: string[] = [];
    for (const [kind, { marks: own }] of hostileRuns) {
      const text = (await opened(page, runs[kind] ?? '')).toLowerCase();
      for (const [mark, path] of own) if (!text.includes(mark)) missing.push(`${kind}${path}`);
      // The reason, the line of the log, and the names of files and assertions.
      expect(text.split('<script>fired(1)').length, kind).toBeGreaterThan(own.size);
      expect(await madeElements(page), kind).toEqual([]);
      await page.evaluate("document.querySelector('details.card').open = true");
      expect(await madeElements(page), kind).toEqual([]);
    }
    expect(missing).toEqual([]);
    expect(attacks).toEqual([]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('stay text on public pages, in feeds and badges, and in /docs', async () => {
    const page = await (await browser.newContext()).newPage();
    const attacks = await watchAttacks(page);
    await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
    const check = idAt('/v1/checks/url');
    const group = idAt('/v2/check-groups');
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
